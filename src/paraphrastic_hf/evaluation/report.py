"""Results of a suite as JSON, Markdown and a plot, compared with published figures."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.errors import DataError, refused
from paraphrastic_hf.evaluation.schema import check_results
from paraphrastic_hf.io.files import read_json, visible_files, write_bytes, write_json
from paraphrastic_hf.io.markdown import bold, literal, markdown_table
from paraphrastic_hf.io.plots import COLORS, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MARKERS = "sD^vPXdp"  # plot markers of published systems
WIDEST = 110  # characters of a table header. A wider table is transposed.


def write_report(results: dict[str, Any], directory: str | Path) -> list[Path]:
    """Write SUITE.json, SUITE.md and SUITE.png, and return their paths."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{results['suite']}.{ending}" for ending in ("json", "md", "png")]
    write_json(paths[0], results)
    write_bytes(paths[1], markdown(results).encode("utf-8"))
    plot_headline(results, paths[2])
    return paths


def refuse_other_results(directory: str | Path, suites: Iterable[str], model: str) -> None:
    """Raise a `DataError` if a folder contains results of another model."""
    for suite in suites:
        try:
            other = read_json(Path(directory) / f"{suite}.json")["model"]
        except (OSError, ValueError, TypeError, KeyError):  # missing or damaged results
            continue
        if other != model:
            raise DataError(
                f"{directory} contains results of {other} on {suite}, not of {model}. Use "
                f"another --output, or --name {other} if the model is the same"
            )


def read_results(directory: str | Path) -> list[dict[str, Any]]:
    """Read the results in a folder, sorted by suite name."""
    found = []
    for path in visible_files(Path(directory), "*.json"):
        with refused(DataError, f"{path} is not a result of `paraphrastic evaluate`"):
            results = read_json(path)
            if "headline" in results and "rows" in results:
                check_results(results)
                found.append(results)
    if not found:
        raise DataError(f"{directory} has no results. Run `paraphrastic evaluate --output` first")
    return found


def left_out(results: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
    """Return the tasks that were not run, with the reasons, grouped under titles."""
    return [
        ("Skipped", results["skipped"]),
        ("Not for this encoder", results.get("not_applicable", {})),
    ]


def markdown(results: dict[str, Any]) -> str:
    """Return a report as Markdown: main figures, published figures, then every dataset."""
    lines = [_heading(results), "", *headline_table(results), "", *_notes(results)]
    return "\n".join([*lines, *_dataset_table(results), "", _took(results)]) + "\n"


def summary(results: dict[str, Any], rest: Sequence[str], *, with_rows: bool = False) -> str:
    """Return a report for a terminal: the lines `rest`, such as paths, then the main figures."""
    lines = [_heading(results), "", *_notes(results)]
    lines += [*_dataset_table(results), ""] if with_rows else []
    return "\n".join([*lines, _took(results), *rest, "", *headline_table(results)]) + "\n"


def _heading(results: dict[str, Any]) -> str:
    return "# " + literal(f"{results['model']}: {results['suite']}")


def _notes(results: dict[str, Any]) -> list[str]:
    notes = [f"* {literal(note)}" for note in results["notes"]]
    for title, tasks in left_out(results):
        notes += [f"* {title}, {literal(f'{task}: {reason}')}" for task, reason in tasks.items()]
    return [*notes, ""] if notes else []


def _dataset_table(results: dict[str, Any]) -> list[str]:
    measures = list(dict.fromkeys(name for row in results["rows"] for name in row["scores"]))
    rows = [
        [row["group"], row["name"], f"{row['size']:,}", *_cells(row["scores"], measures)]
        for row in results["rows"]
    ]
    align = "ll" + "r" * (1 + len(measures))
    return markdown_table(["group", "dataset", "size", *measures], rows, align)


def _took(results: dict[str, Any]) -> str:
    return f"Took {results['seconds']:.1f} s."


def headline_table(results: dict[str, Any]) -> list[str]:
    """Return Markdown lines with the suite's description and its main and published figures."""
    headline = results["headline"]
    about = literal(f"{results['summary']}. {results['unit'].replace(';', '.')}.")
    systems = {bold(results["model"]): headline, **results["papers"]}
    table = [["system", *headline]]
    table += [[name, *_cells(values, headline)] for name, values in systems.items()]
    if sum(len(key) + 3 for key in headline) > WIDEST:
        table = [list(column) for column in zip(*table, strict=True)]
        table[0][0] = ""
    return [about, "", *markdown_table(table[0], table[1:])]


def plot_headline(results: dict[str, Any], path: Path) -> None:
    own = {results["model"]: results["headline"]}
    figure = plot_systems(own, results["papers"], results["unit"])
    write_bytes(path, png(figure, f"{results['model']}: {results['suite']}"))


def plot_systems(
    models: Mapping[str, Mapping[str, float]], papers: Mapping[str, Mapping[str, float]], unit: str
) -> Figure:
    """Plot the figures of systems, one row per figure. Models are rings."""
    keys = list(dict.fromkeys(key for values in models.values() for key in values))
    places = range(len(keys))
    height = 1.2 + 0.3 * len(keys) + 0.2 * (len(models) + len(papers))
    figure = new_figure(7.5, height)
    axes = figure.add_subplot()
    colors = itertools.cycle(COLORS)
    for (name, values), color in zip(models.items(), colors, strict=False):
        axes.scatter(  # a ring, so that equal points of other systems stay visible
            _figures(values, keys), places, s=90, c="none", edgecolors=color, linewidths=2.5,
            label=name, zorder=3,
        )  # fmt: skip
    markers = itertools.cycle(MARKERS)
    for (name, values), marker, color in zip(papers.items(), markers, colors, strict=False):
        axes.scatter(
            _figures(values, keys), places, s=36, c=color, marker=marker, alpha=0.8,
            linewidths=0, label=name,
        )  # fmt: skip
    if len(models) == 1:
        for place, score in zip(places, _figures(next(iter(models.values())), keys), strict=True):
            axes.annotate(
                figure_text(score), (1.02, place), xycoords=("axes fraction", "data"), va="center",
                color=COLORS[0], fontsize=9,
            )  # fmt: skip
    axes.set_yticks(places, keys)
    axes.set_ylim(len(keys) - 0.5, -0.5)
    figure.legend(loc="outside lower center", ncols=1, frameon=False, fontsize=8)
    style(axes, xlabel=textwrap.fill(unit, 80), grid="y", columns=0)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _figures(values: Mapping[str, float], keys: Sequence[str]) -> list[float]:
    return [values.get(key, math.nan) for key in keys]


def figure_text(value: float) -> str:
    """Format a number for tables and plots. NaN becomes an empty text."""
    if math.isnan(value):
        return ""
    return f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def _cells(values: Mapping[str, float], keys: Iterable[str]) -> list[str]:
    return [figure_text(values.get(key, math.nan)) for key in keys]
