"""Expected costs of translations during minimum risk training (thesis, 7.5.2, Figure 12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from paraphrastic_hf.analyses.convergence import GIVE, LOG, read_evaluations
from paraphrastic_hf.analyses.report import Analysis, Cell, Table
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.plots import lines, new_figure

COSTS = {"simile": "SimiLE", "bleu": "BLEU"}
LOGGED = "expected_cost"  # log key of the trained cost. For other costs: expected_cost_NAME.


@dataclass(frozen=True)
class Costs:
    """The expected costs of one run."""

    name: str
    trained_by: str  # the cost that training minimizes, such as `simile`
    steps: list[int]
    by: dict[str, list[float | None]]  # expected cost x 100 at each evaluation, by kind of cost


def read_costs(run: str | Path, name: str) -> Costs:
    """Read the expected costs of a run of minimum risk training, finished or not."""
    recipe, entries = read_evaluations(run)
    evaluations = [entry for entry in entries if LOGGED in entry]
    if not evaluations:
        raise DataError(
            f"{run} has no {LOGGED} in {LOG}. {GIVE} with a recipe of kind minimum_risk, and set "
            "--run.evaluate_every to the number of steps between evaluations"
        )
    own = str(recipe["cost"]["metric"])
    by = {
        cost: [entry.get(LOGGED if cost == own else f"{LOGGED}_{cost}") for entry in evaluations]
        for cost in COSTS
    }
    return Costs(name, own, [entry["step"] for entry in evaluations], by)


def expected_costs(runs: Mapping[str, str | Path]) -> Analysis:
    """Plot and list the expected SimiLE cost and BLEU cost of runs of `paraphrastic train`."""
    found = [read_costs(run, name) for name, run in runs.items()]
    rows: list[list[Cell]] = [
        [each.name, each.trained_by, float(step), *(each.by[cost][number] for cost in COSTS)]
        for each in found
        for number, step in enumerate(each.steps)
    ]
    columns = ["run", "trained by", "steps", *(f"by {name}" for name in COSTS.values())]
    return Analysis(
        "expected-costs",
        "Expected cost of the candidates of held-out sentences",
        [Table("costs", "Expected costs x 100; lower is better", columns, rows)],
        _figure(found),
        ["Runs are comparable if they start from the same model and hold out the same pairs."],
        {"runs": [str(run) for run in runs.values()]},
    )


def _figure(runs: Sequence[Costs]) -> Figure:
    figure = new_figure(12, 4)
    for axes, (cost, title) in zip(figure.subplots(1, 2), COSTS.items(), strict=True):
        curves = {}
        for run in runs:
            known = [(s, c) for s, c in zip(run.steps, run.by[cost], strict=True) if c is not None]
            if known:
                steps, costs = zip(*known, strict=True)
                curves[f"{run.name}, by {run.trained_by}"] = (steps, costs)
        lines(axes, curves, "step", "", f"cost by {title}, x 100", counts="x")
    return figure
