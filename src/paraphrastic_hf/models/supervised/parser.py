"""A span parser: two-way LSTMs over word vectors, scores of spans, and the best tree (Stern et al.,
2017; Kitaev and Klein, 2018; for thesis, 6.2.2).

    f_k = [forward state of word k; backward state of word k + 1]        a place between two words
    s(i, j) = U max(0, norm(W f_j - W f_i + b)),   a score of every label for the words i to j - 1
    p(tag | word_t, sentence) = softmax(V [forward; backward state of word t] + c)

A label is a phrase, several that stand one on the other with the same words (`S+VP`), or none.
Training is by cross-entropy: of the label of every span, and of the tag of every word. The tree is
the bracketing of the highest sum of log p(best label) - log p(none) (`predictors/parse.py`), so
every sentence has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.utils import ModelOutput

from paraphrastic_hf.layers.elementwise import dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import LSTM
from paraphrastic_hf.models.base import NO_LABEL
from paraphrastic_hf.models.encoders.recurrent import run_directions
from paraphrastic_hf.models.supervised.base import SupervisedConfig
from paraphrastic_hf.models.supervised.words import WordsModel, whole_batch

NO_PHRASE = ""  # the first label of spans


@strict
class ParserConfig(SupervisedConfig):
    """Configuration of `ParserModel`; tags of words are `id2label`, as everywhere in transformers.

    Of the settings of `SupervisedConfig`, `encoder` is the word encoder's configuration,
    `head_size` the numbers in a state of each LSTM, and `head_dropout` the probability that a
    number that a layer reads is zeroed in training.

    Args:
        span_labels: Labels of spans: the first is empty, for none; `+` joins those of a chain.
        layers: Number of LSTMs in each direction, one on the other, at least 1.
        span_size: Number of units between the places and the scores of a span, at least 1.
        capital_feature: Tell the LSTMs whether a word has a capital letter.
        recurrent_std: Standard deviation of the LSTMs' initial weights; biases start at 0.
        max_words: The most words of a sentence; a longer one is not parsed.
        max_word_tokens: A word is cut at this number of tokens.

    Raises:
        ValueError: No encoder, one of no family, or a size below 1.
    """

    model_type = "paraphrastic-parser"

    span_labels: list[str] | None = None
    layers: int = 2
    span_size: int = 128
    capital_feature: bool = True
    recurrent_std: float | int = 0.1
    max_words: int = 512
    max_word_tokens: int = 100

    @classmethod
    def of(
        cls, encoder: dict[str, Any], tags: Sequence[str], phrases: Sequence[str], **settings: Any
    ) -> ParserConfig:
        """The parser with these tags of words and labels of phrases over words encoded so."""
        numbers = {tag: number for number, tag in enumerate(tags)}
        return cls(
            encoder=encoder,
            id2label=dict(enumerate(tags)),
            label2id=numbers,
            span_labels=[NO_PHRASE, *phrases],
            **settings,
        )

    def validate_sizes(self) -> None:
        """Refuse sizes below 1."""
        for name in ("head_size", "layers", "span_size", "max_words", "max_word_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} of a parser must be at least 1, got {getattr(self, name)}"
                )

    def validate_labels(self) -> None:
        """Refuse labels of spans of which the first is not that of no phrase."""
        if self.span_labels is not None and self.span_labels[:1] != [NO_PHRASE]:
            raise ValueError(f"the first of span_labels must be '', got {self.span_labels[:1]}")


@dataclass
class ParserOutput(ModelOutput):
    """What a parser returns.

    Attributes:
        loss: Scalar: cross-entropy in nats a word, of its tag and of all spans; with labels alone.
        logits: (batch, seq, tags), scores of the words' tags, zeros where there is no word.
        span_scores: (batch, seq + 1, seq + 1), how much more likely the best phrase is than none,
            as a logarithm, for the words from the first index to before the second; 0 elsewhere.
            In training None.
        span_labels: (batch, seq + 1, seq + 1), the number of that phrase in
            `config.span_labels`, at least 1. In training None.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    span_scores: Tensor | None = None
    span_labels: Tensor | None = None


