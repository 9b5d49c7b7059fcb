"""Span parser: bidirectional LSTMs over word vectors, span scores, and the best tree (Stern et al.,
2017; Kitaev and Klein, 2018; for thesis, 6.2.2).

    f_k = [forward state of word k; backward state of word k + 1]     a word boundary
    s(i, j) = U max(0, norm(W f_j - W f_i + b))     label scores of the words i to j - 1
    p(tag | word_t, sentence) = softmax(V [forward; backward state of word t] + c)

A span's label is a phrase label, a chain of phrase labels over the same words (`S+VP`), or none.
The tree maximizes the sum of log p(best label) - log p(none) over its spans
(`predictors/parser.py`).
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
from paraphrastic_hf.layers.recurrent import LSTM, run_directions
from paraphrastic_hf.models.base import NO_LABEL
from paraphrastic_hf.models.supervised.words import WordsConfig, WordsModel

NO_PHRASE = ""  # the first span label
SPANS_AT_ONCE = 2048  # a quarter of the time of a whole batch at once (256 units, one thread)


@strict
class ParserConfig(WordsConfig):
    """Configuration of `ParserModel`, with the settings of `WordsConfig`.

    Args:
        span_labels: Labels of spans. The first is the empty text, for no phrase. `+` joins the
            labels of a chain.
        layers: Number of stacked LSTMs in each direction, at least 1.
        span_size: Number of hidden units of the span scorer, at least 1.
    """

    model_type = "paraphrastic-parser"

    span_labels: list[str] | None = None
    layers: int = 2
    span_size: int = 128

    @classmethod
    def of(  # type: ignore[override]
        cls, encoder: dict[str, Any], tags: Sequence[str], phrases: Sequence[str], **settings: Any
    ) -> ParserConfig:
        """Build the configuration from the word encoder's, the tags and the phrase labels."""
        return super().of(encoder, tags, span_labels=[NO_PHRASE, *phrases], **settings)


@dataclass
class ParserOutput(ModelOutput):
    """Output of a parser.

    Scores and labels of spans are (batch, seq + 1, seq + 1), and None in training. Entry [i, j] is
    for the words i to j - 1. Its score is log p(best phrase label) - log p(no phrase), or 0 outside
    the sentence.
    """

    loss: Tensor | None = None  # of tags and spans, in nats per word, only with labels
    logits: Tensor | None = None  # of tags, (batch, seq, tags), zeros for padding
    span_scores: Tensor | None = None
    span_labels: Tensor | None = None  # best phrase labels, indices of `config.span_labels`


class ParserModel(WordsModel):
    """Word encoder, bidirectional LSTMs over the sentence, tag scores and span scores.

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
    base_model_prefix = "parser"  # not a module's name, which would confuse loading

    def __init__(self, config: ParserConfig) -> None:
        super().__init__(config)
        size = config.head_size
        width = config.vector_size + config.capital_feature  # input size of an LSTM
        self.ends = nn.Parameter(torch.empty(2, width))  # vectors of sentence start and end
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

    def outputs(
        self, vectors: Tensor, word_index: Tensor, labels: Tensor | None, phrases: Tensor | None
    ) -> ParserOutput:
        is_word = word_index >= 0
        lengths = is_word.sum(1)
        states = self._states(vectors, word_index[is_word], lengths)
        firsts = (lengths + 2).cumsum(0) - lengths - 2  # index of each sentence's first state
        of_words = firsts.repeat_interleave(lengths) + 1 + _counted(lengths)
        tags = self.tagger(self._dropped(states.index_select(0, of_words)))
        first, last, size = _spans(lengths)
        hidden = self.place_layer(self._dropped(self._places(states, lengths)))
        scores = self._span_scores(hidden, first, last)
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
        return output

    def _dropped(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.head_dropout, self.training)

    def _states(self, vectors: Tensor, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the states of all words and sentence ends, (words + 2 batch, 2 size)."""
        rows = torch.cat([vectors, self.ends.to(vectors)])
        numbers = words.new_empty(len(words) + 2 * len(lengths))
        firsts = (lengths + 2).cumsum(0) - lengths - 2
        numbers[firsts], numbers[firsts + lengths + 1] = len(vectors), len(vectors) + 1
        numbers[firsts.repeat_interleave(lengths) + 1 + _counted(lengths)] = words
        places: Tensor | None = numbers
        if self.training:  # dropout gives equal words different vectors
            rows, places = rows.index_select(0, numbers), None
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)
            rows = run_directions(layer, self._dropped(rows), lengths + 2, places=places)
            places = None  # only the first layer reads word vectors
        return rows

    def _places(self, states: Tensor, lengths: Tensor) -> Tensor:
        """Return [forward; backward] of every word boundary, (words + batch, 2 size)."""
        firsts = (lengths + 2).cumsum(0) - lengths - 2
        before = firsts.repeat_interleave(lengths + 1) + _counted(lengths + 1)
        forward, backward = states.chunk(2, 1)
        return torch.cat([forward.index_select(0, before), backward.index_select(0, before + 1)], 1)

    def _span_scores(self, hidden: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """Return the label scores of spans, (spans, labels), in parts that fit a core's cache."""
        ends = zip(first.split(SPANS_AT_ONCE), last.split(SPANS_AT_ONCE), strict=True)
        differences = (hidden.index_select(0, j) - hidden.index_select(0, i) for i, j in ends)
        return torch.cat([self.scorer(torch.relu(self.norm(part))) for part in differences])

    def _best_labels(
        self, output: ParserOutput, scores: Tensor, spans: Tensor, seq: int, lengths: Tensor
    ) -> None:
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
    """Return 0 to n - 1 for each length n, concatenated."""
    starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return torch.arange(len(starts), device=lengths.device) - starts


def _spans(lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """List all spans of a batch of sentences, sorted by sentence, start and end.

    Return the indices of each span's left and right boundary in the result of `_places`, (spans,)
    each, and its sentence, start and end, (spans, 3).
    """
    starts = _counted(lengths)
    widths = lengths.repeat_interleave(lengths) - starts  # number of spans with this start
    sentence = torch.repeat_interleave(lengths).repeat_interleave(widths)
    start = starts.repeat_interleave(widths)
    end = start + 1 + _counted(widths)
    first = ((lengths + 1).cumsum(0) - lengths - 1)[sentence]
    return first + start, first + end, torch.stack([sentence, start, end], 1)


def _span_number(phrases: Tensor, lengths: Tensor) -> Tensor:
    """Return the index of each phrase in the order of `_spans`."""
    spans = lengths * (lengths + 1) // 2
    sentence, start, end = phrases[:, :3].unbind(1)
    words = lengths[sentence]
    before = (spans.cumsum(0) - spans)[sentence] + start * words - start * (start - 1) // 2
    return before + end - start - 1
