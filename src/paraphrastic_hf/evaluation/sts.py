"""STS 2012-2017 and the STS Benchmark: datasets, averages and what the thesis reports (2.1.1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.data.sts_files import (
    STS_DATASETS,
    STSB_SPLITS,
    ScoredPairs,
    read_sts,
    read_sts17,
    read_stsb,
)
from paraphrastic_hf.evaluation.similarity import SuiteScore, score_suite

YEARS = tuple(STS_DATASETS)
CONVENTIONS = {
    "mean": "thesis: unweighted mean of the datasets' Pearson r, then of the years",
    "weighted_mean": "pair-weighted mean of the datasets' Pearson r, then mean of the years",
    "all_pearson": "Pearson r over all pairs of a year, then mean of the years",
    "all_spearman": "MTEB: Spearman rho over all pairs of a year, then mean of the years",
}


@dataclass(frozen=True)
class PaperRow:
    """A system's published STS 2012-2016 scores by year (Pearson r x 100, thesis convention)."""

    name: str
    years: tuple[float, float, float, float, float]


PAPER_ROWS = (
    PaperRow("thesis SP (Table 48)", (68.4, 60.3, 75.1, 78.7, 76.8)),
    PaperRow("thesis BGT (Table 48)", (68.9, 62.2, 75.9, 79.4, 79.3)),
    PaperRow("thesis WORD, TRIGRAM on ParaNMT (Table 32)", (67.8, 62.7, 77.4, 80.3, 78.1)),
)


def sts_suite(data_dir: str | Path) -> list[ScoredPairs]:
    """STS 2012-2016, STS Benchmark dev and test, and the seven tracks of STS 2017."""
    stsb = [read_stsb(data_dir, split) for split in STSB_SPLITS]
    return [*read_sts(data_dir), *stsb, *read_sts17(data_dir)]


def evaluate_sts(encoder: Any, data_dir: Path) -> dict[str, Any]:
    """Correlations of every dataset, group and convention, for `evaluation/suites.py`."""
    score = score_suite(encoder.encode, sts_suite(data_dir))
    return {
        "averages": {convention: score.average(YEARS, convention) for convention in CONVENTIONS},
        "conventions": CONVENTIONS,
        "notes": _notes(score),
        "groups": [asdict(group) for group in score.groups],
        "datasets": [asdict(dataset) for dataset in score.datasets],
    }


def _notes(score: SuiteScore) -> list[str]:
    has_smt = any(d.group == "2013" and d.name == "SMT" for d in score.datasets)
    return (
        [] if has_smt else ["STS13 SMT is not in the data folder: 24 datasets, not the thesis's 25"]
    )


def sts_markdown(results: dict[str, Any]) -> list[str]:
    """Years beside the papers, then every dataset."""
    groups = {group["group"]: group for group in results["groups"]}
    lines = [
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
    return lines


def plot_sts(results: dict[str, Any], path: Path) -> None:
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
