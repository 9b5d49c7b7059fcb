"""`paraphrastic tune RECIPE --grid KEY=A,B --output DIR [--key value]`."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Sequence
from typing import Any

from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import add_data_option
from paraphrastic_hf.config.parse_yaml import parse_yaml
from paraphrastic_hf.config.recipe import convert_key, full_key
from paraphrastic_hf.errors import RecipeError

EXAMPLES = """Needs Optuna: pip install 'paraphrastic-hf[tune]'

examples:
  paraphrastic tune recipes/towards-universal-2016/paragram-phrase.yaml --data DATA \\
      --grid margin=0.4,0.6,0.8 --grid lambda_w=1e-5,1e-6,1e-7 --output tuned
  paraphrastic tune own.yaml --grid batch_size=64,128,256 --grid negatives=max,mix \\
      --sources mine.tsv --epochs 2 --development clean --output tuned
  paraphrastic tune own.yaml --grid margin=0.3,0.4,0.5 --grid learning_rate=1e-4,1e-3,1e-2 \\
      --grid embedding_dropout=0,0.1,0.3 --sampler tpe --trials 12 --output tuned
  paraphrastic train tuned/best.yaml --data DATA --epochs 10 --output runs/best

Every trial trains the recipe with other values of the keys in --grid, and counts by its best score
on the recipe's development set (run.development). A key goes by its full name (training.margin) or,
where that is unambiguous, its last; `paraphrastic train --help` lists them. Values are YAML, so one
may be a list: --grid orders=[2,3],[2,3,4]. Any other key of the recipe can be set for all trials
with --key value. A wrong key or value is refused before the first run; settings that do not go
together, or whose loss runs away, are recorded as failed, and the search goes on.

What is in the output folder:
  best.yaml    the recipe with the best settings, for `paraphrastic train`
  best         the model that they trained
  trials.md    all trials, best first (trials.tsv: the same for programs)
  trials.png   every trial over each key's values
  optuna.log   the same as a journal of Optuna's, by which the search resumes
  text.json    hashes of the text and models of all trials, which may not change

Stop it whenever you like: the same command goes on, and the trial that was running resumes from its
last checkpoint, if it has one (run.checkpoint_every). More values of the same keys, or more trials,
may be given then; what has been tried is not run again. Scores are of one seed, and the best of
many is a little lucky: compare it on other data than it was chosen by.
"""


def _trials(text: str) -> int:
    if int(text) < 1:
        raise ValueError
    return int(text)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "recipe",
        help="the recipe whose settings are searched, with a development set: a YAML file, or the "
        "name of one that comes with the package",
    )
    parser.add_argument(
        "--grid",
        action="append",
        required=True,
        metavar="KEY=A,B,...",
        help="the values to try for a key of the recipe; give this option once for each key",
    )
    parser.add_argument(
        "--output",
        required=True,
        help="the folder of the search; the same command goes on with an interrupted one",
    )
    parser.add_argument(
        "--sampler",
        choices=("grid", "random", "tpe"),
        default="grid",
        help="the order in which settings are tried: as they stand in the grid (default), at "
        "random by the recipe's seed, or near good ones (tpe)",
    )
    parser.add_argument(
        "--trials",
        type=_trials,
        metavar="N",
        help="stop after this many settings (default: try them all)",
    )
    add_data_option(parser, "from which paths in the recipe start")
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.epilog = EXAMPLES.replace("%", "%%")
    parser.set_defaults(run=run, takes_overrides=True, recipe_kinds=("contrastive",))


def run(arguments: argparse.Namespace) -> None:
    """Search, then show the trials and where the best recipe is."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    from pathlib import Path

    from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
    from paraphrastic_hf.training.data.sources import check_text
    from paraphrastic_hf.training.engine.run_folder import refuse_taken
    from paraphrastic_hf.training.kinds import load_contrastive

    recipe = load_contrastive(arguments.recipe, arguments.overrides)
    check_output(arguments.output, is_folder=True)
    refuse_taken(Path(arguments.output), recipe, overwrite=False)
    grid = parse_grid(ContrastiveRecipe, arguments.grid)
    check_text(recipe, arguments.data)  # before seconds of imports
    from paraphrastic_hf.training.search import table, tune

    trials = tune(
        recipe,
        grid,
        arguments.output,
        sampler=arguments.sampler,
        trials=arguments.trials,
        data_root=arguments.data,
        progress=not arguments.quiet,
    )
    print("\n".join(table(trials, recipe.run.development)))
    print(
        f"\n{Path(arguments.output) / 'best.yaml'}: the recipe with the settings of the first line"
    )


def parse_grid(cls: type, texts: Sequence[str]) -> dict[str, list[Any]]:
    """`["margin=0.4,0.6"]` to `{"training.margin": [0.4, 0.6]}`.

    Values are YAML: `orders=[2,3],[2,3,4]` is two lists.

    Example:
        >>> from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
        >>> parse_grid(ContrastiveRecipe, ["margin=0.4,0.6", "negatives=max,mix"])
        {'training.margin': [0.4, 0.6], 'training.negatives': ['max', 'mix']}
    """
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        key = full_key(cls, name.strip().removeprefix("--"))
        values = parse_yaml(f"[{listed}]", f"the values of {key} in {text[:80]!r}")
        values = [convert_key(cls, key, value) for value in values or []]
        if not values:
            raise RecipeError(f"{key} has no values to try: write {key}=FIRST,SECOND")
        if key in grid or len(set(map(json.dumps, values))) < len(values):
            raise RecipeError(f"{key} or one of its values is given twice in the grid")
        grid[key] = values
    if not grid:
        raise RecipeError("there is nothing to search: give --grid KEY=FIRST,SECOND")
    return grid
