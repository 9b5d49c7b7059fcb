"""A suite's results as JSON, a Markdown table beside the papers, and a bar plot."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.files import write_bytes, write_json

COLOURS = ("#1b6ca8", "#c9ced6", "#9aa3b0", "#6c7686")
MOST_BARS = 16  # headline figures that a plot can show


def write_report(results: dict[str, Any], directory: str | Path) -> list[Path]:
    """Write SUITE.json, SUITE.md and SUITE.png, and return their paths."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{results['suite']}.{ending}" for ending in ("json", "md", "png")]
    write_json(paths[0], results)
    write_bytes(paths[1], markdown(results).encode("utf-8"))
    plot_headline(results, paths[2])
    return paths


def read_results(directory: str | Path) -> list[dict[str, Any]]:
    """The results that `write_report` left in a folder, suites in alphabetical order.

    Raises:
        DataError: There are none, or a file is damaged.
    """
    paths = sorted(Path(directory).glob("*.json"))
    found = []
    for path in paths:
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            found += [results] if "headline" in results and "rows" in results else []
        except (OSError, ValueError, TypeError) as error:
            raise DataError(
                f"{path} holds no results of `paraphrastic evaluate`: {error}"
            ) from error
    if not found:
        raise DataError(f"{directory} holds no results; run `paraphrastic evaluate --output` first")
    return found


def markdown(results: dict[str, Any]) -> str:
    """The headline beside the papers, then every dataset."""
    lines = [f"# {results['model']}: {results['suite']}", "", *headline_table(results)]
    lines += ["", *(f"* {note}" for note in results["notes"])]
    lines += [f"* Skipped, {task}: {reason}" for task, reason in results["skipped"].items()]
    measures = list(dict.fromkeys(name for row in results["rows"] for name in row["scores"]))
    lines += ["", f"| group | dataset | size | {' | '.join(measures)} |"]
    lines += ["|---|---|---:|" + "---:|" * len(measures)]
    for row in results["rows"]:
        cells = [row["scores"].get(measure, math.nan) for measure in measures]
        lines.append(_row(f"{row['group']} | {row['name']} | {row['size']:,}", cells))
    memory = results["peak_memory"]
    took = f"{results['seconds']:.0f} s" + (
        f", {memory / 1e6:.0f} MB at the peak" if memory else ""
    )
    return "\n".join([*lines, "", f"Took {took}."]) + "\n"


def headline_table(results: dict[str, Any]) -> list[str]:
    """What the suite is, and its figures beside the papers', as lines of Markdown."""
    headline = results["headline"]
    lines = [
        f"{results['summary']}. {results['unit']}.",
        "",
        f"| system | {' | '.join(headline)} |",
        "|---|" + "---:|" * len(headline),
        _row(f"**{results['model']}**", headline.values()),
    ]
    for name, values in _papers(results):
        lines.append(_row(name, [values.get(key, math.nan) for key in headline]))
    return lines


def _papers(results: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """The published systems that report a figure of the headline."""
    papers = results["papers"].items()
    return [(name, values) for name, values in papers if set(values) & set(results["headline"])]


def plot_headline(results: dict[str, Any], path: Path) -> None:
    """Bars of the headline figures beside the papers' rows, as a PNG."""
    from matplotlib.figure import Figure

    keys = list(results["headline"])[:MOST_BARS]
    rows = [(results["model"], results["headline"]), *_papers(results)]
    figure = Figure(figsize=(max(6, 0.5 + 0.9 * len(keys)), 4.2), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(rows)
    shown = []
    for i, (name, values) in enumerate(rows):
        heights = [values.get(key, math.nan) for key in keys]
        shown += [height for height in heights if not math.isnan(height)]
        places = [x + (i - (len(rows) - 1) / 2) * width for x in range(len(keys))]
        bars = axes.bar(places, heights, width, label=name, color=COLOURS[i % len(COLOURS)])
        if i == 0:
            axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    axes.set_xticks(range(len(keys)), keys, rotation=30, ha="right")
    low = max(0, min(shown, default=0) - 10) if min(shown, default=0) >= 0 else None
    axes.set_ylim(low, max(shown, default=1) * 1.08)
    axes.set_ylabel(results["unit"] + (" (axis cut)" if low else ""), fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=1, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def _row(name: str, values: Any) -> str:
    return f"| {name} | {' | '.join('' if math.isnan(v) else f'{v:.1f}' for v in values)} |"
