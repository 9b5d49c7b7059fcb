from itertools import product

import numpy as np
import pytest
from scipy import stats

from paraphrastic_hf import evaluate
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.evaluation.significance import (
    Difference,
    compare_encoders,
    mean_difference,
    significance_table,
    steiger_p_value,
)
from tests.evaluation.made_pairs import Constant, Lengths, Letters, correlation_p_value


@pytest.mark.parametrize(
    ("first", "second", "between", "size", "t"),
    [
        (0.80, 0.72, 0.89, 26, 1.361),  # Howell, Statistical Methods for Psychology, 6th ed., 262
        (0.40, 0.50, 0.10, 103, 0.891),  # |R| = 0.62, m = 0.45: sqrt(112.2 / 1.41242) * 0.1
    ],
)
def test_steiger_agrees_with_worked_examples(first, second, between, size, t):
    expected = 2 * stats.t.sf(t, size - 3)
    found = steiger_p_value(first, second, between, size)
    assert found == pytest.approx(expected, rel=2e-3)
    assert steiger_p_value(second, first, between, size) == found


def test_steiger_of_extreme_correlations():
    assert steiger_p_value(0.5, 0.5, 1.0, 100) == 1
    assert np.isnan(steiger_p_value(0.5, 0.4, 0.3, 3))
    assert steiger_p_value(1.0, -1.0, -1.0, 10) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("r", "size"), [(0.3, 20), (1e-9, 20), (-0.9, 8)])
def test_opposite_predictions_have_the_test_of_one_correlation(r, size):
    expected = 2 * stats.t.sf(abs(r) * np.sqrt((size - 3) / (1 - r * r)), size - 3)
    assert steiger_p_value(r, -r, -1.0, size) == pytest.approx(expected)
    near = steiger_p_value(r, -r, -1.0 + 1e-7, size)  # the general equation near its limit
    assert near == pytest.approx(expected, rel=1e-3)


def test_equal_predictions_up_to_scale_have_p_1(sts_folder):
    assert steiger_p_value(0.5, np.nextafter(0.5, 1), 1.0, 100) == 1
    gold, one = np.random.default_rng(9).normal(size=(2, 50))
    for other in (one, one * 3.1 + 0.7):
        assert correlation_p_value(one, other, gold) == 1
    assert correlation_p_value(np.ones(50), np.zeros(50), gold) == 1
    differences, _ = compare_encoders(Letters(), Letters(), "sts17", sts_folder, samples=20)
    assert {(each.permutation, each.steiger) for each in differences} == {(1.0, 1.0)}
    differences, _ = compare_encoders(Letters(), Constant(), "sts17", sts_folder, samples=20)
    assert {each.second for each in differences} == {0.0}


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(bad, place):
    sides = np.random.default_rng(5).normal(size=(3, 9))
    sides[place, 4] = bad
    with pytest.raises(ValueError, match=rf"{bad}.* 5"):
        correlation_p_value(*sides)


@pytest.mark.parametrize("measure", ["pearson", "spearman"])
def test_the_permutation_test_equals_a_slow_loop(measure):
    """Oracle: numpy's correlations after each exchange of standardized predictions or ranks."""
    random = np.random.default_rng(7)
    gold = random.normal(size=7)
    first, second = gold + random.normal(size=7), gold + 1.4 * random.normal(size=7)
    sides = np.stack([first, second, gold])
    if measure == "spearman":
        sides = stats.rankdata(sides, axis=1)
    one, other, right = stats.zscore(sides, axis=1)
    differences = []
    for exchanged in product((True, False), repeat=7):
        pair = np.where(exchanged, one, other), np.where(exchanged, other, one)
        differences.append(np.subtract(*(np.corrcoef(each, right)[0, 1] for each in pair)))
    expected = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)
    assert 0 < expected < 1
    assert correlation_p_value(first, second * 0.01 + 3, gold, measure=measure) == expected


def test_scores_are_those_of_the_evaluation(sts_folder):
    differences, skipped = compare_encoders(Letters(), Lengths(), "sts", sts_folder, samples=50)
    assert not skipped
    assert len(differences) == 25 + 2 + 7
    for side, encoder in (("first", Letters()), ("second", Lengths())):
        rows = evaluate(encoder, "sts", sts_folder)["rows"]
        scores = {(row["group"], row["name"]): row["scores"]["pearson"] for row in rows}
        for each in differences:
            assert getattr(each, side) == pytest.approx(scores[each.group, each.name])
    assert all(each.first > each.second for each in differences)
    assert all(each.permutation < 0.5 for each in differences)


def test_unknown_or_unsuitable_suites_are_errors(sts_folder, tmp_path):
    for suite in ("wrods", "wmt-da"):
        with pytest.raises(RecipeError):
            compare_encoders(Letters(), Lengths(), suite, sts_folder)
    with pytest.raises(DataError):
        compare_encoders(Letters(), Lengths(), "words", tmp_path)


def test_the_table_marks_significant_differences():
    none = float("nan")
    rows = [
        Difference("g", "x", 1000, "pearson", 50.0, 61.25, 1 / 1001, 0.04, 9, 13),
        Difference("g", "y", 90, "pearson", 50.0, 49.99, 0.5, 0.0001, -1, 1),
        Difference("g", "z", 3, "pearson", 50.0, 60.0, 1 / 4, none, -0.01, 20),
    ]
    table = significance_table(rows, ("a", "b"))
    cells = [[cell.strip() for cell in row.strip("|").split("|")[4:]] for row in table[2:]]
    assert cells == [
        ["50.0", "61.2", "+11.2", "+9.0 to +13.0", "**<0.001**", "**0.040**"],
        ["50.0", "50.0", "+0.0", "-1.0 to +1.0", "0.500", "**<0.001**"],
        ["50.0", "60.0", "+10.0", "+0.0 to +20.0", "0.250", ""],
    ]


def test_the_mean_difference_is_absolute_and_over_years_only():
    """3, 1 and 2 points. STS-B has no year."""
    made = [("2012", 60.0, 63.0), ("2013", 50.0, 49.0), ("2016", 70.0, 72.0), ("STS-B", 10.0, 90.0)]
    rows = [Difference(g, "x", 9, "pearson", a, b, 0.5, 0.5) for g, a, b in made]
    assert mean_difference(rows) == (pytest.approx(2.0), 3)
    mean, datasets = mean_difference(rows[3:])
    assert np.isnan(mean)
    assert datasets == 0
