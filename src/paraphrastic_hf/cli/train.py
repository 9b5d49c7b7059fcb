"""`paraphrastic train RECIPE --output DIR [--key value]`."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

SPLITS = ("validation", "test")
EXAMPLES = """examples:
  paraphrastic train recipes/simple-and-effective-2019/sp.yaml --data-root DATA --output runs/sp
  paraphrastic train own.yaml --output runs/mine --sources mine.tsv more.tsv.gz
  paraphrastic train recipes/towards-universal-2016/sick-averaging.yaml --data-root DATA \\
      --output runs/sick
  paraphrastic train own.yaml --output runs/mine \\
      --sources '{path: a.en, second: a.fr, languages: [en, fr]}'

Any key of a recipe can be set with --key value, by its full name (--training.margin 0.5) or, where
that is unambiguous, its last name (--margin 0.5). The keys:
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("recipe", help="the recipe to train, a YAML file")
    parser.add_argument(
        "--output",
        required=True,
        help="the model directory to write; the same command resumes an interrupted run",
    )
    parser.add_argument(
        "--data-root",
        help="the folder that paths in the recipe start from (default: PARAPHRASTIC_DATA)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="start afresh if --output holds another run"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.epilog = EXAMPLES + describe_keys().replace("%", "%%")
    parser.set_defaults(run=run, takes_overrides=True)


def run(arguments: argparse.Namespace) -> None:
    """Train, then say where the model is."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    from paraphrastic_hf.recipe import load_recipe
    from paraphrastic_hf.training.supervised_arguments import SupervisedRecipe, recipe_class

    recipe = load_recipe(recipe_class(arguments.recipe), arguments.recipe, arguments.overrides)
    settings = {
        "data_root": arguments.data_root,
        "overwrite": arguments.overwrite,
        "progress": not arguments.quiet,
    }
    if isinstance(recipe, SupervisedRecipe):
        from paraphrastic_hf.training.supervised import train_supervised

        result, unit = train_supervised(recipe, arguments.output, **settings), "examples"
        scores = _test_scores(Path(arguments.output))
    else:
        from paraphrastic_hf.training.train import train

        result, unit = train(recipe, arguments.output, **settings), "pairs"
        best = result.best_score
        scores = f", {recipe.run.development} {best:.1f}" if best is not None else ""
    rate = f", {result.pairs / result.seconds:,.0f} {unit}/s" if result.seconds else ""
    print(f"{Path(arguments.output)}: {result.step:,} steps{rate}{scores}")


def _test_scores(output: Path) -> str:
    run = json.loads((output / "run.json").read_text(encoding="utf-8"))
    shown = (f"{split} {run['measure']} {run[split][run['measure']]:.2f}" for split in SPLITS)
    return "".join(f", {score}" for score in shown)


def describe_keys() -> str:
    """A line for every key of a recipe."""
    from paraphrastic_hf.recipe import key_paths
    from paraphrastic_hf.training.arguments import Recipe, SourceArguments
    from paraphrastic_hf.training.supervised_arguments import SupervisedRecipe

    keys = key_paths(Recipe) | {
        f"data.sources[].{k}": field for k, field in key_paths(SourceArguments).items()
    }
    supervised = key_paths(SupervisedRecipe)
    own = {key: field for key, field in supervised.items() if keys.get(key) != field}
    heading = "\n\nOf a supervised recipe, one with a task, beside tokenizer and model:\n\n"
    return _lines_of(keys) + heading + _lines_of(own)


def _lines_of(keys: dict[str, Any]) -> str:
    return "\n".join(
        f"  {name:34s} {field.metadata['help']}"
        + (f" ({', '.join(field.metadata['choices'])})" if field.metadata["choices"] else "")
        for name, field in keys.items()
    )
