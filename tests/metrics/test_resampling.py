from itertools import product

import numpy as np
import pytest

from paraphrastic_hf.evaluation.measures.judged import Judged, judged_p_value
from paraphrastic_hf.metrics import resampling
from paraphrastic_hf.metrics.corpus_bleu import bleu_of_counts
from paraphrastic_hf.metrics.resampling import (
    Interval,
    confidence_intervals,
    p_text,
    paired_p_value,
)
from tests.evaluation.made_pairs import correlation_p_value


def scores(seed: int, segments: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, segments)


@pytest.mark.parametrize("segments", [1, 2, 5, 9])
def test_p_of_few_segments_uses_all_exchanges(segments):
    first, second = scores(1, segments), scores(2, segments)
    differences = first - second
    observed = abs(differences.sum()) - 1e-9
    found = [abs(differences @ signs) >= observed for signs in product((-1, 1), repeat=segments)]
    assert paired_p_value(first, second) == np.mean(found)


@pytest.mark.slow
def test_many_draws_approach_all_exchanges(monkeypatch):
    first, second = scores(3, 12), scores(4, 12)
    exact = paired_p_value(first, second)
    monkeypatch.setattr(resampling, "EXACT", 0)
    drawn = paired_p_value(first, second, samples=40_000)
    assert drawn == pytest.approx(exact, abs=4 * (exact / 40_000) ** 0.5)
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 12 * 7)
    assert paired_p_value(first, second, samples=40_000) == drawn


@pytest.mark.parametrize("segments", [6, 60])
def test_equal_means_up_to_rounding_have_p_1(segments):
    first = scores(5, segments)
    for second in (first, first[::-1], np.roll(first, 3) * (1 + 1e-15), first * (1 + 1e-15)):
        assert paired_p_value(first, second) == 1


def of_means(random: np.random.Generator, segments: int) -> float:
    return paired_p_value(*random.normal(size=(2, segments)), samples=200)


def of_accuracies(random: np.random.Generator, segments: int) -> float:
    right = (random.random((2, 1, segments)) < 0.7).astype(float)
    sides = (Judged("", "", "accuracy", each, np.ones_like(each)) for each in right)
    return judged_p_value(*sides, samples=200)


def of_bleu(random: np.random.Generator, segments: int) -> float:
    there = random.integers(4, 30, segments)[:, None] - np.arange(4)
    matching = random.binomial(there, [0.6, 0.4, 0.25, 0.2], size=(2, segments, 4))
    lengths = np.broadcast_to(there[:, :1], (2, segments, 2))
    of_both = np.broadcast_to(there, matching.shape)
    counts = np.concatenate([lengths, matching, of_both], axis=2)
    return paired_p_value(*counts, bleu_of_counts, samples=200)


def of_pearson(random: np.random.Generator, segments: int, measure: str = "pearson") -> float:
    gold, common, *own = random.normal(size=(4, segments))
    sides = (gold + 0.7 * common + 0.7 * each for each in own)
    return correlation_p_value(*sides, gold, measure=measure, samples=200)


def of_spearman(random: np.random.Generator, segments: int) -> float:
    return of_pearson(random, segments, "spearman")


@pytest.mark.slow
@pytest.mark.parametrize("segments", [5, 8, 10, 20, 50])
@pytest.mark.parametrize(
    ("made", "trials", "most"),
    [
        (of_means, 800, 0.05),
        (of_accuracies, 400, 0.05),
        (of_bleu, 100, 0.05),
        (of_pearson, 200, 0.08),
        (of_spearman, 200, 0.08),
    ],
)
def test_equal_systems_have_at_most_5_percent_false_positives(
    monkeypatch, made, trials, most, segments
):
    """Three deviations of a binomial are allowed above."""
    random = np.random.default_rng(segments)
    if made is of_means:
        trials //= 4 if segments == 20 else 1  # half a million exchanges each
    else:
        monkeypatch.setattr(resampling, "EXACT", 10)
    share = np.mean([made(random, segments) < 0.05 for _ in range(trials)])
    assert share <= most + 3 * (most * (1 - most) / trials) ** 0.5


def test_p_is_symmetric_and_needs_equal_segments_and_samples():
    first = scores(8)
    assert paired_p_value(first + 0.01, first) == paired_p_value(first, first + 0.01) == 1 / 1001
    for sizes, samples, named in (((0, 0), 9, "0"), ((3, 2), 9, "3 and 2"), ((3, 3), 0, "0")):
        with pytest.raises(ValueError, match=named):
            paired_p_value(*map(np.zeros, sizes), samples=samples)


def test_p_values_are_formatted():
    values = (1 / 6, 1 / 1001, 2 / 100_001, 1.0, None, float("nan"))
    assert [p_text(value) for value in values] == ["0.167", "0.001", "2e-05", "1.000", "", ""]


def test_two_segments_by_hand():
    """Resamples of (0, 1) have means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4."""
    interval = confidence_intervals([np.array([0.0, 1.0])], samples=2000)[0]
    assert interval == Interval(0.5, 0.0, 1.0)
    middle = confidence_intervals([np.array([0.0, 1.0])], samples=2000, level=0.4)[0]
    assert middle == Interval(0.5, 0.5, 0.5)


def test_the_interval_matches_the_normal_distribution():
    """The mean of 400 uniform scores has the deviation s / 20."""
    values = scores(1, 400)
    interval = confidence_intervals([values], samples=4000)[0]
    half = 1.96 * values.std() / 20
    # With 4,000 resamples the error of a 2.5 % quantile is about 4 % of the half width.
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


@pytest.mark.parametrize("at_a_time", [1, 41 * 7])
def test_intervals_depend_only_on_the_scores_and_the_seed(monkeypatch, at_a_time):
    first, second = scores(6, 41), scores(7, 41)
    (whole,) = confidence_intervals([first], samples=50)
    assert whole != confidence_intervals([first], samples=50, seed=2)[0]
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", at_a_time)
    assert confidence_intervals([second, first], samples=50)[1] == whole


def test_segments_are_drawn_uniformly(monkeypatch):
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 64)
    means = np.concatenate(list(resampling._resampled_means(np.eye(8), 2000, 1)), 1)
    assert means.shape == (8, 2000)
    np.testing.assert_allclose(means.sum(0), 1)  # one draw of 8 adds 1/8 somewhere
    np.testing.assert_allclose(means.mean(1), 1 / 8, atol=0.012)  # 4 deviations


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_scores_that_are_not_finite_are_refused(bad, side):
    systems = [scores(12), scores(13)]
    systems[side][6] = bad
    for call in (lambda: confidence_intervals(systems), lambda: paired_p_value(*systems)):
        with pytest.raises(ValueError, match=rf"{side + 1}.*{bad}.*7"):
            call()


@pytest.mark.parametrize(("sizes", "named"), [([], "systems"), ([0], "0"), ([3, 2], "2, 3")])
def test_intervals_need_equal_numbers_of_segments(sizes, named):
    with pytest.raises(ValueError, match=named):
        confidence_intervals([np.zeros(size) for size in sizes])
