"""Performance against the amount of training data (thesis, 3.3.2, Figure 1)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, curves_figure
from paraphrastic_hf.analyses.runs import Variant, run_variants
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.sources import SourcePairs, read_sources
from paraphrastic_hf.training.engine.recipe import SourceArguments

ORDERS = ("random", "ordered")
FEWEST = 10  # the thesis halves the number of pairs until it is below this


def data_amount(
    recipe: ContrastiveRecipe,
    folder: str | Path,
    *,
    sizes: Sequence[int] | None = None,
    orders: Sequence[str] = ORDERS,
    data_root: str | Path | None = None,
) -> Analysis:
    """Train a recipe on subsets of its pairs, and score each run on its development set.

    A subset has the first pairs in file order (`ordered`) or in random order (`random`). Without
    `sizes`, the number of pairs is halved until it is below ten, as in the thesis.
    """
    sources = read_sources(recipe, data_root)
    total = sum(len(item.pairs) for item in sources)
    sizes = sorted(set(halvings(total) if sizes is None else sizes))
    if not sizes or sizes[0] < 1 or sizes[-1] > total:
        raise DataError(f"sizes must be from 1 to {total:,} (all pairs), got {sizes or 'none'}")
    variants = {}
    for order in orders:
        numbers = np.arange(total)
        if order == "random":
            np.random.default_rng(recipe.seed).shuffle(numbers)
        for size in sizes:
            variants[f"{order}-{size}"] = Variant(
                replace(recipe, data=replace(recipe.data, sources=[])),
                partial(chosen_pairs, sources, numbers[:size]),
            )
    scores = run_variants(variants, folder, recipe, data_root=data_root)
    rows: list[list[Cell]] = [
        [size, *(scores[f"{order}-{size}"] for order in orders)] for size in sizes
    ]
    name = recipe.run.development
    return Analysis(
        "data-amount",
        "Performance and amount of training data",
        [Table("scores", f"{name}, Pearson r x 100", ["pairs", *orders], rows)],
        curves_figure(
            {order: (sizes, [scores[f"{order}-{n}"] for n in sizes]) for order in orders},
            "training pairs",
            f"{name}, Pearson r x 100",
            log=True,
        ),
        [
            "Random: all pairs shuffled once. Ordered: pairs in file order. A larger set contains "
            "the smaller ones.",
            "Each run's vocabulary comes from its own pairs. In the thesis it comes from the "
            "initial vectors at every size.",
        ],
        {"sizes": list(sizes), "epochs": recipe.training.epochs},
    )


def halvings(total: int) -> list[int]:
    """Halve a number until it is below ten, and return all values (thesis, footnote 21)."""
    sizes = [total]
    while sizes[-1] >= FEWEST:
        sizes.append(sizes[-1] // 2)
    return sizes


def chosen_pairs(
    sources: Sequence[SourcePairs], numbers: np.ndarray
) -> list[tuple[list[dict[str, str]], SourceArguments]]:
    """Pick sentence pairs by their index in the concatenation of all sources.

    Return, for each source, its picked pairs and its settings, as `datasets` of `train`.
    """
    ends = np.cumsum([len(item.pairs) for item in sources])
    owner = np.searchsorted(ends, numbers, side="right")
    found = []
    for number, item in enumerate(sources):
        own = numbers[owner == number] - (ends[number] - len(item.pairs))
        rows = [dict(zip(("first", "second"), item.pairs[i], strict=True)) for i in own]
        unset: dict[str, Any] = dict.fromkeys(("dataset", "second", "columns", "max_pairs"))
        if rows:
            found.append((rows, replace(item.source, path=item.source.name, **unset)))
    return found
