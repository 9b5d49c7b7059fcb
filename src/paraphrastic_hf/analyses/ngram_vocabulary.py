"""Scores by number and length of the n-grams in the vocabulary (thesis, 3.7.5, Table 19)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, curves_figure
from paraphrastic_hf.analyses.runs import Variant, run_variants
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

MOST = (100, 1_000, 50_000)
ORDERS: tuple[tuple[int, ...], ...] = ((2,), (2, 3), (2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 6))
THESIS = {  # sentence similarity: average Pearson r x 100 of 22 datasets
    100: dict(zip(ORDERS, (40.2, 33.8, 32.5, 31.2, 29.8), strict=True)),
    1_000: dict(zip(ORDERS, (50.1, 60.3, 58.6, 56.6, 55.6), strict=True)),
    50_000: dict(zip(ORDERS, (45.7, 64.7, 66.6, 63.0, 61.3), strict=True)),
}


def ngram_vocabulary(
    recipe: ContrastiveRecipe,
    folder: str | Path,
    *,
    most: Sequence[int] = MOST,
    orders: Sequence[Sequence[int]] = ORDERS,
    data_root: str | Path | None = None,
) -> Analysis:
    """Train a recipe with the `most` frequent n-grams per length, for several sets of lengths.

    The thesis trains for 5 epochs without penalty (`--epochs 5 --lambda_all 0`).
    """
    if recipe.parts or recipe.tokenizer.kind != "char_ngram":
        kind = "a mixture" if recipe.parts else f"tokenizer.kind {recipe.tokenizer.kind}"
        raise RecipeError(
            f"The recipe has {kind}, but this analysis requires tokenizer.kind char_ngram. Use, "
            "for example, recipes/charagram-2016/charagram-phrase.yaml"
        )
    variants = {}
    for k in most:
        for lengths in orders:
            tokenizer = replace(
                recipe.tokenizer,
                orders=list(lengths),
                most_per_order=k,
                vocab_size=k * len(lengths) + 2,
            )
            variants[_name(k, lengths)] = Variant(replace(recipe, tokenizer=tokenizer))
    scores = run_variants(variants, folder, recipe, data_root=data_root)
    heads = [",".join(map(str, lengths)) for lengths in orders]
    rows: list[list[Cell]] = [
        [f"{k:,}", *(scores[_name(k, lengths)] for lengths in orders)] for k in most
    ]
    thesis: list[list[Cell]] = [
        [f"{k:,}", *(THESIS[k].get(tuple(lengths)) for lengths in orders)]
        for k in most
        if k in THESIS
    ]
    development = recipe.run.development
    columns = ["n-grams of each length", *heads]
    tables = [Table("scores", f"{development}, Pearson r x 100", columns, rows)]
    title = "Thesis, Table 19: sentence similarity, average of 22 test sets"
    tables += [Table("thesis", title, columns, thesis)] if thesis else []
    return Analysis(
        "ngram-vocabulary",
        "Number and lengths of character n-grams",
        tables,
        curves_figure(
            {
                f"{k:,} of each length": (range(len(orders)), [scores[_name(k, o)] for o in orders])
                for k in most
            },
            "lengths of n-grams",
            f"{development}, Pearson r x 100",
            ticks=heads,
        ),
        ["If a text has fewer n-grams of a length, all are used."],
        {"most": list(most), "orders": [list(o) for o in orders]},
    )


def _name(most: int, lengths: Sequence[int]) -> str:
    return f"{most}-of-{'-'.join(map(str, lengths))}"
