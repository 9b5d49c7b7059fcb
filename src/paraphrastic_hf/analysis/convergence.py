"""How fast models learn: development scores by the number of training pairs seen, from the logs of
runs (thesis, 3.7.4, Figure 2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paraphrastic_hf.analysis.report import COLOURS, Analysis, Cell, Table, new_figure, plain_axes
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.recipe import read_mapping

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEARLY = 0.99  # a score is near the best if it is this share of it
LOG = "logs/train.jsonl"


@dataclass(frozen=True)
class Curve:
    """The development scores of one run.

    Attributes:
        name: The name of the run.
        development: The development set.
        pairs: How many pairs had been seen at each evaluation.
        scores: Pearson's r x 100 at each evaluation.
    """

    name: str
    development: str
    pairs: list[int]
    scores: list[float]

    @property
    def best(self) -> float:
        """The highest score of the run."""
        return max(self.scores)

    def pairs_until(self, score: float) -> int:
        """Return how many pairs had been seen when a score was first reached."""
        return next(n for n, value in zip(self.pairs, self.scores, strict=True) if value >= score)


def read_curve(run: str | Path, name: str | None = None) -> Curve:
    """Read the development scores of a run, finished or not.

    Args:
        run: Output directory of `paraphrastic train`.
        name: What to call the run; if None, the name of the directory.

    Raises:
        DataError: The folder holds no log of `paraphrastic train`, or no development score.
    """
    run = Path(run)
    try:
        recipe = read_mapping(run / "recipe.yaml")
        lines = (run / LOG).read_text(encoding="utf-8").splitlines()
        batch, development = recipe["training"]["batch_size"], recipe["run"]["development"]
    except (OSError, RecipeError, KeyError, TypeError) as error:
        raise DataError(
            f"{run} holds no recipe.yaml and {LOG} to read ({error}); give the --output of "
            "`paraphrastic train`"
        ) from error
    pairs, scores = [], []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            continue
        if "development" in entry:
            pairs.append(entry["step"] * batch)
            scores.append(float(entry["development"]))
    if not scores:
        raise DataError(
            f"{run} has no development score in {LOG}: train with --development clean, and "
            "--evaluate_every as often as the curve shall have points"
        )
    return Curve(name or run.name, development, pairs, scores)


def convergence(runs: Mapping[str, str | Path] | Sequence[str | Path]) -> Analysis:
    """Draw the curves of several runs in one plot, and say how soon each is near its best score.

    Args:
        runs: Output directories of `paraphrastic train`, by the names of the runs; or a list of
            directories, whose own names the runs then have.

    Raises:
        DataError: A run has no log or no development score, the runs were scored on different
            sets, or two of them have one name.
    """
    if not isinstance(runs, Mapping):
        named = {Path(run).name: run for run in runs}
        if len(named) < len(runs):
            raise DataError("two runs have one name; rename a directory, or give names to runs")
        runs = named
    curves = [read_curve(run, name) for name, run in runs.items()]
    sets = {curve.development: curve.name for curve in curves}
    if len(sets) > 1:
        scored = ", ".join(f"{name} on {development}" for development, name in sets.items())
        raise DataError(f"the runs are scored on different sets, which do not compare: {scored}")
    rows: list[list[Cell]] = []
    for curve in curves:
        near = curve.pairs_until(curve.best - (1 - NEARLY) * abs(curve.best))
        best = curve.pairs_until(curve.best)
        rows.append([curve.name, curve.pairs[0], curve.scores[0], curve.best, best, near])
    columns = ["run", "first at", "first score", "best score", "best at", "99 % of it at"]
    points: list[list[Cell]] = [
        [curve.name, pairs, score]
        for curve in curves
        for pairs, score in zip(curve.pairs, curve.scores, strict=True)
    ]
    return Analysis(
        "convergence",
        f"Convergence: {curves[0].development} over the pairs seen",
        [
            Table("runs", "Runs; Pearson r x 100, and pairs seen", columns, rows),
            Table("points", "Points", ["run", "pairs", "score"], points, False),
        ],
        _figure(curves),
        ["A pair counts each time it is seen; the last mini-batch of an epoch as a whole one."],
        {"runs": [str(run) for run in runs.values()]},
    )


def _figure(curves: Sequence[Curve]) -> Figure:
    figure = new_figure(7.5, 4.5)
    axes = figure.add_subplot()
    for number, curve in enumerate(curves):
        axes.plot(
            curve.pairs, curve.scores, marker="o", markersize=3.5, linewidth=1.6, alpha=0.8,
            linestyle=("-", "--", ":")[number // len(COLOURS) % 3],
            color=COLOURS[number % len(COLOURS)], label=curve.name,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlabel("pairs seen")
    axes.set_ylabel(f"{curves[0].development}, Pearson r x 100")
    plain_axes(axes)
    axes.legend(frameon=False, fontsize=8)
    return figure
