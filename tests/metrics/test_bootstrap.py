from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.metrics import resampling
from paraphrastic_hf.metrics.resampling import (
    Interval,
    confidence_intervals,
    paired_p_value,
)


def scores(seed: int, segments: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, segments)


def test_two_segments_by_hand() -> None:
    """Resamples of (0, 1) have means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4."""
    interval = confidence_intervals([np.array([0.0, 1.0])], samples=2000)[0]
    assert interval == Interval(0.5, 0.0, 1.0)
    middle = confidence_intervals([np.array([0.0, 1.0])], samples=2000, level=0.4)[0]
    assert middle == Interval(0.5, 0.5, 0.5)


def test_the_interval_matches_the_normal_distribution() -> None:
    """The mean of 400 uniform scores has the deviation s / 20."""
    values = scores(1, 400)
    interval = confidence_intervals([values], samples=4000)[0]
    half = 1.96 * values.std() / 20
    # With 4,000 resamples the error of a 2.5 % quantile is about 4 % of the half width.
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_results_depend_on_the_seed() -> None:
    again = [confidence_intervals([scores(2)], seed=seed) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


def test_an_interval_does_not_depend_on_other_systems() -> None:
    first, second = scores(2), scores(3)
    assert confidence_intervals([second, first])[1] == confidence_intervals([first])[0]


@pytest.mark.parametrize("at_a_time", [1, 100, 41 * 7])
def test_chunks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    first, second = scores(6, 41), scores(7, 41)
    whole = confidence_intervals([first, second], samples=50)
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", at_a_time)
    assert confidence_intervals([first, second], samples=50) == whole


def test_segments_are_drawn_uniformly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 64)
    means = np.concatenate(list(resampling._resampled_means(np.eye(8), 2000, 1)), 1)
    assert means.shape == (8, 2000)
    np.testing.assert_allclose(means.sum(0), 1)  # one draw of 8 adds 1/8 somewhere
    np.testing.assert_allclose(means.mean(1), 1 / 8, atol=0.012)  # 4 deviations


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_scores_that_are_not_finite_are_refused(bad: float, side: int) -> None:
    systems = [scores(12), scores(13)]
    systems[side][6] = bad
    for call in (lambda: confidence_intervals(systems), lambda: paired_p_value(*systems)):
        with pytest.raises(ValueError, match=rf"{side + 1}.*{bad}.*7"):
            call()


@pytest.mark.parametrize(("sizes", "named"), [([], "systems"), ([0], "0"), ([3, 2], "2, 3")])
def test_intervals_need_equal_numbers_of_segments(sizes: list[int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        confidence_intervals([np.zeros(size) for size in sizes])
