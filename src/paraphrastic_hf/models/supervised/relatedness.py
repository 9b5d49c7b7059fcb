"""Relatedness score of two texts (Tai et al., 2015; thesis, 3.2.4; Wieting and Gimpel, 2017, 4.3).

p = softmax(U sigmoid(W [h_L * h_R; |h_L - h_R|] + b) + c),   y = r . p,   r = [1, 2, ..., K]
"""

from dataclasses import dataclass
from typing import Any

from huggingface_hub.dataclasses import strict
from torch import Tensor
from transformers.utils import ModelOutput

from paraphrastic_hf.losses.regression import divergence, expected_score, score_distribution
from paraphrastic_hf.models.supervised.base import Head, SupervisedConfig, TextsModel


@strict
class RelatednessConfig(SupervisedConfig):
    """Configuration of `RelatednessModel`, with the settings of `SupervisedConfig`.

    Args:
        lowest: Lowest score, an integer (1 in SICK, 0 in STS).
        highest: Highest score, an integer (5 in SICK and STS).
        problem_type: Setting of transformers' pipelines. `regression` makes them return the
            unchanged score.
    """

    model_type = "paraphrastic-relatedness"

    lowest: int = 1
    highest: int = 5
    problem_type: str | None = "regression"

    def __post_init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("num_labels", 1)
        super().__post_init__(**kwargs)


@dataclass
class RelatednessOutput(ModelOutput):
    """Output of a relatedness model."""

    loss: Tensor | None = None  # mean KL divergence from the targets in nats, only with labels
    logits: Tensor | None = None  # (batch, 1) scores, from `lowest` to `highest`
    score_logits: Tensor | None = None  # (batch, K) logits of the K integer scores


class RelatednessModel(TextsModel):
    """Encoder with a head that predicts the relatedness score of two texts.

    Example:
        >>> import torch
        >>> from paraphrastic_hf.models.encoders.averaging import AveragingConfig
        >>> encoder = AveragingConfig(vocab_size=10, hidden_size=4)
        >>> model = RelatednessModel(RelatednessConfig(encoder=encoder.to_dict()))
        >>> ids, sides = torch.tensor([[2, 3, 4]]), torch.tensor([[0, 0, 1]])
        >>> model(ids, token_type_ids=sides).logits.shape
        torch.Size([1, 1])
    """

    config_class = RelatednessConfig

    def __init__(self, config: RelatednessConfig) -> None:
        super().__init__(config)
        numbers = config.highest - config.lowest + 1
        self.head = Head(2 * config.vector_size, config.head_size, numbers, config.head_dropout)
        self.post_init()

    def outputs(self, logits: Tensor, labels: Tensor | None) -> RelatednessOutput:
        config, loss = self.config, None
        if labels is not None:
            target = score_distribution(labels.to(logits.dtype), config.lowest, config.highest)
            loss = divergence(target, logits)
        scores = expected_score(logits, config.lowest).unsqueeze(1)
        return RelatednessOutput(loss, scores, logits)
