"""Training of variants of one recipe, to show the effect of a setting. Runs can be resumed."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import to_yaml
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.io.files import read_json, write_bytes, write_json
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_contrastive

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Variant:
    """A variant of a recipe, trained in one run, on the text of `datasets` too (see `train`)."""

    recipe: ContrastiveRecipe
    datasets: Callable[[], list[Any]] = list


def run_variants(
    variants: Mapping[str, Variant],
    folder: str | Path,
    base: ContrastiveRecipe,
    *,
    data_root: str | Path | None = None,
) -> dict[str, float]:
    """Train variants of the recipe `base` into `folder/runs/NAME`.

    A repeated call keeps finished runs, resumes an interrupted run, and trains variants that are
    new. Return the best development score of each variant, Pearson's r x 100.
    """
    if base.run.development in ("none", "clean-and-bitext"):  # no score, or of different pairs
        raise RecipeError(
            f"run.development {base.run.development} has no scores that can be compared between "
            "runs. Use --run.development clean"
        )
    if base.training.epochs < 1:
        raise RecipeError(f"training.epochs must be 1 or more, got {base.training.epochs}")
    _claim(Path(folder), base)
    scores = {}
    for number, (name, variant) in enumerate(variants.items(), 1):
        logger.info("Run %s of %s: %s", number, len(variants), name)
        output = Path(folder) / "runs" / name
        output.parent.mkdir(parents=True, exist_ok=True)
        datasets = variant.datasets()
        _claim_text(Path(folder), name, datasets)
        result = train(
            variant.recipe, output, data_root=data_root, datasets=datasets, progress=False
        )
        assert result.best_score is not None  # every epoch ends with an evaluation
        scores[name] = result.best_score
        logger.info("%s: %.1f", name, result.best_score)
    return scores


def _claim(folder: Path, base: ContrastiveRecipe) -> None:
    path, text = folder / "recipe.yaml", to_yaml(base)
    if path.exists() and load_contrastive(path) != base:
        raise RecipeError(f"{folder} contains runs of another recipe. Use another --output")
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8"))


def _claim_text(folder: Path, name: str, datasets: list[Any]) -> None:
    """Record a hash of a run's additional text, which the recipe does not name.

    Raise an error if the folder has another hash for this run.
    """
    digest = hashlib.sha256()
    for rows, source in datasets:
        described = str(source).replace(", beside={}", "")  # so that older folders stay valid
        digest.update(json.dumps([rows, described]).encode())
    path = folder / "texts.json"
    texts = read_json(path) if path.exists() else {}
    if texts.setdefault(name, digest.hexdigest()) != digest.hexdigest():
        raise RecipeError(
            f"The training text of {name} in {folder} has changed. Use another --output"
        )
    write_json(path, texts)
