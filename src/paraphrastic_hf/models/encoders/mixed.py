"""Several encoders trained together (thesis, 4.5.6), such as WORD + TRIGRAM.

    g(x) = sum_k g_k(x)      or      g(x) = [g_1(x); g_2(x); ...]

All parts read one sequence of ids (`text/mixed.py`) and ignore ids of other parts. The ids of a
part start at the sum of the vocabulary sizes of the parts before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers import PreTrainedConfig

from paraphrastic_hf.models.base import SentenceEncoderModel, check_choices
from paraphrastic_hf.models.families import families_by_type


@strict
class MixedConfig(PreTrainedConfig):
    """Configuration of `MixedModel`. `MixedConfig.of` builds it from the configs of the parts.

    Args:
        parts: Configurations of the parts, from `to_dict`.
        combine: `add` or `concatenate`.
        vocab_size: Number of rows of all tables together.
        hidden_size: Number of dimensions of the combined vector.
        pad_token_id: Id of padding.
    """

    model_type = "paraphrastic-mixed"
    has_no_defaults_at_init = True

    parts: list[dict[str, Any]] | None = None
    combine: str = "concatenate"
    vocab_size: int = 0
    hidden_size: int = 0
    pad_token_id: int | None = 0

    @classmethod
    def of(cls, configs: Sequence[PreTrainedConfig], combine: str) -> MixedConfig:
        """Return the configuration of a combination of these encoders."""
        sizes = [config.hidden_size for config in configs]
        return cls(
            parts=[config.to_dict() for config in configs],
            combine=combine,
            vocab_size=sum(config.vocab_size for config in configs),
            hidden_size=sum(sizes) if combine == "concatenate" else sizes[0],
        )

    def validate_parts(self) -> None:
        parts, known = self.parts or [], families_by_type()
        if len(parts) < 2:
            raise ValueError(f"parts must be at least two, got {len(parts)}")
        for part in parts:
            if part.get("model_type") not in known:
                raise ValueError(
                    f"parts: model_type {part.get('model_type')!r} is not in {', '.join(known)}"
                )
        check_choices(self, combine=("add", "concatenate"))
        sizes = [part["hidden_size"] for part in parts]
        if self.combine == "add" and len(set(sizes)) > 1:
            raise ValueError(
                "hidden_size must be equal for parts that are added, got "
                f"{', '.join(map(str, sizes))}. Make the sizes equal, or set combine to "
                "concatenate"
            )


class MixedModel(SentenceEncoderModel):
    """Encoder that adds or concatenates the outputs of several encoders.

    Example:
        >>> from paraphrastic_hf.models.encoders.averaging import AveragingConfig
        >>> parts = [AveragingConfig(vocab_size=10, hidden_size=4) for _ in range(2)]
        >>> model = MixedModel(MixedConfig.of(parts, "concatenate"))
        >>> model(torch.tensor([[2, 3, 15]])).sentence_embedding.shape
        torch.Size([1, 8])
    """

    config_class = MixedConfig
    is_resizable = False

    def __init__(self, config: MixedConfig) -> None:
        super().__init__(config)
        known = families_by_type()
        self.parts = nn.ModuleList(
            known[part["model_type"]](known[part["model_type"]].config_class.from_dict(part))
            for part in config.parts or []
        )
        self.post_init()

    @classmethod
    def of(cls, parts: Sequence[SentenceEncoderModel], combine: str) -> MixedModel:
        """Combine copies of encoders."""
        mixed = cls(MixedConfig.of([part.config for part in parts], combine))
        for ours, part in zip(mixed.parts, parts, strict=True):
            ours.load_state_dict(part.state_dict())
        return mixed

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the first part's table. `tables` returns the tables of all parts."""
        return self.tables()[0]

    def tables(self) -> list[nn.Embedding]:
        return [table for part in self._models() for table in part.tables()]

    def composition(self) -> Iterator[tuple[nn.Parameter, bool]]:
        for part in self._models():
            yield from part.composition()

    def embed_flat(self, ids: Tensor, lengths: Tensor) -> Tensor:
        text = torch.repeat_interleave(lengths)
        vectors = []
        for part, renumbered, own in self._by_part(ids):
            own_lengths = torch.bincount(text[own], minlength=len(lengths))
            vectors.append(part.embed_flat(renumbered[own], own_lengths))
        return self._combine(vectors)

    def states_and_embedding(
        self, input_ids: Tensor, attention_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Encode with every part. Concatenated token vectors have zeros for other parts."""
        outputs = []
        for part, renumbered, own in self._by_part(input_ids):
            mask = own & attention_mask.bool()
            outputs.append(part.states_and_embedding(renumbered.masked_fill(~mask, 0), mask))
        states, embeddings = zip(*outputs, strict=True)
        if len({vectors.shape for vectors in states}) > 1 and self.config.combine == "add":
            raise ValueError("Cannot add token vectors of different sizes. Set pooled_only=True")
        return self._combine(list(states)), self._combine(list(embeddings))

    def _by_part(self, ids: Tensor) -> Iterator[tuple[SentenceEncoderModel, Tensor, Tensor]]:
        """Yield each encoder with the ids, renumbered from 0, and a mask of its own ids."""
        first = 0
        for part in self._models():
            last = first + part.config.vocab_size
            yield part, ids - first, (ids >= first) & (ids < last)
            first = last

    def _models(self) -> list[SentenceEncoderModel]:
        return cast(list[SentenceEncoderModel], list(self.parts))

    def _combine(self, vectors: list[Tensor]) -> Tensor:
        if self.config.combine == "concatenate":
            return torch.cat(vectors, -1)
        return torch.stack(vectors).sum(0)
