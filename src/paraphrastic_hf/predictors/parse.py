"""Trees that a span parser finds: scores of a batch of sentences, and the best tree of each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from paraphrastic_hf.layers.chart import best_splits, bracketing
from paraphrastic_hf.models.evaluating import evaluating
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.predictors.tagger import tensors
from paraphrastic_hf.syntax.parse_tree import Tree
from paraphrastic_hf.syntax.spans import tree_of_spans
from paraphrastic_hf.text.sentences import Sentences

MOST_SPANS = 200_000  # of a batch of several sentences, padding included


def predict_trees(model: ParserModel, corpus: Sentences, *, batch_size: int = 64) -> list[Tree]:
    """The best tree of every sentence, without dropout.

    Args:
        model: Any parser. It is left in training or evaluation mode as it was.
        corpus: Sentences of at least one word, tokenized for its word encoder.
        batch_size: The most sentences in a batch, at least 1.

    Returns:
        A tree for each sentence, with a root on top and the words as in `corpus`.

    Raises:
        ValueError: `batch_size` is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    found: dict[int, Tree] = {}
    lengths = corpus.numbers.lengths(np.arange(len(corpus)))
    with evaluating(model), torch.inference_mode():
        for chosen in _batches(lengths, batch_size):
            found.update(_parse(model, corpus, chosen, lengths))
    return [found[number] for number in range(len(corpus))]


def _batches(lengths: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Numbers of sentences by length, fewer in a batch where the spans would be too many."""
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
    """The trees of the chosen sentences, with their numbers."""
    arrays = corpus.batch(chosen, model.config.max_word_tokens)
    output = model(**tensors(arrays, model.device))
    tags = output.logits.argmax(-1).tolist()
    scores = output.span_scores.float().cpu().numpy()
    labels = output.span_labels.cpu().numpy()
    # A span that no phrase fits is no phrase: 0 is its score, and it is left out of the tree.
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
