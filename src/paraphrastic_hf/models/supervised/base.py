"""Base of supervised models: an encoder of one or two texts, and a head of two layers (thesis,
3.2.4).

    h_x = h_L * h_R,   h_+ = |h_L - h_R|
    h_s = sigmoid(W [h_x; h_+] + b),   z = U h_s + c

h_L and h_R are the vectors of the two texts of a pair. For a single text, its vector replaces [h_x;
h_+].
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.utils import ModelOutput, logging

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.models.base import ParaphrasticModel, SentenceEncoderModel
from paraphrastic_hf.models.encoders.mixed import MixedModel
from paraphrastic_hf.models.families import families_by_type

logger = logging.get_logger(__name__)


def encoders_by_type() -> dict[str, type[SentenceEncoderModel]]:
    """Return the encoders that can have a head, by `model_type`."""
    return {**families_by_type(), MixedModel.config_class.model_type: MixedModel}


@strict
class SupervisedConfig(PreTrainedConfig):
    """Settings of every supervised model over one encoder.

    Args:
        encoder: The encoder's configuration, from `to_dict`.
        head_size: Number of sigmoid units h_s, or 0 for a linear classifier. The thesis tries 50,
            150 and 300.
        head_dropout: Probability that an input value of the head is zeroed in training.
        max_text_tokens: Maximum length of a text in tokens, in training and in
            `SentencePredictor`. None for no limit. Taggers use `max_word_tokens`.
    """

    has_no_defaults_at_init = True

    encoder: dict[str, Any] | None = None
    head_size: int = 50
    head_dropout: float | int = 0.0
    max_text_tokens: int | None = None
    pad_token_id: int | None = 0

    @property
    def vector_size(self) -> int:
        """Dimensions of a sentence vector."""
        return int((self.encoder or {})["hidden_size"])

    def validate_encoder(self) -> None:
        kind, known = (self.encoder or {}).get("model_type"), encoders_by_type()
        if kind not in known:
            raise ValueError(
                f"encoder must be a config.to_dict() of {', '.join(known)}, got {kind!r}"
            )


class SupervisedModel(ParaphrasticModel):
    """Base class of supervised models. Subclasses build the head over `self.encoder`."""

    auto_class: ClassVar[str] = "AutoModelForSequenceClassification"
    is_resizable = False
    accepts_loss_kwargs = False  # so that transformers' Trainer divides by accumulation steps

    def __init__(self, config: SupervisedConfig) -> None:
        super().__init__(config)
        settings = config.encoder or {}
        encoder_class = encoders_by_type()[settings["model_type"]]
        self.encoder = encoder_class(encoder_class.config_class.from_dict(settings))

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            nn.init.zeros_(module.bias)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.get_input_embeddings()

    def tables(self) -> list[nn.Embedding]:
        return self.encoder.tables()

    def sparse_tables(self) -> list[nn.Embedding]:
        return self.encoder.sparse_tables()

    def head_parameters(self) -> Iterator[nn.Parameter]:
        """Yield the parameters outside the encoder: the thesis's classification parameters."""
        own = {id(parameter) for parameter in self.encoder.parameters()}
        return (parameter for parameter in self.parameters() if id(parameter) not in own)


class Head(nn.Module):
    """Dropout, a layer of sigmoid units (unless `units` is 0), and a linear layer."""

    def __init__(self, size: int, units: int, outputs: int, probability: float) -> None:
        super().__init__()
        self.hidden = Dense(size, units) if units else None
        self.output = Dense(units or size, outputs)
        self.probability = probability

    def forward(self, features: Tensor) -> Tensor:
        features = dropout(features, self.probability, self.training)
        if self.hidden is not None:
            features = torch.sigmoid(self.hidden(features))
        return self.output(features)


class TextsModel(SupervisedModel):
    """Base of models of one or two texts. Subclasses build `head` and define `outputs`."""

    head: Head

    @property
    def takes_pairs(self) -> bool:
        """Whether the model reads pairs of texts."""
        return True

    def outputs(self, logits: Tensor, labels: Tensor | None) -> ModelOutput:
        """Return the model's output for the logits of its head, with a loss if labels are given."""
        raise NotImplementedError

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> ModelOutput | tuple[Any, ...]:
        """Predict the labels or scores of a padded batch.

        Args:
            input_ids: (batch, seq), ids of one text or two concatenated texts.
            attention_mask: (batch, seq), 1 for a token. All ones if absent.
            token_type_ids: (batch, seq), for pairs: 0 for the first text and 1 for the second.
            labels: (batch,) gold classes, or gold scores from `lowest` to `highest`.
            return_dict: Return a tuple if False.

        Raises:
            ValueError: If `token_type_ids` is missing or a gold score is out of range.
        """
        if self.takes_pairs:
            features = self._pair_features(input_ids, attention_mask, token_type_ids)
        else:
            features = self.encoder(input_ids, attention_mask, pooled_only=True).sentence_embedding
        return self._to_tuple(self.outputs(self.head(features), labels), return_dict)

    def _pair_features(
        self, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None
    ) -> Tensor:
        """Return the features [h_L * h_R; |h_L - h_R|] of each pair of texts, (batch, 2 dim)."""
        if token_type_ids is None:
            raise ValueError("Pairs require token_type_ids. Call the tokenizer with two texts")
        if len(token_type_ids) and not token_type_ids.any():
            logger.warning_once(
                "No row has a second text (token_type_ids are all 0). Second texts count as empty. "
                "Call the tokenizer with two texts"
            )
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        both = torch.cat([attention_mask * (token_type_ids == 0), attention_mask * token_type_ids])
        vectors = self.encoder(input_ids.repeat(2, 1), both, pooled_only=True).sentence_embedding
        left, right = vectors.chunk(2)
        return torch.cat([left * right, (left - right).abs()], 1)
