"""A search as files people look at: a table of its trials, best first, and a plot key by key."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.evaluation.report import plain_axes
from paraphrastic_hf.io.files import replacing, write_bytes
from paraphrastic_hf.io.markdown import literal, markdown_table
from paraphrastic_hf.training.engine.score_units import unit_of
from paraphrastic_hf.training.search.tune import Trial

COLOUR, BEST = "#1b6ca8", "#d1762c"
PANELS = 4  # in a row


def write_search(trials: Sequence[Trial], development: str, folder: str | Path) -> list[Path]:
    """Write trials.md, trials.tsv and trials.png, and return their paths.

    Args:
        trials: Best first.
        development: What the scores are of.
        folder: The folder of the search.
    """
    paths = [Path(folder) / f"trials.{ending}" for ending in ("md", "tsv", "png")]
    title = f"# Trials by {literal(development)}"
    text = [title, "", *table(trials, development), "", "![](trials.png)"]
    write_bytes(paths[0], ("\n".join(text) + "\n").encode("utf-8"))
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([development, *keys_of(trials), "step", "seconds", "error"])
    for t in trials:
        values = [t.settings.get(key, "") for key in keys_of(trials)]
        writer.writerow([t.score, *values, t.step, t.seconds, t.error])
    write_bytes(paths[1], file.getvalue().encode("utf-8"))
    plot(trials, development, paths[2])
    return paths


def keys_of(trials: Sequence[Trial]) -> list[str]:
    """Every key that was searched over, in order."""
    return list(dict.fromkeys(key for trial in trials for key in trial.settings))


def table(trials: Sequence[Trial], development: str) -> list[str]:
    """The trials as lines of Markdown, in the order given."""
    keys = keys_of(trials)
    rows = [
        [
            "failed" if t.score is None else f"{t.score:.2f}",
            *(_cell(t.settings.get(key, "")) for key in keys),
            "" if t.step is None else f"{t.step:,}",
            f"{t.seconds:.0f}",
        ]
        for t in trials
    ]
    columns = [f"{development} ({unit_of(development)})", *keys, "step", "seconds"]
    lines = markdown_table(columns, rows, "r" + "l" * len(keys) + "rr")
    errors = [f"* {literal(f'{_cell(t.settings)} failed: {t.error}')}" for t in trials if t.error]
    return [*lines, "", *errors] if errors else lines


def plot(trials: Sequence[Trial], development: str, path: Path) -> None:
    """A panel a key: every trial over the value it had, and a line through the best of each."""
    from matplotlib.figure import Figure

    keys, good = keys_of(trials), [trial for trial in trials if trial.score is not None]
    rows = -(-len(keys) // PANELS)
    columns = min(len(keys), PANELS)
    figure = Figure(figsize=(0.8 + 2.8 * columns, 0.4 + 2.8 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for axis in axes.flat[len(keys) :]:
        axis.set_axis_off()
    for axis, key in zip(axes.flat, keys, strict=False):
        values = _in_order([trial.settings.get(key) for trial in trials])
        places = [values.index(trial.settings.get(key)) for trial in good]
        scores = [trial.score for trial in good]
        best: dict[int, float | None] = {}
        for place, score in zip(places, scores, strict=True):
            best.setdefault(place, score)  # the first is the best
        axis.plot(sorted(best), [best[place] for place in sorted(best)], color=BEST, linewidth=1.5)
        axis.scatter(places, scores, s=22, color=COLOUR, alpha=0.6, linewidths=0, zorder=3)
        axis.set_xticks(range(len(values)), [str(value) for value in values])
        axis.set_xlim(-0.5, len(values) - 0.5)
        axis.set_xlabel(key)
        plain_axes(axis, grid="y")
    for row in axes:
        row[0].set_ylabel(f"{development}\n{unit_of(development)}")
    figure.suptitle("every trial, and the best with each value", fontsize=9)
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format="png")


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Each value once: numbers by size, others as they come."""
    distinct = [value for number, value in enumerate(values) if value not in values[:number]]
    if all(isinstance(value, (int, float)) for value in distinct):
        return sorted(distinct)
    return distinct


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    return str(value)
