"""Plot a run's loss, learning rate and development score by step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.config.recipe import read_mapping
from paraphrastic_hf.hub.trained import PICTURE
from paraphrastic_hf.io.files import remove, write_bytes
from paraphrastic_hf.io.plots import lines, png
from paraphrastic_hf.training.engine.score_units import scored_on

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE, SCORE = "lr", "development"
NO_CURVES = ("step", "epoch", "seconds")
WIDTH, COLUMN = 7.0, 1.3  # inches: width of the panels, width of a legend column
LINE = 0.17  # inches: height of a legend line


@dataclass(frozen=True)
class Curve:
    """One logged quantity. A loss is the mean since the previous log line."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    is_part: bool = True  # logged in every line, like the parts of the loss


def read_curves(log: str | Path) -> dict[str, Curve]:
    """Read the curves of a run from its log `logs/train.jsonl`, by name."""
    curves: dict[str, Curve] = {}
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for name in record.keys() - set(NO_CURVES):
            curve = curves.setdefault(name, Curve(is_part="loss" in record))
            curve.steps.append(record["step"])
            curve.values.append(record[name])
    return curves


def write_curve(directory: Path) -> None:
    """Plot the log of a run as `training.png`, if it has two lines and matplotlib is installed."""
    remove(directory / PICTURE)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    curves = read_curves(directory / "logs" / "train.jsonl")
    figure = draw(curves, titles_of(read_mapping(directory / "recipe.yaml")))
    if figure is not None:
        write_bytes(directory / PICTURE, png(figure, dpi=100))


def titles_of(recipe: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the panels of score, loss and learning rate, with units."""
    loss, training = "training loss", recipe["training"]
    if training.get("objective") == "margin" and training.get("negatives") in ("max", "mix"):
        loss += " (negatives get harder, so it may rise)"
    return {SCORE: ", ".join(scored_on(recipe)), "loss": loss, RATE: "learning rate"}


def draw(curves: Mapping[str, Curve], titles: Mapping[str, str]) -> Figure | None:
    """Draw panels for score, loss and its parts, learning rate, and other values.

    Values with the same prefix, such as `kl/fr` and `kl/en`, share a panel.
    """
    from matplotlib.figure import Figure

    curves = {name: curve for name, curve in curves.items() if len(curve.steps) > 1}
    panels = {title: [name] for name, title in titles.items() if name in curves}
    heights = [2.0] * len(panels)
    for name in sorted(curves.keys() - titles.keys()):
        title = titles["loss"] if curves[name].is_part else name.partition("/")[0]
        panels.setdefault(title.replace("_", " "), []).append(name)
    if not panels:
        return None
    heights += [1.2] * (len(panels) - len(heights))
    columns = [  # number of columns in the legend of each panel
        ceil(len(names) * LINE / inches) if len(names) > 1 else 0
        for names, inches in zip(panels.values(), heights, strict=True)
    ]
    height, width = 0.7 + sum(heights), WIDTH + max(columns) * COLUMN
    figure = Figure(figsize=(width, height))  # a fixed layout, twice as fast as an automatic one
    left, right = 0.1 * WIDTH / width, 0.97 * WIDTH / width
    figure.subplots_adjust(left, 0.5 / height, right, 1 - 0.3 / height, hspace=0.35)
    rows = figure.subplots(
        len(panels), sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    for axes, (title, names), count in zip(rows, panels.items(), columns, strict=True):
        labels = [name if title == titles["loss"] else name.rpartition("/")[2] for name in names]
        shown = {
            label.replace("_", " "): (curves[name].steps, curves[name].values)
            for label, name in zip(labels, names, strict=True)
        }
        xlabel = "step" if axes is rows[-1] else ""
        lines(axes, shown, xlabel, title=title, counts="x", columns=count)
        if names == [RATE]:
            axes.set_ylim(bottom=0)
    return figure
