"""Several runs of one recipe in which a setting is varied, to show what the setting does.

If they are interrupted, finished runs are kept and the others go on. Choosing the best of many
settings is not done here.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import read_recipe, to_yaml
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.io.files import read_json, write_bytes, write_json
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.engine.run import train

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant:
    """One of the runs.

    Attributes:
        recipe: Its recipe.
        datasets: A function that returns text besides the recipe's sources, as `train` takes it.
    """

    recipe: ContrastiveRecipe
    datasets: Callable[[], list[Any]] = list


def run_variants(
    variants: Mapping[str, Variant],
    folder: str | Path,
    base: ContrastiveRecipe,
    *,
    data_root: str | Path | None = None,
) -> dict[str, float]:
    """Train every variant into `folder/runs/NAME`, and return their development scores.

    If this is called again, finished runs are kept and an interrupted one goes on; there may be
    more variants than before.

    Args:
        base: The recipe that is varied; a folder is for the runs of one recipe.

    Returns:
        The best development score of each variant, Pearson's r x 100, by name.
    """
    if base.run.development == "none":
        raise RecipeError(
            "the recipe has no development set, so there is nothing to compare: give it one, such "
            "as --development clean"
        )
    if base.run.development == "clean-and-bitext":
        raise RecipeError(
            "clean-and-bitext holds out pairs of each run's own text, and runs on other text would "
            "not compare: take --development clean"
        )
    if base.training.epochs < 1:
        raise RecipeError("the recipe trains for no epoch; set --epochs to 1 or more")
    _claim(Path(folder), base)
    scores = {}
    for number, (name, variant) in enumerate(variants.items(), 1):
        logger.info("run %s of %s: %s", number, len(variants), name)
        output = Path(folder) / "runs" / name
        output.parent.mkdir(parents=True, exist_ok=True)
        datasets = variant.datasets()
        _claim_text(Path(folder), name, datasets)
        result = train(
            variant.recipe,
            output,
            data_root=data_root,
            datasets=datasets,
            progress=False,
        )
        assert result.best_score is not None  # every epoch ends with an evaluation
        scores[name] = result.best_score
        logger.info("%s: %.1f", name, result.best_score)
    return scores


def _claim(folder: Path, base: ContrastiveRecipe) -> None:
    """Write the recipe that is varied to the folder, which must not hold runs of another one."""
    path, text = folder / "recipe.yaml", to_yaml(base)
    if path.exists() and read_recipe(ContrastiveRecipe, path) != base:
        raise RecipeError(f"{folder} holds runs of another recipe; use another --output")
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8"))


def _claim_text(folder: Path, name: str, datasets: list[Any]) -> None:
    """Write a hash of a run's given text to the folder, since its recipe does not name the text."""
    digest = hashlib.sha256()
    for rows, source in datasets:
        described = str(source).replace(", beside={}", "")  # as before there was such a key
        digest.update(json.dumps([rows, described]).encode())
    path = folder / "texts.json"
    texts = read_json(path) if path.exists() else {}
    if texts.setdefault(name, digest.hexdigest()) != digest.hexdigest():
        raise RecipeError(
            f"{folder} holds a run {name} on other text than is in the sources now; use another "
            "--output"
        )
    write_json(path, texts)
