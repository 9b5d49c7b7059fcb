"""Significance of the difference between two models on the same examples.

All tests are two-sided. Accuracies, F1 and correlations are compared by the paired permutation
test. Correlations with human scores are also compared by Steiger's test for dependent correlations,
as in the thesis (3.5.3, Table 9).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from paraphrastic_hf.errors import DataError, RecipeError, nearest_name
from paraphrastic_hf.evaluation.measures.judged import JudgedTask, OfDataset, Ranked
from paraphrastic_hf.evaluation.measures.similarity import pearson, spearman
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.suites.pairs import PairsTask
from paraphrastic_hf.io.markdown import bold, markdown_table
from paraphrastic_hf.metrics.resampling import difference_interval, p_text, p_value

COMPARED = (PairsTask, JudgedTask)  # tasks with results for each example
CORRELATIONS = {"pearson": pearson, "spearman": spearman}
OPPOSITE = 1e-12  # a correlation this close to 1 or -1 counts as 1 or -1
SMALLEST = 1e-200  # replaces a variance of 0


@dataclass(frozen=True)
class Difference:
    """Two models compared on one dataset.

    Scores are x 100. `low` and `high` are the 95 % interval of `second` minus `first`.
    """

    group: str
    name: str
    pairs: int  # or other examples
    measure: str  # pearson, spearman, accuracy or F1
    first: float
    second: float
    permutation: float  # p-value of the permutation test
    steiger: float  # p-value of Steiger's test, NaN for fewer than four pairs or no correlation
    low: float = float("nan")
    high: float = float("nan")


def compare_encoders(
    first: Any,
    second: Any,
    suite: str | Sequence[str],
    data_dir: str | Path,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> tuple[list[Difference], dict[str, str]]:
    """Compare two encoders on the datasets of suites, named as in `evaluation/registry.py`.

    The datasets are scored by a correlation, accuracy or F1. Return a comparison for each dataset,
    and the reason for each skipped task.
    """
    suites = [suite] if isinstance(suite, str) else list(suite)
    tasks = {name: task for one in suites for name, task in _compared_tasks(one).items()}
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    for name, task in tasks.items():
        try:
            a, b = (task.judged(encoder, Path(data_dir)) for encoder in (first, second))
        except DataError as error:
            skipped[name] = str(error)
            continue
        differences += compare_judged(a, b, samples=samples, seed=seed)
    if not differences:
        asked = f"suite{'s' * (len(suites) > 1)} {' and '.join(suites)}"
        raise DataError(f"No data for the {asked}: {'; '.join(skipped.values())}")
    return differences, skipped


def _compared_tasks(suite: str) -> dict[str, PairsTask | JudgedTask]:
    if suite not in SUITES:
        known = nearest_name(suite, _names().split(", "))
        raise RecipeError(f"No suite named {suite!r} can be compared. {known}")
    tasks = {n: task for n, task in SUITES[suite].tasks.items() if isinstance(task, COMPARED)}
    if not tasks:
        raise RecipeError(f"{suite} has no scores of single examples. Use one of {_names()}")
    return tasks


def compare_judged(
    first: Sequence[OfDataset], second: Sequence[OfDataset], *, samples: int = 1000, seed: int = 1
) -> list[Difference]:
    """Compare two encoders on every dataset, with p-values and the interval of the difference.

    `samples` is the number of random permutations and of bootstrap resamples.
    """
    differences = []
    for a, b in zip(first, second, strict=True):
        permutation = p_value(a, b, samples=samples, seed=seed)
        at = difference_interval(a, b, samples=samples, seed=seed)
        about = (a.group, a.name, len(a), a.measure, a.score, b.score, permutation)
        differences.append(Difference(*about, _steiger(a, b), at.low, at.high))
    return differences


def _steiger(first: OfDataset, second: OfDataset) -> float:
    """Return the p-value of Steiger's test, or NaN if the measure is not a correlation."""
    if isinstance(first, Ranked) and isinstance(second, Ranked) and first.measure in CORRELATIONS:
        between = CORRELATIONS[first.measure](first.cosines, second.cosines)
        return steiger_p_value(first.score / 100, second.score / 100, between / 100, len(first))
    return float("nan")


def significance_table(differences: Sequence[Difference], names: tuple[str, str]) -> list[str]:
    """Return the comparison as lines of Markdown, with p-values below 0.05 in bold."""
    columns = ["group", "dataset", "size", "score", *names]
    columns += ["difference", "95 %", "p (permutation)", "p (Steiger)"]
    rows = [
        [
            *(each.group, each.name, f"{each.pairs:,}", each.measure),
            *(f"{each.first:.1f}", f"{each.second:.1f}", _signed(each.second - each.first)),
            f"{_signed(each.low)} to {_signed(each.high)}",
            *(_p_cell(p) for p in (each.permutation, each.steiger)),
        ]
        for each in differences
    ]
    return markdown_table(columns, rows, "llrlrrrrrr")


def mean_difference(differences: Sequence[Difference]) -> tuple[float, int]:
    """Average the absolute score differences of two encoders over the STS datasets of 2012-2016.

    The thesis uses it to measure how much equally good models differ (4.5.6, Table 34). Return the
    mean in points (NaN without datasets), and the number of datasets.
    """
    found = [abs(each.second - each.first) for each in differences if each.group.isdecimal()]
    return (float(np.mean(found)) if found else float("nan")), len(found)


def steiger_p_value(first: float, second: float, between: float, size: int) -> float:
    """Return the two-sided p-value of two predictions' correlations with the gold scores.

    This is Williams's T2, as Steiger (1980) recommends, with n - 3 degrees of freedom:

        t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 |R| (n - 1) / (n - 3) + m^2 (1 - r23)^3))

    where |R| is the determinant of the matrix of the three correlations and m the mean of r12 and
    r13. The test assumes normal variables. For skewed variables the p-values are too small, even
    with many examples. For Spearman's rho the test is an approximation. `first` is r12, `second`
    r13, `between` r23 and `size` n. With fewer than four examples the result is NaN.
    """
    if size < 4:
        return float("nan")
    if first == second or between > 1 - OPPOSITE:
        return 1.0
    if between < OPPOSITE - 1:  # then r13 = -r12, and t is the one for a single correlation
        t = abs(first) * np.sqrt((size - 3) / max(1 - first**2, SMALLEST))
        return float(2 * stats.t.sf(t, size - 3))
    determinant = max(
        0.0, 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    )  # rounding can make it negative
    variance = 2 * determinant * (size - 1) / (size - 3)
    variance += ((first + second) / 2) ** 2 * (1 - between) ** 3
    variance = max(variance, SMALLEST)
    t = abs(first - second) * np.sqrt((size - 1) * (1 + between) / variance)
    return float(2 * stats.t.sf(t, size - 3))


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0.0:+.1f}"  # no -0.0


def _p_cell(p: float) -> str:
    text = "<0.001" if p < 0.001 else p_text(p)
    return bold(text) if p < 0.05 else text


def _names() -> str:
    return ", ".join(
        name
        for name, suite in SUITES.items()
        if any(isinstance(task, COMPARED) for task in suite.tasks.values())
    )
