from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.analyses.errors import errors, judged
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError


class Angles:
    """Encodes a number as an angle in degrees, multiplied by `times`."""

    def __init__(self, times: float) -> None:
        self.times = times

    def encode(self, texts: list[str]) -> np.ndarray:
        angles = self.times * np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], 1)


PAIRS = ScoredPairs("MSRpar", "2012", ["0", "0", "0"], ["0", "90", "60"], [5.0, 0.0, 3.75])


def test_errors_by_hand() -> None:
    """Cosines 1, 0, 1/2 are scores 5, 2.5, 3.75. With twice the angle 1, -1, -1/2 are 5, 0,
    1.25."""
    found = judged(Angles(1), Angles(2), [PAIRS])
    assert [pair.second for pair in found] == ["60", "0", "90"]
    assert [pair.lead for pair in found] == [pytest.approx(x, abs=1e-4) for x in (2.5, 0, -2.5)]
    assert [found[0].one, found[0].other] == pytest.approx([3.75, 1.25], abs=1e-4)
    assert found[0].dataset == "2012 MSRpar"


def test_each_list_has_the_pairs_its_model_wins() -> None:
    analysis = errors(Angles(1), Angles(2), [PAIRS], names=("one", "two"), count=1)
    summary, first, second = (table.rows for table in analysis.tables)
    assert summary[0][:3] == [3, pytest.approx(2.5 / 3, abs=1e-4), pytest.approx(2.5 / 3, abs=1e-4)]
    assert [row[2] for row in first] == ["60"]
    assert [row[2] for row in second] == ["90"]


def test_errors_need_pairs() -> None:
    with pytest.raises(DataError):
        errors(Angles(1), Angles(2), [], names=("one", "two"))
