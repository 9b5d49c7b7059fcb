"""`SentenceParser`: a span parser with its tokenizer, decoded with CKY (Stern et al., 2017).

    b(i, j) = s(i, j) + max_k b(i, k) + b(k, j),   b(i, i + 1) = s(i, i + 1)

s is the score of a span's best label. b is the score of the best binary tree over the span. A span
without a label scores 0 and is removed from the binary tree afterwards.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Self, Unpack

import numpy as np
import torch

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import PARSER
from paraphrastic_hf.encoders.storage.locate import DEFAULT_PARSER, HubOptions, as_directory
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.predictors.tagger import tensors
from paraphrastic_hf.syntax.parse_tree import DEEPEST, Tree
from paraphrastic_hf.syntax.parsed import EMPTY, FAILED, TOO_LONG, ParsedLine
from paraphrastic_hf.syntax.spans import tree_of_spans
from paraphrastic_hf.syntax.treebank_words import treebank_words
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.sentences import Sentences

BATCH_SIZE = 256  # sentences
MOST_SPANS = 200_000  # maximum number of spans in a batch of several sentences, with padding
QUOTES = {"``": '"', "''": '"'}  # replaced in training too (`corpora/readers/syntax.py`)


class SentenceParser(SavedModel):
    """A span parser with its tokenizer.

    Args:
        model: Parser model.
        tokenizer: Tokenizer of the model's word encoder.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> parser = SentenceParser.from_pretrained()
        >>> print(parser.parse(["She sold a house."])[0].tree)
        (ROOT (S (NP (PRP She)) (VP (VBD sold) (NP (DT a) (NN house))) (. .)))
    """

    model: ParserModel
    tokenizer: TextTokenizer
    layout = PARSER
    noun = "parser"

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str] = DEFAULT_PARSER,
        *,
        device: str | torch.device | None = None,
        **hub: Unpack[HubOptions],
    ) -> Self:
        """Load the packaged parser, a model directory or a Hub repository.

        The packaged parser is unpacked to the cache first (`packaged_model`).

        Args:
            name: `parser`, a directory written by `paraphrastic train`, or a Hub repository.
            device: Device to compute on. None means a GPU if available.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as in `local_directory`.
        """
        return super().from_pretrained(as_directory(name), device=device, **hub)

    def parse(self, lines: Sequence[str], *, batch_size: int = BATCH_SIZE) -> list[ParsedLine]:
        """Parse every line into a constituency tree.

        A line is a sentence. It is split into words as in the Penn Treebank
        (`syntax/treebank_words.py`). Text that is already split stays as it is.

        Args:
            lines: Sentences.
            batch_size: Maximum number of sentences per batch, at least 1.

        Returns:
            A result for each line. A line without words, or with more than `model.config.max_words`
            words, has no tree and a `problem`.

        Raises:
            DataError: `lines` is a string, or a line is not a string.
        """
        lines = lines if isinstance(lines, str) else list(lines)
        if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
            raise DataError(f"lines must be a list of strings, got {str(lines)[:40]!r}")
        return self.parse_words([treebank_words(line) for line in lines], batch_size=batch_size)

    def parse_words(
        self, sentences: Sequence[Sequence[str]], *, batch_size: int = BATCH_SIZE
    ) -> list[ParsedLine]:
        """Parse sentences that are already split into words.

        Args:
            sentences: Lists of words, tokenized as in the Penn Treebank.
            batch_size: Maximum number of sentences per batch, at least 1.

        Returns:
            A result for each sentence, as in `parse`.

        Raises:
            DataError: A sentence is a string, or a word is not a string.
        """
        sentences = list(sentences)
        for words in sentences:
            if isinstance(words, str):
                raise DataError(
                    f"A sentence must be a list of words, got {words[:40]!r}. Use `parse`"
                )
        longest = self.model.config.max_words
        fit = [list(words) for words in sentences if 0 < len(words) <= longest]
        plain = [[QUOTES.get(word, word) for word in words] for words in fit]
        corpus = Sentences.of(plain, self.tokenizer)
        trees = iter(predict_trees(self.model, corpus, fit, batch_size=batch_size))
        found = []
        for words in map(list, sentences):
            problem = "" if 0 < len(words) <= longest else TOO_LONG if words else EMPTY
            tree = None if problem else next(trees)
            if tree is None or tree.height > DEEPEST:
                found.append(ParsedLine.without_tree(words, problem or FAILED))
            else:
                found.append(ParsedLine(words, tree))
        return found


def predict_trees(
    model: ParserModel,
    corpus: Sentences,
    words: Sequence[Sequence[str]],
    *,
    batch_size: int = BATCH_SIZE,
) -> list[Tree]:
    """Return the best tree of every sentence under a root, with the given words as leaves."""
    found: dict[int, Tree] = {}
    lengths = corpus.numbers.lengths(np.arange(len(corpus)))
    with evaluating(model), torch.inference_mode():
        for chosen in length_batches((lengths + 1) ** 2, batch_size, MOST_SPANS):
            found.update(_parse(model, corpus, words, chosen))
    return [found[number] for number in range(len(corpus))]


def _parse(
    model: ParserModel, corpus: Sentences, words: Sequence[Sequence[str]], chosen: np.ndarray
) -> Iterator[tuple[int, Tree]]:
    arrays = corpus.batch(chosen, model.config.max_word_tokens)
    output = model(**tensors(arrays, model.device))
    tags = output.logits.argmax(-1).tolist()
    scores = output.span_scores.float().cpu().numpy()
    labels = output.span_labels.cpu().numpy()
    # A span with a negative score is not a phrase: it scores 0 and is left out of the tree.
    splits, _ = best_splits(np.maximum(scores, 0))
    names, phrases = model.config.id2label, model.config.span_labels or []
    for row, number in enumerate(chosen):
        leaves = words[number]
        spans = [
            (start, end, phrases[labels[row, start, end]])
            for start, end in bracketing(splits[row], len(leaves))
            if scores[row, start, end] > 0
        ]
        yield (
            int(number),
            tree_of_spans(leaves, [names[tag] for tag in tags[row][: len(leaves)]], spans),
        )


def best_splits(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the best split of every span into two, and the score of its best binary tree.

    Time is cubic in the length of the longest sentence. Each step computes all spans of one width.

    Args:
        scores: Score s of each span, (batch, words + 1, words + 1) float32. Entry i, j is the span
            of words i to j - 1.

    Returns:
        The best split k of every span, and the score b of its best binary tree, in the shape of
        `scores`.
    """
    batch, places, _ = scores.shape
    from_left = np.zeros((batch, places, places), np.float32)  # sentence, start, width
    from_right = np.zeros((batch, places, places), np.float32)  # sentence, end, places - width
    splits = np.zeros(scores.shape, np.int32)
    best = np.zeros(scores.shape, np.float32)
    for width in range(1, places):
        starts = np.arange(places - width)
        ends = starts + width
        found = scores[:, starts, ends].astype(np.float32)  # (batch, spans)
        if width > 1:
            left = from_left[:, : places - width, 1:width]
            right = from_right[:, width:, places - width + 1 : places]
            sums = left + right  # (batch, spans, splits)
            chosen = sums.argmax(2)
            found += np.take_along_axis(sums, chosen[:, :, None], 2)[:, :, 0]
            splits[:, starts, ends] = starts + 1 + chosen
        from_left[:, starts, width] = found
        from_right[:, ends, places - width] = found
        best[:, starts, ends] = found
    return splits, best


def bracketing(splits: np.ndarray, words: int) -> list[tuple[int, int]]:
    """Return start and end of the spans of a sentence's best binary tree, given its best splits.

    Example:
        >>> bracketing(np.full((3, 3), 1), 2)
        [(0, 2), (0, 1), (1, 2)]
    """
    found, stack = [], [(0, words)]
    while stack:
        start, end = stack.pop()
        found.append((start, end))
        if end - start > 1:
            split = int(splits[start, end])
            stack += [(split, end), (start, split)]
    return found
