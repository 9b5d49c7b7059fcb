"""Learning curves: development scores by amount of training data (thesis, 3.7.4, Figure 2)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, curves_figure
from paraphrastic_hf.config.recipe import read_mapping
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.training.engine.score_units import scored_on

NEARLY = 0.99  # share of the best score that counts as near the best
LOG = "logs/train.jsonl"
GIVE = "Pass a folder that `paraphrastic train --output` wrote"


@dataclass(frozen=True)
class Curve:
    """The development scores of one run."""

    name: str
    development: str
    unit: str  # of the scores
    counts: str  # unit of `seen`: pairs, examples or steps
    seen: list[int]  # amount of training data before each evaluation
    scores: list[float]

    @property
    def best(self) -> float:
        return max(self.scores)

    def seen_until(self, score: float) -> int:
        """Return the amount of training data at the first evaluation with at least `score`."""
        return next(n for n, value in zip(self.seen, self.scores, strict=True) if value >= score)


def read_curve(run: str | Path, name: str) -> Curve:
    """Read the development scores of a run of `paraphrastic train`, finished or not."""
    run = Path(run)
    recipe, evaluations = read_evaluations(run)
    try:
        development, unit = scored_on(recipe)
        if "batch_tokens" in recipe["training"]:
            batch, counts = 1, "steps"
        else:
            batch = int(recipe["training"]["batch_size"])
            counts = "examples" if "task" in recipe else "pairs"
    except (KeyError, TypeError) as error:
        raise DataError(f"{run}/recipe.yaml lacks {error}. {GIVE}") from error
    scored = [entry for entry in evaluations if "development" in entry]
    seen = [entry["step"] * batch for entry in scored]
    scores = [float(entry["development"]) for entry in scored]
    if not scores:
        raise DataError(
            f"{run} has no development score in {LOG}. Train again with --run.development clean, "
            "and set --run.evaluate_every to the number of steps between evaluations"
        )
    return Curve(name, development, unit, counts, seen, scores)


def read_evaluations(run: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the recipe of a run, finished or not, and the entries of its log in order."""
    run = Path(run)
    try:
        recipe = read_mapping(run / "recipe.yaml")
        logged = (run / LOG).read_text(encoding="utf-8").splitlines()
    except (OSError, RecipeError) as error:
        raise DataError(f"Cannot read recipe.yaml and {LOG} of {run}: {error}. {GIVE}") from error
    entries = []
    for line in logged:
        try:
            entries.append(json.loads(line))
        except ValueError:  # the last line of a killed run may be cut
            continue
    return recipe, entries


def convergence(runs: Mapping[str, str | Path]) -> Analysis:
    """Plot the learning curves of runs, and list when each run is near its best score."""
    curves = [read_curve(run, name) for name, run in runs.items()]
    first = curves[0]
    for kinds, what in (
        ({each.development: each.name for each in curves}, "are scored on different sets"),
        ({each.counts: each.name for each in curves}, "count training in different units"),
    ):
        if len(kinds) > 1:
            named = ", ".join(f"{name} ({kind})" for kind, name in kinds.items())
            raise DataError(f"Cannot compare runs that {what}: {named}")
    rows: list[list[Cell]] = []
    for curve in curves:
        near = curve.seen_until(curve.best - (1 - NEARLY) * abs(curve.best))
        best = curve.seen_until(curve.best)
        rows.append([curve.name, curve.seen[0], curve.scores[0], curve.best, best, near])
    columns = ["run", "first at", "first score", "best score", "best at", "99 % of it at"]
    points: list[list[Cell]] = [
        [curve.name, seen, score]
        for curve in curves
        for seen, score in zip(curve.seen, curve.scores, strict=True)
    ]
    return Analysis(
        "convergence",
        f"Convergence: {first.development} over the {first.counts} seen",
        [
            Table("runs", f"Runs; {first.unit}, and {first.counts} seen", columns, rows),
            Table("points", "Points", ["run", first.counts, "score"], points, False),
        ],
        curves_figure(
            {curve.name: (curve.seen, curve.scores) for curve in curves},
            f"{first.counts} seen",
            f"{first.development}, {first.unit}",
            size=(7.5, 4.5),
            log=True,
        ),
        []
        if first.counts == "steps"
        else ["Every repetition of a pair counts. The last mini-batch of an epoch counts as full."],
        {"runs": [str(run) for run in runs.values()]},
    )
