"""`paraphrastic tune RECIPE --grid KEY=A,B --output DIR [--key value]`."""

import argparse
import json
import logging
from collections.abc import Sequence
from typing import Any

from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import add_data_option, data_root, shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.config.parse_yaml import parse_yaml
from paraphrastic_hf.config.recipe import convert_key, full_key
from paraphrastic_hf.errors import RecipeError

EPILOG = """\
A trial trains the recipe with one combination of the values in --grid. Its score is the best score
on the recipe's development set (run.development). A key has its full name (training.margin), or its
last part if that is unique. `paraphrastic train RECIPE --keys` lists the keys. Values are
YAML, so one may be a list: --grid orders=[2,3],[2,3,4]. --KEY VALUE sets a key for all trials.

Unknown keys and wrong values are refused before the first trial. A trial whose settings contradict
each other, or whose loss diverges, is recorded as failed, and the search continues.

The output folder holds:
  best.yaml    the recipe with the best settings, for `paraphrastic train`
  best         the model with the best settings
  trials.md    all trials, best first
  trials.png   scores over the values of each key
  trials.jsonl all trials, from which the search resumes
  text.json    hashes of the training text and models, which may not change

The same command resumes a search, and the running trial from its last checkpoint
(run.checkpoint_every). You may add values of the same keys, or trials. Finished trials are not run
again. The best of many scores is partly luck: compare it on other data.

examples:
  paraphrastic tune recipes/towards-universal-2016/paragram-phrase.yaml --data DATA \\
      --grid margin=0.4,0.6,0.8 --grid lambda_w=1e-5,1e-6,1e-7 --output tuned
  paraphrastic tune own.yaml --grid margin=0.3,0.4,0.5 --grid learning_rate=1e-4,1e-3,1e-2 \\
      --grid embedding_dropout=0,0.1,0.3 --sampler tpe --trials 12 --output tuned

--sampler tpe requires Optuna: pip install 'paraphrastic-hf[tune]'"""


def configure(parser: Parser) -> None:
    parser.option("recipe", "recipe with a development set: YAML file or packaged name")
    parser.option(
        "--grid KEY=A,B,...",
        "values to try for a recipe key. Repeat the option for each key",
        action="append",
        required=True,
    )
    parser.option(
        "--output DIR", "folder of the search. The same command resumes it", required=True
    )
    parser.option(
        "--sampler",
        "order of the trials: all combinations in order (grid), at random with the recipe's "
        "seed, or near good settings (tpe)",
        default="grid",
        choices=("grid", "random", "tpe"),
    )
    parser.option("--trials N", "number of trials (default: all combinations)", least=1)
    add_data_option(parser, "base of relative paths in the recipe")
    parser.flag("--quiet", "show no progress bars")
    parser.set_defaults(takes_overrides=True, recipe_kinds=("contrastive",))


def run(arguments: argparse.Namespace) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("accelerate").setLevel(logging.WARNING)
    from pathlib import Path

    from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
    from paraphrastic_hf.training.kinds import load_contrastive

    recipe = load_contrastive(arguments.recipe, arguments.overrides)
    check_output(arguments.output, is_folder=True)
    if arguments.data is not None:
        data_root(arguments.data, "the training text")
    grid = parse_grid(ContrastiveRecipe, arguments.grid)
    from paraphrastic_hf.training.search import table, tune

    trials = tune(
        recipe,
        grid,
        arguments.output,
        sampler=arguments.sampler,
        trials=arguments.trials,
        data_root=arguments.data,
        progress=shows_progress(arguments),
    )
    print("\n".join(table(trials, recipe.run.development)))
    print(
        f"\n{Path(arguments.output) / 'best.yaml'}: the recipe with the settings of the first line"
    )


def parse_grid(cls: type, texts: Sequence[str]) -> dict[str, list[Any]]:
    """Parse `--grid` options. Return the list of values of each full key.

    Values are YAML: `orders=[2,3],[2,3,4]` is two lists.
    """
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        key = full_key(cls, name.strip().removeprefix("--"))
        values = parse_yaml(f"[{listed}]", f"the values of {key} in {text[:80]!r}")
        values = [convert_key(cls, key, value) for value in values or []]
        if not values:
            raise RecipeError(f"--grid {key} has no values. Write {key}=FIRST,SECOND")
        if key in grid or len(set(map(json.dumps, values))) < len(values):
            raise RecipeError(f"--grid repeats {key} or one of its values. Remove the repetition")
        grid[key] = values
    return grid
