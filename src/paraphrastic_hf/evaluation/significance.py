"""Whether one model scores better than another on the same examples.

Of correlations with people's scores (`evaluation/pairs.py`) there are two one-sided tests:
Steiger's for dependent correlations, as in the thesis (3.5.3, Table 9), and the paired bootstrap
over pairs. Of accuracies and F1 (`evaluation/judged.py`) there is the bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from paraphrastic_hf.data.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError, RecipeError, nearest_name
from paraphrastic_hf.evaluation.judged import Judged, JudgedTask, judged_p_value
from paraphrastic_hf.evaluation.pairs import PairsTask
from paraphrastic_hf.evaluation.similarity import cosines, pearson, spearman
from paraphrastic_hf.evaluation.suites import SUITES
from paraphrastic_hf.markdown import bold, markdown_table
from paraphrastic_hf.metrics.bootstrap import (
    FEWEST,
    ROUNDING,
    check_finite,
    drawn_counts,
    p_text,
    p_value_of,
)

COMPARED = (PairsTask, JudgedTask)  # tasks that know what they think of each example
CORRELATIONS = {"pearson": pearson, "spearman": spearman}
OPPOSITE = 1e-12  # predictions whose correlation is this close to 1 or -1 rank alike
SMALLEST = 1e-200  # in the place of a variance of 0


@dataclass(frozen=True)
class Difference:
    """Two models compared on one dataset.

    Attributes:
        group: The group of the dataset, such as its year.
        name: The name of the dataset.
        pairs: Number of pairs, or of other examples.
        measure: What the score is: a correlation, `pearson` or `spearman`, `accuracy` or `F1`.
        first: Score of the first model, x 100.
        second: Score of the second model, x 100.
        bootstrap: The p-value of the bootstrap; NaN for fewer than five pairs.
        steiger: The p-value of `steiger_p_value`; NaN for fewer than four pairs, and for what is no
            correlation.
        samples: Number of resamples of the bootstrap.
    """

    group: str
    name: str
    pairs: int
    measure: str
    first: float
    second: float
    bootstrap: float
    steiger: float
    samples: int


def compare_encoders(
    first: Any,
    second: Any,
    suite: str | Sequence[str],
    data_dir: str | Path,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> tuple[list[Difference], dict[str, str]]:
    """Compare two encoders on every dataset of one or more suites that allows it.

    A dataset does where its score is a correlation with people's, or an accuracy or F1 that can be
    told example by example.

    Args:
        first: Any object with `encode`.
        second: The encoder to compare it with.
        suite: The name of a suite in `evaluation/suites.py`, or several.
        data_dir: Folder of the official files.
        samples: Number of resamples of the bootstrap, 1 or more.
        seed: Seed of the bootstrap's draws.

    Returns:
        A comparison for each dataset, and for each task that was skipped the reason.

    Raises:
        RecipeError: There is no suite of that name, or none of its tasks can be compared.
        DataError: No task has its data.
        ModelError: `encode` returns something other than finite vectors.
    """
    suites = [suite] if isinstance(suite, str) else list(suite)
    tasks = {name: task for one in suites for name, task in _compared_tasks(one).items()}
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    for name, task in tasks.items():
        try:
            if isinstance(task, JudgedTask):
                a, b = (task.judged(encoder, Path(data_dir)) for encoder in (first, second))
                differences += _compare_judged(a, b, samples, seed)
                continue
            datasets = task.datasets(Path(data_dir))
        except DataError as error:
            skipped[name] = str(error)
            continue
        differences += _compare_pairs(datasets, task.measure, (first, second), samples, seed)
    if not differences:
        asked = f"suite{'s' * (len(suites) > 1)} {' and '.join(suites)}"
        raise DataError(f"no task of the {asked} has its data: {'; '.join(skipped.values())}")
    return differences, skipped


def _compared_tasks(suite: str) -> dict[str, PairsTask | JudgedTask]:
    if suite not in SUITES:
        known = nearest_name(suite, _names().split(", "))
        raise RecipeError(f"there is no suite {suite!r} that can be compared; {known}")
    tasks = {n: task for n, task in SUITES[suite].tasks.items() if isinstance(task, COMPARED)}
    if not tasks:
        raise RecipeError(
            f"the suite {suite} cannot be compared pair by pair; those that can are {_names()}"
        )
    return tasks


def _compare_pairs(
    datasets: Sequence[ScoredPairs],
    measure: str,
    encoders: tuple[Any, Any],
    samples: int,
    seed: int,
) -> list[Difference]:
    """By both tests, on every dataset of scored pairs."""
    sides = (cosines(encoder.encode, datasets) for encoder in encoders)
    differences = []
    for pairs, a, b in zip(datasets, *sides, strict=True):
        gold = np.asarray(pairs.scores, np.float64)
        correlation = CORRELATIONS[measure]
        one, other, between = correlation(a, gold), correlation(b, gold), correlation(a, b)
        bootstrap = bootstrap_p_value(a, b, gold, measure=measure, samples=samples, seed=seed)
        steiger = steiger_p_value(one / 100, other / 100, between / 100, len(pairs))
        about = (pairs.group, pairs.name, len(pairs), measure)
        differences.append(Difference(*about, one, other, bootstrap, steiger, samples))
    return differences


def _compare_judged(
    first: Sequence[Judged], second: Sequence[Judged], samples: int, seed: int
) -> list[Difference]:
    """By the bootstrap, on every dataset of which it is known what was right."""
    differences = []
    for a, b in zip(first, second, strict=True):
        bootstrap = judged_p_value(a, b, samples=samples, seed=seed)
        about = (a.group, a.name, len(a), a.measure)
        differences.append(Difference(*about, a.score, b.score, bootstrap, float("nan"), samples))
    return differences


def significance_table(differences: Sequence[Difference], names: tuple[str, str]) -> list[str]:
    """Return the comparison as lines of Markdown, with p-values below 0.05 in bold.

    A dataset with too few pairs for a test has no p-value; a line below the table says so.
    """
    columns = ["group", "dataset", "size", "score", *names]
    columns += ["difference", "p (bootstrap)", "p (Steiger)"]
    rows = [
        [
            *(each.group, each.name, f"{each.pairs:,}", each.measure),
            *(f"{each.first:.1f}", f"{each.second:.1f}", _signed(each.second - each.first)),
            _bold(each.bootstrap, p_text(each.bootstrap, each.samples)),
            _bold(each.steiger, _steiger_text(each.steiger)),
        ]
        for each in differences
    ]
    lines = markdown_table(columns, rows, "llrlrrrrr")
    if any(each.pairs < FEWEST for each in differences):
        lines += ["", f"Fewer than {FEWEST} pairs cannot be told from chance; they have no p."]
    return lines


def mean_difference(differences: Sequence[Difference]) -> tuple[float, int]:
    """Average the differences of two encoders over the datasets of the STS years, without their
    signs: how unlike two models are that may be equally good (4.5.6, Table 34).

    Args:
        differences: The comparison, as of `compare_encoders`; groups other than years do not count.

    Returns:
        The mean in points, NaN if there is no such dataset, and the number of datasets.

    Example:
        >>> rows = [Difference("2012", "MSRpar", 9, "pearson", 60.0, 63.0, 0.1, 0.1, 10)]
        >>> mean_difference([*rows, Difference("2013", "FNWN", 9, "pearson", 50, 49, 1, 1, 10)])
        (2.0, 2)
    """
    found = [abs(each.second - each.first) for each in differences if each.group.isdecimal()]
    return (float(np.mean(found)) if found else float("nan")), len(found)


def steiger_p_value(first: float, second: float, between: float, size: int) -> float:
    """Estimate how likely two equal correlations with one variable would differ at least so much.

    This is Williams's T2, as Steiger (1980) recommends, with n - 3 degrees of freedom:

        t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 |R| (n - 1) / (n - 3) + m^2 (1 - r23)^3))

    where |R| is the determinant of the three correlations and m the mean of r12 and r13. It is made
    for Pearson's r; for Spearman's rho it is an approximation.

    Args:
        first: Correlation of one prediction with the gold scores, r12, -1 to 1.
        second: Correlation of another prediction with the gold scores, r13, -1 to 1.
        between: Correlation of the two predictions, r23, -1 to 1.
        size: Number of examples, n.

    Returns:
        The one-sided p-value in favour of the higher correlation, 0 to 0.5; 1 for equal
        correlations, NaN for fewer than four examples.

    Raises:
        ValueError: A correlation is NaN, or not from -1 to 1.

    Example:
        >>> round(2 * steiger_p_value(0.80, 0.72, 0.89, 26), 3)  # t = 1.361
        0.187
    """
    for value in (first, second, between):
        if not abs(value) <= 1 + OPPOSITE:
            raise DataError(f"a correlation must be from -1 to 1, got {value}")
    if size < 4:
        return float("nan")
    if first == second or between > 1 - OPPOSITE:
        return 1.0
    if between < OPPOSITE - 1:  # then r13 = -r12, and t becomes that of one correlation
        t = abs(first) * np.sqrt((size - 3) / max(1 - first**2, SMALLEST))
        return float(stats.t.sf(t, size - 3))
    determinant = max(
        0.0, 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    )  # rounding can make it negative
    variance = 2 * determinant * (size - 1) / (size - 3)
    variance += ((first + second) / 2) ** 2 * (1 - between) ** 3
    variance = max(variance, SMALLEST)
    t = abs(first - second) * np.sqrt((size - 1) * (1 + between) / variance)
    return float(stats.t.sf(t, size - 3))


def bootstrap_p_value(
    first: np.ndarray,
    second: np.ndarray,
    gold: np.ndarray,
    *,
    measure: str = "pearson",
    samples: int = 1000,
    seed: int = 1,
) -> float:
    """Estimate how likely the better prediction is not better on other examples of the kind.

    This is (k + 1) / (n + 1), where in k of n resamples of the examples, drawn with replacement,
    the prediction with the higher correlation does not have it (`metrics/bootstrap.py`).

    Args:
        first: One prediction, (examples,).
        second: Another prediction, (examples,).
        gold: The gold scores, (examples,).
        measure: `pearson` or `spearman`; ranks are computed anew in every resample.
        samples: Number of resamples, 1 or more.
        seed: Seed of the draws.

    Returns:
        The one-sided p-value, 1 / (samples + 1) to 1; 1 for equal correlations, NaN for fewer than
        five examples, which no test can tell from chance.

    Raises:
        ValueError: The three differ in length or are empty, one holds a number that is not finite,
            or `samples` is less than 1.
    """
    if not len(first) == len(second) == len(gold) or len(gold) == 0:
        raise ValueError(
            "both predictions need a value for each gold score, "
            f"got {len(first)}, {len(second)} and {len(gold)}"
        )
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, got {samples}")
    values = np.stack([np.asarray(each, np.float64) for each in (first, second, gold)])
    for name, row in zip(("the first prediction", "the second", "gold"), values, strict=True):
        check_finite(name, row)
    if len(gold) < FEWEST:
        return float("nan")
    correlation = CORRELATIONS[measure]
    difference = (correlation(values[0], values[2]) - correlation(values[1], values[2])) / 100
    if abs(difference) <= ROUNDING:
        return 1.0
    lost = 0
    for counts in drawn_counts(len(gold), samples, seed):
        drawn = resampled_correlations(values, counts, measure)
        lost += int(((drawn[0] - drawn[1]) * np.sign(difference) <= ROUNDING).sum())
    return p_value_of(lost, samples)


def resampled_correlations(values: np.ndarray, counts: np.ndarray, measure: str) -> np.ndarray:
    """Correlate predictions with gold scores in every resample.

    Args:
        values: The predictions, and last the gold scores, (predictions + 1, examples).
        counts: How often each example is in each resample, (samples, examples).
        measure: `pearson` or `spearman`.

    Returns:
        The correlations, -1 to 1, (predictions, samples); 0 where a side is constant.
    """
    if measure == "spearman":
        resampled = [_ranks(row, counts) for row in values]  # (samples, examples) each
    else:
        resampled = [np.broadcast_to(row, counts.shape) for row in values]
    size = counts.sum(1, keepdims=True)
    centred = [row - (row * counts).sum(1, keepdims=True) / size for row in resampled]
    squares = [(row * row * counts).sum(1) for row in centred]
    scales = [(row * row * counts).sum(1) for row in resampled]
    found = np.zeros((len(values) - 1, len(counts)))
    for i in range(len(values) - 1):
        varies = (squares[i] > 1e-20 * scales[i]) & (squares[-1] > 1e-20 * scales[-1])
        product = (centred[i] * centred[-1] * counts).sum(1)
        found[i, varies] = product[varies] / np.sqrt(squares[i] * squares[-1])[varies]
    return found


def _ranks(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The rank of each example in each resample, (samples, examples); equal ones share the mean."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    members = np.add.reduceat(counts[:, order], starts, axis=1)  # (samples, distinct values)
    upto = members.cumsum(1)
    return np.asarray((upto - (members - 1) / 2)[:, group])


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # no -0.0


def _steiger_text(value: float) -> str:
    if np.isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _bold(value: float, text: str) -> str:
    return bold(text) if value < 0.05 else text


def _names() -> str:
    return ", ".join(
        name
        for name, suite in SUITES.items()
        if any(isinstance(task, COMPARED) for task in suite.tasks.values())
    )
