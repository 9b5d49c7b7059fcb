from itertools import product

import numpy as np
import pytest

from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.metrics import resampling
from paraphrastic_hf.metrics.corpus_bleu import BleuCounts
from paraphrastic_hf.metrics.resampling import (
    Interval,
    Means,
    confidence_interval,
    p_text,
    p_value,
    resampled_scores,
)
from tests.evaluation.made_pairs import correlation_p_value


def scores(seed: int, segments: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, segments)


def of_mean_scores(first: np.ndarray, second: np.ndarray, **options: int) -> float:
    return p_value(Means(first), Means(second), **options)


def of_two_parts(rows: np.ndarray) -> Judged:
    """An F1 with two parts, from gains and possible gains, (examples, 4)."""
    return Judged("", "", "F1", *np.split(rows.T, 2))


@pytest.mark.parametrize("make", [lambda rows: Means(rows[:, 0]), of_two_parts])
@pytest.mark.parametrize("examples", [1, 2, 5, 9])
def test_p_of_few_examples_is_the_share_of_all_exchanges(make, examples):
    """Oracle: the scores after each exchange of the results of two systems."""
    random = np.random.default_rng(examples)
    rows = random.integers(0, 5, size=(2, examples, 4)) + random.random((2, examples, 4))
    differences = []
    for exchanged in product((False, True), repeat=examples):
        one = np.where(np.array(exchanged)[:, None], *rows[::-1])
        other = np.where(np.array(exchanged)[:, None], *rows)
        differences.append(abs(make(one).score - make(other).score))
    expected = np.mean(np.array(differences) >= differences[0] - 1e-9)
    sides = make(rows[0]), make(rows[1])
    assert p_value(*sides) == p_value(*sides[::-1]) == expected


@pytest.mark.slow
def test_many_draws_approach_all_exchanges(monkeypatch):
    first, second = scores(3, 12), scores(4, 12)
    exact = of_mean_scores(first, second)
    monkeypatch.setattr(resampling, "EXACT", 0)
    drawn = of_mean_scores(first, second, samples=40_000)
    assert drawn == pytest.approx(exact, abs=4 * (exact / 40_000) ** 0.5)
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 12 * 7)
    assert of_mean_scores(first, second, samples=40_000) == drawn


@pytest.mark.parametrize("segments", [6, 60])
def test_equal_means_up_to_rounding_have_p_1(segments):
    first = scores(5, segments)
    for second in (first, first[::-1], np.roll(first, 3) * (1 + 1e-15), first * (1 + 1e-15)):
        assert of_mean_scores(first, second) == 1


def of_means(random: np.random.Generator, segments: int) -> float:
    return of_mean_scores(*random.normal(size=(2, segments)), samples=200)


def of_accuracies(random: np.random.Generator, segments: int) -> float:
    right = (random.random((2, 1, segments)) < 0.7).astype(float)
    sides = (Judged("", "", "accuracy", each, np.ones_like(each)) for each in right)
    return p_value(*sides, samples=200)


def of_bleu(random: np.random.Generator, segments: int) -> float:
    there = random.integers(4, 30, segments)[:, None] - np.arange(4)
    matching = random.binomial(there, [0.6, 0.4, 0.25, 0.2], size=(2, segments, 4))
    lengths = np.broadcast_to(there[:, :1], (2, segments, 2))
    of_both = np.broadcast_to(there, matching.shape)
    sides = [BleuCounts([], []) for _ in range(2)]
    for side, rows in zip(sides, np.concatenate([lengths, matching, of_both], axis=2), strict=True):
        side.rows = rows.astype(np.float64)
    return p_value(*sides, samples=200)


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


def test_the_lowest_p_value_of_many_segments_is_one_in_samples_plus_one():
    first = scores(8)
    assert of_mean_scores(first + 0.01, first) == of_mean_scores(first, first + 0.01) == 1 / 1001


def test_p_values_are_formatted():
    values = (1 / 6, 1 / 1001, 2 / 100_001, 1.0, None, float("nan"))
    assert [p_text(value) for value in values] == ["0.167", "0.001", "2e-05", "1.000", "", ""]


def test_two_segments_by_hand():
    """Resamples of (0, 1) have means 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4."""
    interval = confidence_interval(Means(np.array([0.0, 1.0])), samples=2000)
    assert interval == Interval(0.5, 0.0, 1.0)


def test_the_interval_matches_the_normal_distribution():
    """The mean of 400 uniform scores has the deviation s / 20."""
    values = scores(1, 400)
    interval = confidence_interval(Means(values), samples=4000)
    half = 1.96 * values.std() / 20
    # With 4,000 resamples the error of a 2.5 % quantile is about 4 % of the half width.
    assert interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


@pytest.mark.parametrize("at_a_time", [1, 41 * 7])
def test_resamples_depend_only_on_the_scores_and_the_seed(monkeypatch, at_a_time):
    results = Means(scores(6, 41))
    whole = resampled_scores(results, samples=50)
    assert (whole != resampled_scores(results, samples=50, seed=2)).any()
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", at_a_time)
    np.testing.assert_allclose(resampled_scores(results, samples=50), whole, rtol=1e-12)


def test_examples_are_drawn_uniformly(monkeypatch):
    monkeypatch.setattr(resampling, "DRAWS_AT_A_TIME", 64)
    means = np.stack([resampled_scores(Means(row), samples=2000) for row in np.eye(8)])
    np.testing.assert_allclose(means.sum(0), 1)  # one draw of 8 adds 1/8 somewhere
    np.testing.assert_allclose(means.mean(1), 1 / 8, atol=0.012)  # 4 deviations


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match=f"system 2.*{bad}.*7"):
        Means(np.array([*scores(12)[:6], bad, 1.0]), "score of system 2")
