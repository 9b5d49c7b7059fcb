"""Intervals and significance: by hand, by seed, by invariance."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from paraphrastic_hf.metrics import bootstrap
from paraphrastic_hf.metrics.bootstrap import (
    Interval,
    confidence_intervals,
    p_text,
    p_value_of,
    paired_p_value,
)


def scores(seed: int, segments: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, segments)


def test_equal_scores_have_an_interval_of_no_width() -> None:
    assert confidence_intervals([np.full(5, 0.25)]) == [Interval(0.25, 0.25, 0.25)]


def test_one_segment_is_its_own_resample() -> None:
    assert confidence_intervals([np.array([0.7])], samples=3) == [Interval(0.7, 0.7, 0.7)]


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


@pytest.mark.parametrize("seed", range(5))
def test_an_interval_contains_its_mean(seed: int) -> None:
    for interval in confidence_intervals([scores(seed), scores(seed + 50)], seed=seed):
        assert interval.low <= interval.mean <= interval.high


def test_equal_seeds_give_equal_results_and_other_seeds_do_not() -> None:
    first, second = scores(2), scores(3)
    again = [confidence_intervals([first], seed=seed) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]
    assert paired_p_value(first, second, seed=4) == paired_p_value(first, second, seed=4)


def test_a_system_has_one_interval_whoever_stands_beside_it() -> None:
    first, second = scores(2), scores(3)
    assert confidence_intervals([second, first])[1] == confidence_intervals([first])[0]


@pytest.mark.parametrize("at_a_time", [1, 100, 41 * 7])
def test_chunks_draw_what_one_piece_draws(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    first, second = scores(6, 41), scores(7, 41)
    whole = confidence_intervals([first, second], samples=50), paired_p_value(first, second)
    monkeypatch.setattr(bootstrap, "DRAWS_AT_A_TIME", at_a_time)
    assert (confidence_intervals([first, second], samples=50), paired_p_value(first, second)) == (
        whole
    )


def test_every_segment_is_drawn_and_each_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "DRAWS_AT_A_TIME", 64)
    means = np.concatenate(list(bootstrap._resampled_means(np.eye(8), 2000, 1)), 1)
    assert means.shape == (8, 2000)
    np.testing.assert_allclose(means.sum(0), 1)  # one draw of 8 adds 1/8 somewhere
    np.testing.assert_allclose(means.mean(1), 1 / 8, atol=0.012)  # 4 deviations of 16,000 draws


@pytest.mark.parametrize("samples", [1, 5, 1000])
def test_no_number_of_resamples_shows_a_p_below_1_in_that_number_plus_1(samples: int) -> None:
    first = scores(8)
    expected = 1 / (samples + 1)
    assert paired_p_value(first + 0.01, first, samples=samples) == expected
    assert paired_p_value(first, first + 0.01, samples=samples) == expected  # on either side


def test_p_is_the_resamples_lost_and_one_of_all_and_one() -> None:
    assert [p_value_of(k, 4) for k in range(5)] == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_a_p_is_written_with_what_is_known_of_it() -> None:
    assert p_text(p_value_of(0, 5), 5) == "<1/6"
    assert p_text(p_value_of(0, 1000), 1000) == "<1/1001"
    assert p_text(p_value_of(1, 1000), 1000) == "0.002"
    assert p_text(p_value_of(1, 100_000), 100_000) == "2e-05"  # never 0.000
    assert p_text(1.0, 1) == "1.000"
    assert p_text(None, 5) == p_text(float("nan"), 5) == ""


def test_equal_systems_have_p_1() -> None:
    assert paired_p_value(scores(9), scores(9)) == 1
    other = np.array([0.0, 1.0, 0.5, 0.5, 0.5])
    assert paired_p_value(other, other[::-1]) == 1  # equal means


def test_means_that_differ_by_rounding_alone_are_equal() -> None:
    first = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    second = first[[5, 4, 2, 3, 0, 1]] * (1 + 1e-15)
    assert (first - second).mean() != 0
    assert paired_p_value(first, second) == 1


def test_p_of_five_segments_is_that_of_all_3125_resamples() -> None:
    """By oracle: every way to draw five of five segments, each as likely as the next."""
    first, second = np.array([3.0, 0.0, 1.0, 2.0, 1.0]), np.array([0.0, 2.0, 1.0, 1.0, 0.0])
    differences = [Fraction(value) for value in first - second]
    assert sum(differences) > 0
    lost = sum(sum(drawn) <= 0 for drawn in product(differences, repeat=5))
    assert 0 < lost < 3125
    found = paired_p_value(first, second, samples=20_000)
    deviation = (lost / 3125 / 20_000) ** 0.5
    assert found == pytest.approx(lost / 3125, abs=4 * deviation)


@pytest.mark.parametrize("segments", [1, 2, 3, 4])
def test_fewer_than_five_segments_cannot_be_tested(segments: int) -> None:
    """Better on all of four by chance is 1 in 16, and nothing below 0.05 can be shown."""
    assert np.isnan(paired_p_value(np.ones(segments), np.zeros(segments)))
    assert paired_p_value(np.ones(5), np.zeros(5)) == 1 / 1001


def test_p_is_right_five_times_in_a_hundred_where_neither_is_better() -> None:
    """One-sided in favour of the better of two, so that 10 of 100 are below 0.05."""
    random = np.random.default_rng(0)
    found = sum(
        paired_p_value(*random.normal(size=(2, 50)), samples=200) < 0.05 for _ in range(1000)
    )
    assert found / 1000 == pytest.approx(0.10, abs=0.03)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_a_score_that_is_no_number_is_refused_and_not_counted_as_won(bad: float, side: int) -> None:
    systems = [scores(12), scores(13)]
    systems[side][6] = bad
    message = rf"score of system {side + 1} is {bad} at number 7 of 40"
    with pytest.raises(ValueError, match=message):
        paired_p_value(*systems)
    with pytest.raises(ValueError, match=message):
        confidence_intervals(systems)


def test_p_is_symmetric() -> None:
    first, second = scores(10), scores(11)
    assert paired_p_value(first, second) == paired_p_value(second, first)


def test_no_segments_unequal_numbers_and_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="got no segments"):
        confidence_intervals([])
    with pytest.raises(ValueError, match="got 0 segments"):
        confidence_intervals([np.array([])])
    with pytest.raises(ValueError, match="got 2, 3 segments"):
        paired_p_value(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="samples must be 1 or more, got 0"):
        paired_p_value(np.zeros(3), np.zeros(3), samples=0)
