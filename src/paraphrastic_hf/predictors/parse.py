"""Decoding of a span parser with CKY (Stern et al., 2017):

    b(i, j) = s(i, j) + max_k b(i, k) + b(k, j),   b(i, i + 1) = s(i, i + 1)

s is the score of a span's best label. b is the score of the best binary tree over the span. A span
without a label scores 0 and is removed from the binary tree afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from paraphrastic_hf.models.evaluating import evaluating
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.predictors.tagger import tensors
from paraphrastic_hf.syntax.parse_tree import Tree
from paraphrastic_hf.syntax.spans import tree_of_spans
from paraphrastic_hf.text.sentences import Sentences

MOST_SPANS = 200_000  # maximum number of spans in a batch of several sentences, with padding


def predict_trees(model: ParserModel, corpus: Sentences, *, batch_size: int = 64) -> list[Tree]:
    """Return the best tree of every sentence under a root, without dropout."""
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    found: dict[int, Tree] = {}
    lengths = corpus.numbers.lengths(np.arange(len(corpus)))
    with evaluating(model), torch.inference_mode():
        for chosen in _batches(lengths, batch_size):
            found.update(_parse(model, corpus, chosen, lengths))
    return [found[number] for number in range(len(corpus))]


def _batches(lengths: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Yield batches of sentence indices, sorted by length, with at most `MOST_SPANS` spans."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = min(start + batch_size, len(order))
        while (
            stop - start > 1 and (stop - start) * (lengths[order[stop - 1]] + 1) ** 2 > MOST_SPANS
        ):
            stop -= 1
        yield order[start:stop]
        start = stop


def _parse(
    model: ParserModel, corpus: Sentences, chosen: np.ndarray, lengths: np.ndarray
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
        size = int(lengths[number])
        spans = [
            (start, end, phrases[labels[row, start, end]])
            for start, end in bracketing(splits[row], size)
            if scores[row, start, end] > 0
        ]
        words = [corpus.words[it] for it in corpus.numbers[number]]
        yield int(number), tree_of_spans(words, [names[tag] for tag in tags[row][:size]], spans)


def best_splits(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the best split of every span into two, and the score of its best binary tree.

    Time is cubic and memory quadratic in the length of the longest sentence. Each step computes all
    spans of one width, in all sentences.

    Args:
        scores: Score s of each span, (batch, words + 1, words + 1) float32. Entry i, j is the span
            of words i to j - 1.

    Returns:
        The best split k of every span, and the score b of its best binary tree, both (batch, words
        + 1, words + 1).

    Example:
        >>> scores = np.zeros((1, 4, 4), np.float32)
        >>> scores[0, 1, 3] = 1  # the second and the third word are a phrase
        >>> best_splits(scores)[0][0, 0, 3], best_splits(scores)[1][0, 0, 3]
        (np.int32(1), np.float32(1.0))
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
    """Return start and end of the 2 words - 1 spans of a sentence's best binary tree.

    They are in order from top to bottom and from left to right.

    Args:
        splits: Best splits from `best_splits` for one sentence, (words + 1, words + 1) or larger.

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
