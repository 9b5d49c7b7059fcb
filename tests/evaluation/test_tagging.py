from __future__ import annotations

import pytest

from paraphrastic_hf.corpora.readers.tagging import TaggedSentence
from paraphrastic_hf.evaluation.measures.tagging import count_right

GOLD = [
    TaggedSentence(["the", "cat", "The"], ["DT", "NN", "DT"]),
    TaggedSentence(["runs"], ["VBZ"]),
]


def test_counts_by_hand() -> None:
    """3 of 4 are correct. cat, The and runs are unknown, since case matters: 2 of 3."""
    counts = count_right([["DT", "NN", "DT"], ["NNS"]], GOLD, {"the"})
    assert (counts.words, counts.correct) == (4, 3)
    assert (counts.unknown_words, counts.unknown_correct) == (3, 2)
    assert counts.accuracy == 75.0
    assert counts.unknown_accuracy == pytest.approx(200 / 3)


def test_no_words_have_accuracy_0_and_every_word_needs_a_tag() -> None:
    counts = count_right([], [], set())
    assert (counts.accuracy, counts.unknown_accuracy) == (0.0, 0.0)
    with pytest.raises(ValueError):  # noqa: PT011
        count_right([["DT", "NN"], ["VBZ"]], GOLD, set())
