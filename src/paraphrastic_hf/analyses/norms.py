"""Norms of word vectors by part of speech and by frequency (thesis, 3.4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paraphrastic_hf.analyses.report import Analysis, Cell, Table
from paraphrastic_hf.analyses.tagged import TreebankSentence, mean_by
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.plots import bars, lines, new_figure

LEAST = 5  # minimum number of words with a tag
MOST_FREQUENT = 10_000  # words among which the longest and shortest vectors are listed
SHOWN = 15
THESIS_LONGEST = "poverty, kidding, humanitarian, 18, july"
THESIS_SHORTEST = "of, it, to, hereby, the"


def norms(
    encoder: Any,
    sentences: Sequence[TreebankSentence],
    counts: Mapping[str, int | None],
    *,
    name: str = "model",
) -> Analysis:
    """Average the L2 norms of word vectors by tag and by frequency, and list the extremes.

    Each distinct word of the tagged corpus counts once, under its most frequent tag.
    """
    if any(count is None for count in counts.values()):
        raise DataError("The word list has no counts. Each line must have a word and its count")
    tag_of = most_frequent_tags(sentences)
    tagged, listed = list(tag_of), list(counts)
    norm_of = word_norms(encoder, [*tagged, *listed], name)
    by_tag = mean_by(list(tag_of.values()), norm_of[: len(tagged)], least=LEAST)
    own = norm_of[len(tagged) :]
    bins = [power_of_ten(count or 0) for count in counts.values()]
    by_frequency = sorted(
        ((int(low), words, mean) for low, words, mean in mean_by(bins, own)), reverse=True
    )
    frequent = sorted(listed, key=lambda word: -(counts[word] or 0))[:MOST_FREQUENT]
    norm = dict(zip(listed, own.tolist(), strict=True))
    known = sorted((w for w in frequent if not np.isnan(norm[w])), key=lambda w: -norm[w])
    extremes: list[list[Cell]] = [
        ["largest", ", ".join(known[:SHOWN]), THESIS_LONGEST],
        ["smallest", ", ".join(known[: -SHOWN - 1 : -1]), THESIS_SHORTEST],
    ]
    columns = ["words", "mean L2 norm"]
    return Analysis(
        "norms",
        f"Norms of the words of {name}",
        [
            Table("tags", "By part of speech (Penn tags)", ["tag", *columns], by_tag),
            Table("frequency", "By frequency", ["count, from", *columns], by_frequency),
            Table("extremes", "Largest and smallest", ["norm", name, "thesis 3.4"], extremes),
        ],
        _figure(by_tag, by_frequency),
        [
            "Each word is encoded as a text of its own. Words without a known token are left out.",
            "By part of speech: each distinct word of the corpus once, under its most frequent "
            f"tag; tags of at least {LEAST} words.",
            f"Largest and smallest: among the {len(frequent):,} most frequent words of the list.",
        ],
        {"model": name, "words": len(listed), "tagged words": len(tagged)},
    )


def word_norms(encoder: Any, words: Sequence[str], name: str = "model") -> np.ndarray:
    """Return the L2 norm of each word encoded alone, (words,). Unknown words have NaN."""
    distinct = list(dict.fromkeys(words))
    vectors = checked_vectors(encoder.encode(distinct), len(distinct))
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    lengths[lengths == 0] = np.nan
    if np.isnan(lengths).all():
        raise DataError(f"{name} knows none of the {len(distinct):,} words. Give another list")
    if len(distinct) > 1 and np.nanmax(lengths) - np.nanmin(lengths) < 1e-4 * np.nanmax(lengths):
        raise ModelError(
            f"All vectors of {name} have norm {np.nanmax(lengths):.4g}, so they cannot be "
            "compared. Use a model that does not normalize"
        )
    place = {word: i for i, word in enumerate(distinct)}
    return lengths[[place[word] for word in words]]


def most_frequent_tags(sentences: Sequence[TreebankSentence]) -> dict[str, str]:
    """Find the most frequent tag of every lower-cased word. Ties go to the first tag seen."""
    counts: dict[str, Counter[str]] = {}
    for sentence in sentences:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            counts.setdefault(word.lower(), Counter())[tag] += 1
    return {word: tags.most_common(1)[0][0] for word, tags in counts.items()}


def power_of_ten(count: int) -> str:
    """Return the highest power of ten up to `count`, as text. It is 1 if `count` is 0."""
    return str(10 ** (len(str(count)) - 1))


def _figure(
    by_tag: Sequence[tuple[str, int, float]], by_frequency: Sequence[tuple[int, int, float]]
) -> Figure:
    figure = new_figure(9, max(3.5, 0.19 * len(by_tag) + 0.8))
    left, right = figure.subplots(1, 2)
    norms = [mean[2] for mean in by_tag]
    bars(left, [mean[0] for mean in by_tag], norms, "mean L2 norm", "part of speech")
    curve = {"all words": ([mean[0] for mean in by_frequency], [mean[2] for mean in by_frequency])}
    lines(right, curve, "count of the word, from", "mean L2 norm", "frequency", log=True)
    return figure
