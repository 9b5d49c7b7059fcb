"""`paraphrastic corpus make RECIPE --output DIR`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from paraphrastic_hf.cli.shared.options import add_data_option
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted
from paraphrastic_hf.extras import require

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.make import Made

EXAMPLES = """\
A recipe names bitext, what translates the other side into the language of the references, and the
steps: scores of every pair, with the bounds of those that are kept. Nothing is thrown away: what a
step leaves out is in DIR/rejects, with the step, the score and the reason.

  kind: corpus
  data:
    sources: [{path: es-en.tsv, languages: [en, es], license: CC-BY 4.0}]
  engine: {kind: apertium, model: spa-eng}
  steps:
    - words: {of: reference, at_most: 30}
    - translate
    - overlap: {at_most: 0.5}
    - paraphrase_score: {model: english, at_least: 0.4}
  make: {tasks: 16, workers: 2}

examples:
  paraphrastic corpus make back-translation-2017/smoke --output corpora/smoke
  paraphrastic corpus make paranmt-2018/spanish --data DATA --output corpora/es --workers 2
  paraphrastic corpus make mine.yaml --output corpora/mine --executor slurm --partition cpu

A recipe may name a program, which this command then runs (engine.kind: command). Read a recipe from
elsewhere as you would read a script.

The same command goes on where a run was interrupted, task by task; the number of workers and the
executor may change meanwhile, the number of tasks may not. With slurm the command submits jobs and
returns; given again when they have ended, it counts the rows and writes the card. The folder loads
with `datasets.load_dataset`, and as a source of `paraphrastic train`.

Any key of a recipe can be set with --key value. The keys:
"""


def configure(parser: Parser) -> None:
    """Add this action's arguments."""
    parser.add_argument(
        "recipe",
        help="the recipe to make: a YAML file, or the name of one that comes with the package",
    )
    parser.add_argument(
        "--output",
        required=True,
        help="the folder to write; the same command goes on where it was interrupted",
    )
    add_data_option(parser, "from which paths in the recipe start")
    parser.add_argument(
        "--overwrite", action="store_true", help="start afresh if --output holds another corpus"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.late_epilog = lambda: (EXAMPLES + _keys()).replace("%", "%%")
    parser.set_defaults(run=run, takes_overrides=True, recipe_kinds=("corpus",))


def run(arguments: argparse.Namespace) -> None:
    """Make the corpus, then say where it is and what each step left out."""
    require("corpora", "datatrove", "torch", what="corpus make")
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("paraphrastic_hf.io.pairs").setLevel(logging.INFO)  # which columns it takes
    from paraphrastic_hf.pipelines.make import make_corpus
    from paraphrastic_hf.pipelines.recipe import load_corpus_recipe

    recipe = load_corpus_recipe(arguments.recipe, arguments.overrides)
    made = make_corpus(
        recipe,
        arguments.output,
        data_root=arguments.data,
        overwrite=arguments.overwrite,
        progress=not arguments.quiet,
    )
    print(told(made, Path(arguments.output)))


def told(made: Made, output: Path) -> str:
    """What making a corpus came to, in lines for a reader."""
    if made.unfinished:
        return (
            f"{output}: {counted(made.unfinished, 'task')} at work or failed (logs in "
            f"{output}/logs); "
            "give the same command again when they have ended"
        )
    lines = [f"{'step':24s} {'kept':>12s} {'left out':>12s} {'seconds':>10s}"]
    lines += [
        f"{step.step:24s} {step.kept:12,} {step.rejected:12,} {step.seconds:10,.1f}"
        for step in made.steps
    ]
    return "\n".join([*lines, f"{output}: {counted(made.rows, 'row')} of {made.read:,}"])


def _keys() -> str:
    """A line for every key of a recipe, and for every step."""
    from paraphrastic_hf.config.recipe import key_paths
    from paraphrastic_hf.pipelines.recipe import BitextArguments, CorpusRecipe
    from paraphrastic_hf.pipelines.steps.registry import STEPS

    sources = {f"data.sources[].{key}": each for key, each in key_paths(BitextArguments).items()}
    keys = "\n".join(
        f"  {name:30s} {field.metadata['help']}"
        + (f" ({', '.join(field.metadata['choices'])})" if field.metadata["choices"] else "")
        for name, field in (key_paths(CorpusRecipe) | sources).items()
    )
    steps = "\n".join(f"  {name:30s} {', '.join(key_paths(step))}" for name, step in STEPS.items())
    return f"{keys}\n\nThe steps, with their keys:\n\n{steps}"
