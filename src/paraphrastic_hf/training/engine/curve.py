"""Plot of a run's loss, learning rate and development score by step.

The plot depends only on the log (`log.py`) and the recipe, so a resumed run gives the same plot.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import read_mapping
from paraphrastic_hf.evaluation.report import OWN, plain_axes
from paraphrastic_hf.hub.trained import PICTURE
from paraphrastic_hf.io.files import remove, replacing
from paraphrastic_hf.training.engine.score_units import are_negatives_chosen, scored_on

RATE, SCORE = "lr", "development"
NO_CURVES = ("step", "epoch", "seconds")
MARKED = 30  # curves with fewer points than this have markers
WIDTH, COLUMN = 7.0, 1.3  # width in inches of the panels and of a legend column beside them
FEW, LINE = 5, 0.14  # most names in a legend within its panel, and inches per name beside it
DASHES = ("-", "--", ":", "-.")  # distinguish curves of the same color


@dataclass(frozen=True)
class Curve:
    """One logged quantity.

    Attributes:
        steps: Number of optimizer steps since training began, for each value.
        values: Logged values. For losses, the mean since the previous log line.
        is_part: Whether the quantity is logged in every line with the loss, as the parts of the
            loss are. Other quantities are logged less often.
    """

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    is_part: bool = field(default=True, repr=False)


def read_curves(log: str | Path) -> dict[str, Curve]:
    """Read the curves of a run from its log, by name.

    Args:
        log: The file `logs/train.jsonl` of a finished run.

    Returns:
        The curves `loss`, `lr`, `development` and the parts of the loss, if logged.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        ...     _ = file.write('{"step": 100, "loss": 0.4, "lr": 0.001}'), file.flush()
        ...     read_curves(file.name)["loss"]
        Curve(steps=[100], values=[0.4])
    """
    curves: dict[str, Curve] = {}
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for name in record.keys() - set(NO_CURVES):
            curve = curves.setdefault(name, Curve(is_part="loss" in record))
            curve.steps.append(record["step"])
            curve.values.append(record[name])
    return curves


def write_curve(directory: Path) -> None:
    """Plot a run's log to `training.png`. Nothing is written if the log is empty or matplotlib is
    missing.
    """
    remove(directory / PICTURE)
    curves = read_curves(directory / "logs" / "train.jsonl")
    if not curves:
        return
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    draw(curves, directory / PICTURE, labels_of(read_mapping(directory / "recipe.yaml")))


def labels_of(recipe: Mapping[str, Any]) -> dict[str, str]:
    """Return the axis labels of the loss, the score and the learning rate, with units."""
    loss = "loss"
    if are_negatives_chosen(recipe):
        loss += "\n(negatives harden,\nso it may rise)"
    return {"loss": loss, SCORE: "\n".join(scored_on(recipe)), RATE: "learning rate"}


def draw(curves: Mapping[str, Curve], path: Path, labels: Mapping[str, str]) -> None:
    """Draw panels for the loss and its parts, the development score, the learning rate and other
    logged values.

    Values that share a prefix, such as `kl/fr` and `kl/en`, share a panel.
    """
    from matplotlib.figure import Figure

    others = sorted(curves.keys() - labels.keys())
    parts = [name for name in others if curves[name].is_part]
    gauges: dict[str, list[str]] = {}
    for name in others:
        if name not in parts:
            gauges.setdefault(name.partition("/")[0], []).append(name)
    panels = [[name, *(parts if name == "loss" else [])] for name in labels if name in curves]
    heights = [2.0] * len(panels) + [1.2] * len(gauges)
    panels += gauges.values()
    height, width = 0.7 + sum(heights), WIDTH
    legends = [  # legend columns beside each panel (0: within it)
        ceil(len(names) * LINE / inches) if len(names) > FEW else 0
        for names, inches in zip(panels, heights, strict=True)
    ]
    width += max(legends) * COLUMN
    figure = Figure(figsize=(width, height))
    left, right = 0.13 * WIDTH / width, 0.97 * WIDTH / width
    figure.subplots_adjust(left, 0.5 / height, right, 1 - 0.2 / height)
    rows = figure.subplots(
        len(panels), sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, names, columns in zip(rows[:, 0], panels, legends, strict=True):
        looks = itertools.cycle(itertools.product(DASHES, OWN))
        for name, (dashes, color) in zip(names, looks, strict=False):
            curve = curves[name]
            marker = "o" if len(curve.steps) < MARKED else ""
            axes.plot(
                curve.steps,
                curve.values,
                color=color,
                linestyle=dashes,
                marker=marker,
                markersize=3,
                label=name.rpartition("/")[2].replace("_", " "),
            )
        if names[0] in labels:
            axes.set_ylabel(labels[names[0]], fontsize=8)
            axes.yaxis.set_label_coords(-0.115, 0.5)  # `align_ylabels` would be slow
        else:
            title = names[0].partition("/")[0].replace("_", " ")
            axes.set_title(title, loc="left", fontsize=8, pad=3, y=1)
        if columns:
            axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1.05),
                        ncols=columns, borderpad=0, labelspacing=0.2)  # fmt: skip
        elif len(names) > 1:
            axes.legend(frameon=False, fontsize=8)
        if names == [RATE]:
            axes.set_ylim(bottom=0)
        plain_axes(axes)
    rows[-1, 0].set_xlabel("step")
    with replacing(path) as partial:
        figure.savefig(partial, dpi=100, format="png")