class ParserModel(WordsModel):
    """A word encoder, LSTMs over the sentence in both directions, scores of words and of spans.

    Example:
        >>> from paraphrastic_hf.models.encoders.charagram import CharagramConfig
        >>> words = CharagramConfig(vocab_size=10, hidden_size=6, activation="relu")
        >>> model = ParserModel(ParserConfig.of(words.to_dict(), ["DT", "NN"], ["NP"]))
        >>> ids = torch.tensor([[2, 3, 4], [5, 6, 0]])  # the n-grams of two distinct words
        >>> sentence = torch.tensor([[0, 1, 1]])  # three words: the first, then the second twice
        >>> output = model(ids, (ids > 0).long(), word_index=sentence)
        >>> output.logits.shape, output.span_scores.shape
        (torch.Size([1, 3, 2]), torch.Size([1, 4, 4]))
    """

    config_class = ParserConfig
    base_model_prefix = "parser"  # of no module: loading must not take encoder.cells for cells

    def __init__(self, config: ParserConfig) -> None:
        super().__init__(config)
        size = config.head_size
        width = config.vector_size + config.capital_feature
        self.ends = nn.Parameter(torch.empty(2, width))  # stand before and after every sentence
        self.layers = nn.ModuleList(
            nn.ModuleList(LSTM(2 * size if layer else width, size) for _ in range(2))
            for layer in range(config.layers)
        )
        self.tagger = Dense(2 * size, config.num_labels)
        self.place_layer = Dense(2 * size, config.span_size)
        self.norm = nn.LayerNorm(config.span_size)
        self.scorer = Dense(config.span_size, len(config.span_labels or [NO_PHRASE]))
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if module is self:
            nn.init.normal_(self.ends, std=0.1)
        else:
            super()._init_weights(module)

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
    ) -> ParserOutput | tuple[Tensor, ...]:
        """Scores of every tag of every word, and of every span, of a padded batch of sentences.

        Args:
            input_ids: (words, tokens), ids of the distinct words, padded.
            attention_mask: (words, tokens), 1 for a token; all ones if absent.
            word_index: (batch, seq), which row of `input_ids` a word of a sentence is; negative
                where there is no word, after the last one. If absent, the rows are one sentence.
            capitals: (words,), 1 for a word with a capital letter; none has one if absent.
            labels: (batch, seq), numbers of the right tags; -100 where there is none.
            phrases: (phrases, 4), of every phrase of the right trees the sentence, the first word,
                the word after its last, and the number of its label; -100 for an unknown one.
            return_dict: A tuple instead, if False.

        Returns:
            `logits`, (batch, seq, tags), `span_scores` and `span_labels`,
            (batch, seq + 1, seq + 1); with labels and phrases `loss` and `logits`.

        Raises:
            ValueError: Shapes that do not go together.
        """
        word_index, capitals = whole_batch(input_ids, word_index, capitals, labels)
        is_word = word_index >= 0
        lengths = is_word.sum(1)
        vectors = self.word_vectors(input_ids, attention_mask, capitals)
        states = self._states(vectors, word_index[is_word], lengths)
        firsts = (lengths + 2).cumsum(0) - lengths - 2  # where a sentence begins in the states
        of_words = firsts.repeat_interleave(lengths) + 1 + _counted(lengths)
        tags = self.tagger(self._dropped(states.index_select(0, of_words)))
        first, last, size = _spans(lengths)
        hidden = self.place_layer(self._dropped(self._places(states, lengths)))
        differences = hidden.index_select(0, last) - hidden.index_select(0, first)
        scores = self.scorer(torch.relu(self.norm(differences)))  # (spans, labels)
        output = ParserOutput(logits=padded_from_flat(tags, is_word))
        if labels is not None and phrases is not None:
            gold = scores.new_zeros(len(scores), dtype=torch.long)
            gold[_span_number(phrases, lengths)] = phrases[:, 3].long()
            spans = F.cross_entropy(scores, gold, ignore_index=NO_LABEL, reduction="sum")
            right = labels[is_word].long()
            words = F.cross_entropy(tags, right, ignore_index=NO_LABEL, reduction="sum")
            output.loss = (spans + words) / max(1, len(right))
        else:
            self._best_labels(output, scores, size, word_index.shape[1], lengths)
        return self._to_tuple(output, return_dict)

    def word_vectors(
        self, input_ids: Tensor, attention_mask: Tensor | None, capitals: Tensor
    ) -> Tensor:
        """What the LSTMs read of each distinct word, (words, dim)."""
        vectors = self.encoder(input_ids, attention_mask, pooled_only=True).sentence_embedding
        if not self.config.capital_feature:
            return vectors
        return torch.cat([vectors, capitals[:, None].to(vectors)], 1)

    def _dropped(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.head_dropout, self.training)

    def _states(self, vectors: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """States of all words and ends, (words + 2 batch, 2 size), sentence after sentence."""
        rows = torch.cat([vectors, self.ends.to(vectors)])
        numbers = words.new_empty(len(words) + 2 * len(lengths))
        firsts = (lengths + 2).cumsum(0) - lengths - 2
        numbers[firsts], numbers[firsts + lengths + 1] = len(vectors), len(vectors) + 1
        numbers[firsts.repeat_interleave(lengths) + 1 + _counted(lengths)] = words
        states = self._dropped(rows.index_select(0, numbers))
        for number, layer in enumerate(self.layers):
            states = self._dropped(states) if number else states
            assert isinstance(layer, nn.ModuleList)
            states = run_directions(layer, states, lengths + 2, "concatenate", None)
        return states

    def _places(self, states: Tensor, lengths: Tensor) -> Tensor:
        """[forward; backward] of every place between words, (words + batch, 2 size)."""
        firsts = (lengths + 2).cumsum(0) - lengths - 2
        before = firsts.repeat_interleave(lengths + 1) + _counted(lengths + 1)
        forward, backward = states.chunk(2, 1)
        return torch.cat([forward.index_select(0, before), backward.index_select(0, before + 1)], 1)

    def _best_labels(
        self, output: ParserOutput, scores: Tensor, spans: Tensor, seq: int, lengths: Tensor
    ) -> None:
        """Fill in `span_scores` and `span_labels`."""
        shape = (len(lengths), seq + 1, seq + 1)
        values, labels = (
            scores[:, 1:].max(1)
            if scores.shape[1] > 1
            else (scores.new_zeros(len(scores)), scores.new_zeros(len(scores)).long())
        )
        sentence, start, end = spans.unbind(1)
        output.span_scores = scores.new_zeros(shape)
        output.span_scores[sentence, start, end] = values - scores[:, 0]
        output.span_labels = torch.ones(shape, dtype=torch.long, device=scores.device)
        output.span_labels[sentence, start, end] = labels + 1


def _counted(lengths: Tensor) -> Tensor:
    """0, 1, ..., n - 1 for each length n, one after the other."""
    starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return torch.arange(len(starts), device=lengths.device) - starts


def _spans(lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every span of every sentence, by its start and then its end.

    Returns:
        The numbers of its two places among all places, (spans,), and its sentence, start and end,
        (spans, 3).
    """
    rows = lengths.repeat_interleave(lengths)  # words of the sentence of each start
    starts = _counted(lengths)
    widths = rows - starts  # spans that begin there
    sentence = torch.repeat_interleave(lengths).repeat_interleave(widths)
    start = starts.repeat_interleave(widths)
    end = start + 1 + _counted(widths)
    first = ((lengths + 1).cumsum(0) - lengths - 1)[sentence]
    return first + start, first + end, torch.stack([sentence, start, end], 1)


def _span_number(phrases: Tensor, lengths: Tensor) -> Tensor:
    """The place of each phrase in the order of `_spans`."""
    spans = lengths * (lengths + 1) // 2
    sentence, start, end = phrases[:, :3].unbind(1)
    words = lengths[sentence]
    before = (spans.cumsum(0) - spans)[sentence] + start * words - start * (start - 1) // 2
    return before + end - start - 1
