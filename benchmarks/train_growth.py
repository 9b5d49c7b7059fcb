"""How training slows down as the table grows: the part of `train.py` that `--vocabulary` asks for.

The text, its tokenizer and its 20,000 rows stay; rows with random numbers follow, up to the size
asked for, which no sentence uses. So the work that a batch needs is the same at every size, and
what grows is what a trainer does to rows that are not in the batch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

Results = dict[int, dict[int, dict[str, Any]]]  # by batch size, then by rows


def widen(table: Tensor, rows: int, seed: int) -> Tensor:
    """The table with random rows after its own, (rows, dim).

    Raises:
        ValueError: Fewer rows than the table has.
    """
    more = rows - len(table)
    if more < 0:
        raise ValueError(f"--vocabulary must be at least the text's {len(table):,}, got {rows:,}")
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([table, torch.randn(more, table.shape[1], generator=generator)])


def plot_growth(results: Results, path: Path, ours: str) -> None:
    """Median pairs per second over the rows of the table, one panel a batch size."""
    figure = Figure(figsize=(5 * len(results), 3.5), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for axes, (batch_size, by_rows) in zip(panels, results.items(), strict=True):
        for number, label in enumerate(("ours", "peer, hinge")):
            found = [_figures(result, ours)[number] for result in by_rows.values()]
            median = [value["median"] for value in found]
            low = [value["median"] - value["lowest"] for value in found]
            high = [value["highest"] - value["median"] for value in found]
            axes.errorbar(
                list(by_rows), median, yerr=[low, high], marker="o", capsize=3, label=label
            )
        axes.set(xscale="log", yscale="log", title=f"batch size {batch_size}")
        axes.set(xlabel="rows of the table", ylabel="pairs per second")
        axes.legend()
    figure.savefig(path, dpi=150)


def show_growth(results: Results, ours: str) -> None:
    """Print the medians and their ratio."""
    for batch_size, by_rows in results.items():
        print(f"\nbatch size {batch_size}, pairs per second by rows of the table: ours, peer")
        for rows, result in by_rows.items():
            own, peer = (figure["median"] for figure in _figures(result, ours))
            print(f"  {rows:>9,}  {own:>8,.0f}  {peer:>8,.0f}  {own / peer:>7.2f}x")


def _figures(result: dict[str, Any], ours: str) -> tuple[dict[str, Any], dict[str, Any]]:
    rates = result["pairs_per_second"]
    return rates[ours], rates[result["best_of_peer"][0]]
