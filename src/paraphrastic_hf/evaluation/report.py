"""A suite's scores as `results.json`, a Markdown table and a bar plot beside the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.evaluation.suites import PAPER_ROWS, YEARS
from paraphrastic_hf.text.files import write_json


def write_report(results: dict[str, Any], directory: str | Path) -> list[Path]:
    """Write `results.json`, `results.md` and `sts.png`, and return their paths."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / name for name in ("results.json", "results.md", "sts.png")]
    write_json(paths[0], results)
    paths[1].write_text(markdown(results), encoding="utf-8")
    plot_years(results, paths[2])
    return paths


def markdown(results: dict[str, Any]) -> str:
    """The scores as Markdown: years beside the papers, then every dataset."""
    groups = {group["group"]: group for group in results["groups"]}
    lines = [
        f"# {results['model']}: {results['suite']}",
        "",
        "Pearson r x 100, thesis convention: unweighted mean of a year's datasets, then of years.",
        "",
        f"| system | {' | '.join(YEARS)} | average |",
        "|---|" + "---:|" * (len(YEARS) + 1),
        _row(
            f"**{results['model']}**",
            [groups[year]["mean"] for year in YEARS],
            results["averages"]["mean"],
        ),
    ]
    lines += [_row(row.name, row.years, sum(row.years) / len(row.years)) for row in PAPER_ROWS]
    lines += ["", "| average of the years | value |", "|---|---:|"]
    lines += [
        f"| {text} | {results['averages'][name]:.1f} |"
        for name, text in results["conventions"].items()
    ]
    lines += [
        "",
        *results["notes"],
        "",
        "| group | dataset | pairs | Pearson | Spearman |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {d['group']} | {d['name']} | {d['pairs']:,} "
        f"| {d['pearson']:.1f} | {d['spearman']:.1f} |"
        for d in results["datasets"]
    ]
    return "\n".join(lines) + "\n"


def plot_years(results: dict[str, Any], path: Path) -> None:
    """Bars of each year's score beside the papers' rows, as a PNG."""
    from matplotlib.figure import Figure

    groups = {group["group"]: group["mean"] for group in results["groups"]}
    rows = [(results["model"], [groups[year] for year in YEARS])]
    rows += [(row.name, list(row.years)) for row in PAPER_ROWS]
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(rows)
    colors = ("#1b6ca8", "#c9ced6", "#9aa3b0", "#6c7686")
    for i, (name, values) in enumerate(rows):
        average = sum(values) / len(values)
        heights = [*values, average]
        places = [x + (i - (len(rows) - 1) / 2) * width for x in range(len(heights))]
        bars = axes.bar(
            places, heights, width, label=f"{name}: {average:.1f}", color=colors[i % len(colors)]
        )
        if i == 0:
            axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    axes.set_xticks(range(len(YEARS) + 1), [f"STS {year}" for year in YEARS] + ["average"])
    shown = [value for _, values in rows for value in values]
    axes.set_ylim(max(0, min(shown) - 10), min(100, max(shown) + 6))
    axes.set_ylabel("Pearson r x 100 (axis cut)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def _row(name: str, values: Any, average: float) -> str:
    return f"| {name} | {' | '.join(f'{value:.1f}' for value in values)} | {average:.1f} |"
