"""`paraphrastic train RECIPE --output DIR [--key value]`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

EXAMPLES = """examples:
  paraphrastic train recipes/simple-and-effective-2019/sp.yaml --data-root DATA --output runs/sp
  paraphrastic train own.yaml --output runs/mine --sources mine.tsv more.tsv.gz
  paraphrastic train own.yaml --output runs/mine \\
      --sources '{path: a.en, second: a.fr, languages: [en, fr]}'

Any key of a recipe can be set with --key value, by its full name (--training.margin 0.5) or, where
that is unambiguous, its last name (--margin 0.5). The keys:
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("recipe", help="YAML recipe")
    parser.add_argument(
        "--output", required=True, help="directory of the finished model; run again to resume"
    )
    parser.add_argument(
        "--data-root", help="folder that paths in the recipe start from (or PARAPHRASTIC_DATA)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="start afresh where --output holds another run"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    parser.epilog = EXAMPLES + describe_keys().replace("%", "%%")
    parser.set_defaults(run=run, takes_overrides=True)


def run(arguments: argparse.Namespace) -> None:
    """Train, then say where the model is."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    from paraphrastic_hf.recipe import load_recipe
    from paraphrastic_hf.training.arguments import Recipe
    from paraphrastic_hf.training.train import train

    recipe = load_recipe(Recipe, arguments.recipe, arguments.overrides)
    result = train(
        recipe,
        arguments.output,
        data_root=arguments.data_root,
        overwrite=arguments.overwrite,
        progress=not arguments.quiet,
    )
    rate = f", {result.pairs / result.seconds:,.0f} pairs/s" if result.seconds else ""
    best = result.best_score
    score = f", {recipe.run.development} {best:.1f}" if best is not None else ""
    print(f"{Path(arguments.output)}: {result.step:,} steps{rate}{score}")


def describe_keys() -> str:
    """A line for every key of a recipe."""
    from paraphrastic_hf.recipe import key_paths
    from paraphrastic_hf.training.arguments import Recipe, SourceArguments

    keys = key_paths(Recipe) | {
        f"data.sources[].{k}": field for k, field in key_paths(SourceArguments).items()
    }
    lines = []
    for name, field in keys.items():
        choices = field.metadata["choices"]
        lines.append(
            f"  {name:34s} {field.metadata['help']}"
            + (f" ({', '.join(choices)})" if choices else "")
        )
    return "\n".join(lines)
