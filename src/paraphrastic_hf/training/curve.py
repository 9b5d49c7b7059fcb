"""The training curve of a run: loss, learning rate and development score by step, as a picture.

It is drawn from the log alone (`log.py`), so that a run that was killed and went on has the picture
of an unbroken one.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paraphrastic_hf.evaluation.report import OWN, plain_axes
from paraphrastic_hf.hub.trained import PICTURE
from paraphrastic_hf.text.files import remove, replacing

RATE, SCORE = "lr", "development"
NO_CURVES = ("step", "epoch", "seconds")
LABELS = {"loss": "loss", SCORE: "development score", RATE: "learning rate"}
MARKED = 30  # with fewer points than this, each has a mark


@dataclass(frozen=True)
class Curve:
    """What a log says of one quantity.

    Attributes:
        steps: Steps of the optimizer since training began.
        values: The value at each of these; of losses, the mean since the line before.
        is_part: Whether it stands in the lines of the loss, as its parts do, or is measured now
            and then.
    """

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    is_part: bool = field(default=True, repr=False)


def read_curves(log: str | Path) -> dict[str, Curve]:
    """Read the curves of a run from its log, by their names there.

    Args:
        log: The file `logs/train.jsonl` of a finished run.

    Returns:
        `loss`, each of its parts, `lr` and `development`, as far as the log has them.

    Raises:
        OSError: There is no such file.

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
    """Draw the log of a run into `training.png` beside its model.

    There is no picture where nothing was logged, as without a step, or without matplotlib.

    Raises:
        OSError: The picture could not be written, or the log is not there.
    """
    remove(directory / PICTURE)
    curves = read_curves(directory / "logs" / "train.jsonl")
    if not curves:
        return
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    draw(curves, directory / PICTURE)


def draw(curves: Mapping[str, Curve], path: Path) -> None:
    """Draw a panel for the loss and its parts, one for the score, one for the learning rate, and a
    lower one for each gauge, since each has a scale of its own; `kl/fr` and `kl/en` share one."""
    from matplotlib.figure import Figure

    others = sorted(curves.keys() - LABELS.keys())
    parts = [name for name in others if curves[name].is_part]
    gauges: dict[str, list[str]] = {}
    for name in others:
        if name not in parts:
            gauges.setdefault(name.partition("/")[0], []).append(name)
    panels = [[name, *(parts if name == "loss" else [])] for name in LABELS if name in curves]
    heights = [2.0] * len(panels) + [1.2] * len(gauges)
    panels += gauges.values()
    height = 0.7 + sum(heights)
    figure = Figure(figsize=(7, height))
    figure.subplots_adjust(0.13, 0.5 / height, 0.97, 1 - 0.2 / height)
    columns = figure.subplots(
        len(panels), sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, names in zip(columns[:, 0], panels, strict=True):
        for name, colour in zip(names, itertools.cycle(OWN), strict=False):
            curve = curves[name]
            marker = "o" if len(curve.steps) < MARKED else ""
            axes.plot(
                curve.steps, curve.values, color=colour, marker=marker, markersize=3, label=name
            )
        if names[0] in LABELS:
            axes.set_ylabel(LABELS[names[0]])
        else:
            title = names[0].partition("/")[0].replace("_", " ")
            axes.set_title(title, loc="left", fontsize=8, pad=3)
        if len(names) > 1:
            axes.legend(frameon=False, fontsize=8)
        if names == [RATE]:
            axes.set_ylim(bottom=0)
        plain_axes(axes)
    figure.align_ylabels()
    columns[-1, 0].set_xlabel("step")
    with replacing(path) as partial:
        figure.savefig(partial, dpi=100, format="png")
