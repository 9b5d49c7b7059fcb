"""Base of taggers and parsers, which label the words of sentences (thesis, 3.7.3).

An encoder computes the vector of each distinct word of a batch. LSTMs read the words' vectors.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers.utils import ModelOutput

from paraphrastic_hf.layers.recurrent import CELLS, initialize_cell
from paraphrastic_hf.models.base import check_positive
from paraphrastic_hf.models.supervised.base import SupervisedConfig, SupervisedModel


@strict
class WordsConfig(SupervisedConfig):
    """Settings of every tagger and parser.

    `encoder` is the word encoder, `head_size` the size of an LSTM state, and `head_dropout` the
    dropout of every layer's inputs. The tags are in `id2label`, as in transformers.

    Args:
        capital_feature: Whether the LSTMs have an input that marks words with a capital letter.
        recurrent_std: Standard deviation of the LSTMs' initial weights. Biases start at 0.
        max_words: Maximum length of a sentence. A tagger splits longer sentences, a parser skips
            them.
        max_word_tokens: Maximum length of a word, in tokens. Longer words are truncated.
    """

    capital_feature: bool = True
    recurrent_std: float | int = 0.1
    max_words: int = 512
    max_word_tokens: int = 100

    @classmethod
    def of(cls, encoder: dict[str, Any], tags: Sequence[str], **settings: Any) -> Self:
        """Build the configuration from the word encoder's and the tags."""
        numbers = {tag: number for number, tag in enumerate(tags)}
        return cls(encoder=encoder, id2label=dict(enumerate(tags)), label2id=numbers, **settings)

    def validate_sizes(self) -> None:
        check_positive(self, "head_size", "max_words", "max_word_tokens")


class WordsModel(SupervisedModel):
    """Base class of taggers and parsers, which define `outputs`.

    Initial LSTM weights are N(0, `recurrent_std` squared).
    """

    auto_class: ClassVar[str] = "AutoModelForTokenClassification"

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, CELLS):
            initialize_cell(module, self.config.recurrent_std)
        else:
            super()._init_weights(module)

    def outputs(
        self, vectors: Tensor, word_index: Tensor, labels: Tensor | None, phrases: Tensor | None
    ) -> ModelOutput:
        """Return the model's output. For the arguments see `forward` and `word_vectors`."""
        raise NotImplementedError

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        word_index: Tensor | None = None,
        capitals: Tensor | None = None,
        labels: Tensor | None = None,
        phrases: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> ModelOutput | tuple[Any, ...]:
        """Return the logits of every tag for every word, and of the spans in a parser.

        Args:
            input_ids: (words, tokens), ids of the distinct words, padded.
            attention_mask: (words, tokens), 1 for a token. All ones if absent.
            word_index: (batch, seq), the row of each word in `input_ids`, negative for padding on
                the right. If absent, `input_ids` are the words of one sentence.
            capitals: (words,), 1 for a word with a capital letter. All zeros if absent.
            labels: (batch, seq), gold tags, -100 to ignore.
            phrases: (phrases, 4), for a parser: sentence, first word, end (exclusive) and label of
                every gold phrase. An unknown label is -100.
            return_dict: Return a tuple if False.
        """
        if word_index is None:
            word_index = torch.arange(len(input_ids), device=input_ids.device)[None]
        if capitals is None:
            capitals = torch.zeros_like(input_ids[:, 0])
        vectors = self.word_vectors(input_ids, attention_mask, capitals)
        return self._to_tuple(self.outputs(vectors, word_index, labels, phrases), return_dict)

    def compose(self, vectors: Tensor) -> Tensor:
        """Transform the word encoder's vectors, (words, dim). The default keeps them."""
        return vectors

    def word_vectors(
        self, input_ids: Tensor, attention_mask: Tensor | None, capitals: Tensor
    ) -> Tensor:
        """Return the input of the LSTMs for each distinct word, (words, dim)."""
        encoded = self.encoder(input_ids, attention_mask, pooled_only=True).sentence_embedding
        vectors = self.compose(encoded)
        if not self.config.capital_feature:
            return vectors
        return torch.cat([vectors, capitals[:, None].to(vectors)], 1)
