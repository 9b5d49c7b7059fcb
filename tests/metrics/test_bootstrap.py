"""Confidence intervals: by hand, by seed, by invariance."""

from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.metrics import resampling
from paraphrastic_hf.metrics.resampling import Interval, confidence_intervals, drawn_counts


def scores(seed: int, segments: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, segments)


@pytest.mark.parametrize("values", [[0.7], [0.25] * 5])
def test_equal_scores_have_an_interval_of_no_width(values: list[float]) -> None:
    expected = Interval(*values[:1] * 3)
    assert confidence_intervals([np.array(values)], samples=3) == [expected]


def test_two_segments_by_hand() -> None:
    """Resamples of (0, 1) have means 0, 1/2, 1 with chances 1/4, 1/2, 1/4: the middle half of many
    runs from 0 or a half to a half or 1, the middle 95 % from 0 to 1."""
    interval = confidence_intervals([np.array([0.0, 1.0])], samples=2000)[0]
    assert interval == Interval(0.5, 0.0, 1.0)
    middle = confidence_intervals([np.array([0.0, 1.0])], samples=2000, level=0.4)[0]
    assert middle == Interval(0.5, 0.5, 0.5)


def test_the_interval_is_that_of_the_normal_law() -> None:
    """The mean of 400 uniform scores has deviation s / 20; 1.96 of them make 95 %."""
    values = scores(1, 400)
    interval = confidence_intervals([values], samples=4000)[0]
    half = 1.96 * values.std() / 20
    # of 4,000 resamples a quantile of 2.5 % is known to some 4 % of the half width
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_equal_seeds_give_equal_results_and_other_seeds_do_not() -> None:
    again = [confidence_intervals([scores(2)], seed=seed) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


def test_a_system_has_one_interval_whoever_stands_beside_it() -> None:
    first, second = scores(2), scores(3)
    assert confidence_intervals([second, first])[1] == confidence_intervals([first])[0]


@pytest.mark.parametrize("at_a_time", [1, 100, 41 * 7])
def test_chunks_draw_what_one_piece_draws(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    first, second = scores(6, 41), scores(7, 41)
    whole = confidence_intervals([first, second], samples=50)
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", at_a_time)
    assert confidence_intervals([first, second], samples=50) == whole


def test_every_resample_has_as_many_examples_as_there_are() -> None:
    counts = np.concatenate(list(drawn_counts(2**20, 5, seed=0)))  # two at a time
    assert counts.shape == (5, 2**20)
    assert (counts.sum(1) == 2**20).all()
    assert len({row.tobytes() for row in counts}) == 5


def test_every_segment_is_drawn_and_each_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 64)
    means = np.concatenate(list(resampling._resampled_means(np.eye(8), 2000, 1)), 1)
    assert means.shape == (8, 2000)
    np.testing.assert_allclose(means.sum(0), 1)  # one draw of 8 adds 1/8 somewhere
    np.testing.assert_allclose(means.mean(1), 1 / 8, atol=0.012)  # 4 deviations of 16,000 draws


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_an_interval_of_no_number_is_refused(bad: float, side: int) -> None:
    systems = [scores(12), scores(13)]
    systems[side][6] = bad
    with pytest.raises(ValueError, match=rf"{side + 1}.*{bad}.*7"):
        confidence_intervals(systems)


@pytest.mark.parametrize(("sizes", "named"), [([], "segments"), ([0], "0"), ([3, 2], "2, 3")])
def test_no_segments_and_unequal_numbers_are_refused(sizes: list[int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        confidence_intervals([np.zeros(size) for size in sizes])
