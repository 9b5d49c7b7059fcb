"""Classifier of a text or a pair of texts, for sentiment and entailment (thesis, 3.2.4).

    p = softmax(U sigmoid(W features + b) + c)

The static CNN of thesis 3.5.5 has `char_cnn` filters of width 1 and no sigmoid units.
"""

from __future__ import annotations

from typing import Any

from huggingface_hub.dataclasses import strict
from torch import Tensor
from torch.nn import functional as F
from transformers.modeling_outputs import SequenceClassifierOutput

from paraphrastic_hf.models.supervised.base import (
    Head,
    SupervisedConfig,
    SupervisedModel,
    pair_features,
)


@strict
class ClassifierConfig(SupervisedConfig):
    """Configuration of `ClassifierModel`, with the settings of `SupervisedConfig`.

    The classes are `id2label`, as in transformers.

    Args:
        pairs: Whether to classify pairs of texts. If False, classify single texts.
    """

    model_type = "paraphrastic-classifier"

    pairs: bool = False


class ClassifierModel(SupervisedModel):
    """Encoder with a softmax classifier of texts or pairs.

    Example:
        >>> import torch
        >>> from paraphrastic_hf.models.encoders.averaging import AveragingConfig
        >>> encoder = AveragingConfig(vocab_size=10, hidden_size=4)
        >>> model = ClassifierModel(ClassifierConfig(encoder=encoder.to_dict(), num_labels=2))
        >>> model(torch.tensor([[2, 3, 4]])).logits.shape
        torch.Size([1, 2])
    """

    config_class = ClassifierConfig

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__(config)
        size = config.vector_size * (2 if config.pairs else 1)
        self.head = Head(size, config.head_size, config.num_labels, config.head_dropout)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput | tuple[Tensor, ...]:
        """Classify a padded batch.

        Args:
            input_ids: (batch, seq), ids of one text or two concatenated texts.
            attention_mask: (batch, seq), 1 for a token. All ones if absent.
            token_type_ids: (batch, seq), for pairs: 0 for the first text and 1 for the second.
            labels: (batch,) gold classes.
            return_dict: Return a tuple if False.

        Returns:
            `logits`, (batch, classes). With labels also `loss`, the mean cross-entropy in nats.
        """
        if self.config.pairs:
            features = pair_features(self.encoder, input_ids, attention_mask, token_type_ids)
        else:
            features = self.encoder(input_ids, attention_mask, pooled_only=True).sentence_embedding
        logits = self.head(features)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        output = SequenceClassifierOutput(loss=loss, logits=logits)
        return self._to_tuple(output, return_dict)
