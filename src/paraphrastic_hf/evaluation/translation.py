"""SIM and SimiLE as judges of translations, beside metrics that match words (thesis, Table 66).

Spearman's rho with direct assessments of single segments, per language pair and averaged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.data.load import find_source, load_dataset
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation.similarity import spearman
from paraphrastic_hf.metrics.matching import MATCHING, load_matching
from paraphrastic_hf.metrics.scorer import SimileScorer

PAPER_ROWS = {  # all pairs of the year; here are the four of `wmt_da`
    "SIM": {"newstest2015": 58.2, "newstest2016": 53.1},
    "SimiLE": {"newstest2015": 58.4, "newstest2016": 53.2},
    "BLEU": {"newstest2015": 53.6, "newstest2016": 50.0},
    "METEOR": {"newstest2015": 58.9, "newstest2016": 57.2},
}
COLOURS = ("#1b6ca8", "#6ba5cf", "#6c7686", "#9aa3b0", "#c9ced6")


def evaluate_translation(encoder: Any, data_dir: Path) -> dict[str, Any]:
    """Correlations of each metric on each language pair, for `evaluation/suites.py`.

    A metric whose library is not installed is left out and named in `skipped`; SimiLE is where the
    encoder has no tokenizer to measure lengths with.
    """
    skipped: dict[str, str] = {}
    try:
        scorer = SimileScorer(encoder)
    except ModelError as error:
        scorer, skipped["SimiLE"] = SimileScorer(encoder, penalty="none"), str(error)
    others = {}
    for name in MATCHING:
        try:
            others[name] = load_matching(name)
        except DataError as error:
            skipped[name] = str(error)
    datasets: list[dict[str, Any]] = []
    for config in find_source("wmt_da").configs:
        pairs = load_dataset("wmt_da", config, data_dir=data_dir, streaming=True, split="test")
        rows = list(pairs)
        references, outputs = ([row[f"sentence{side}"] for row in rows] for side in (1, 2))
        human = [row["score"] for row in rows]
        scores = scorer.score(outputs, references)
        measured = {"SIM": scores.sim} | ({} if "SimiLE" in skipped else {"SimiLE": scores.simile})
        lists = [[reference] for reference in references]
        measured |= {name: score(outputs, lists) for name, score in others.items()}
        datasets.append(
            {
                "name": config.split(".")[1],
                "group": config.split(".")[0],
                "pairs": len(rows),
                "spearman": {name: spearman(values, human) for name, values in measured.items()},
            }
        )
    groups = sorted({dataset["group"] for dataset in datasets})
    averages = {
        group: {
            name: float(np.mean([d["spearman"][name] for d in datasets if d["group"] == group]))
            for name in datasets[0]["spearman"]
        }
        for group in groups
    }
    return {
        "averages": averages,
        "datasets": datasets,
        "signature": scorer.signature(),
        "skipped": skipped,
    }


def translation_markdown(results: dict[str, Any]) -> list[str]:
    """A row a metric, a column a language pair, and each year's average beside the thesis's."""
    averages, datasets = results["averages"], results["datasets"]
    heads = [f"{d['group'].removeprefix('newstest')} {d['name']}" for d in datasets]
    heads += [head for group in averages for head in (f"**{group}**", f"thesis {group}")]
    lines = [
        "Spearman's rho x 100 with human scores of segments, translations to English. The thesis's "
        "figures are of other segments and more language pairs.",
        "",
        f"| metric | {' | '.join(heads)} |",
        "|---|" + "---:|" * len(heads),
    ]
    for name in datasets[0]["spearman"]:
        cells = [f"{d['spearman'][name]:.1f}" for d in datasets]
        for group, means in averages.items():
            paper = PAPER_ROWS.get(name, {}).get(group)
            cells += [f"**{means[name]:.1f}**", "" if paper is None else f"{paper:.1f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *(f"No {name}: {reason}" for name, reason in results["skipped"].items())]
    return [*lines, f"`{results['signature']}`"]


def plot_translation(results: dict[str, Any], path: Path) -> None:
    """Bars of each metric's average by year."""
    from matplotlib.figure import Figure

    averages = results["averages"]
    names = list(results["datasets"][0]["spearman"])
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        places = [x + (i - (len(names) - 1) / 2) * width for x in range(len(averages))]
        heights = [means[name] for means in averages.values()]
        bars = axes.bar(places, heights, width, label=name, color=COLOURS[i % len(COLOURS)])
        axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    axes.set_xticks(range(len(averages)), list(averages))
    axes.set_ylabel("Spearman's rho x 100")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(names), frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
