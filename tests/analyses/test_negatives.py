from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.analyses.negatives import negatives, negatives_of
from paraphrastic_hf.errors import DataError
from tests.analyses.test_fit import Degrees

PAIRS = [("0", "10"), ("90", "100"), ("20", "160"), ("95", "300")]


def test_larger_mega_batches_have_harder_negatives() -> None:
    found = negatives_of(Degrees(), PAIRS, sizes=[2, 1], batch_size=2)
    assert [each.text for each in found[1]] == ["90", "90", "10", "10"]
    assert [each.text for each in found[2]] == ["20", "20", "95", "95"]
    assert [each.sentence for each in found[2]] == ["0", "10", "90", "100"]
    assert found[2][1].cosine == pytest.approx(np.cos(np.radians(10)))
    assert found[2][1].partner_cosine == pytest.approx(np.cos(np.radians(10)))


def test_sentences_without_negatives_are_left_out() -> None:
    pairs = [("0", "10"), ("0", "10"), ("90", "100"), ("90", "100")]
    found = negatives_of(Degrees(), pairs, sizes=[1, 2], batch_size=2)
    assert found == {1: [], 2: []}
    with pytest.raises(DataError):
        negatives(Degrees(), pairs, name="degrees", sizes=[1, 2], batch_size=2)


def test_remaining_pairs_are_not_used() -> None:
    found = negatives_of(Degrees(), [*PAIRS, ("0", "1")], sizes=[1], batch_size=2)
    assert [each.sentence for each in found[1]] == [text for pair in PAIRS for text in pair]


def test_the_analysis_has_cosines_and_examples() -> None:
    analysis = negatives(Degrees(), PAIRS, name="degrees", sizes=[1, 2], batch_size=2, count=1)
    sizes, examples = analysis.tables
    assert sizes.rows[1][2] == pytest.approx(np.mean(np.cos(np.radians([20, 10, 5, 5]))))
    assert [row[0] for row in sizes.rows] == [1, 2]
    assert sizes.rows[1][4] == 50  # both sides of the second pair
    assert examples.rows == [["0", "10", "90", "20"]]


@pytest.mark.parametrize(("sizes", "batch_size"), [([], 2), ([0], 2), ([1], 1), ([1, 3], 2)])
def test_invalid_sizes_are_refused(sizes: list[int], batch_size: int) -> None:
    with pytest.raises(DataError):
        negatives_of(Degrees(), PAIRS, sizes=sizes, batch_size=batch_size)
