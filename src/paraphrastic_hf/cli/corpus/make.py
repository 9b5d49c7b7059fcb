"""`paraphrastic corpus make RECIPE --output DIR`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from paraphrastic_hf.cli.shared.keys import Fields, add_keys_option
from paraphrastic_hf.cli.shared.options import add_data_option, shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted
from paraphrastic_hf.extras import require

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.make import Made
    from paraphrastic_hf.pipelines.recipe import CorpusRecipe

EPILOG = """\
A recipe names bitext, an engine that translates one side into the language of the references, and
steps. A step scores every pair and keeps those within its bounds. Rejected pairs are written to
DIR/rejects with the step, the score and the reason. Without the step translate, the recipe filters
the bitext itself, for example by meaning: cross_lingual_score, semantic_duplicates, exclude.

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

Set any key of the recipe with --KEY VALUE (--workers 2). A recipe may name a program, which this
command then runs (engine.kind: command). Read a recipe from elsewhere as you would read a script.

The same command resumes an interrupted run. Workers and executor may change, the number of tasks
may not. With the executor slurm the command submits jobs and returns. Repeat it when the jobs have
ended to count the rows and write the card. The folder loads with `datasets.load_dataset`, and as a
source of `paraphrastic train`.

examples:
  paraphrastic corpus make demo/clean --output corpora/clean
  paraphrastic corpus make back-translation-2017/smoke --output corpora/smoke
  paraphrastic corpus make paranmt-2018/spanish --data DATA --output corpora/es --workers 2
  paraphrastic corpus make mine.yaml --output corpora/mine --executor slurm --partition cpu
  paraphrastic corpus make paranmt-2018/spanish --keys"""


def configure(parser: Parser) -> None:
    parser.option("recipe", "recipe of the corpus: a YAML file, or the name of a packaged recipe")
    add_keys_option(parser, _load, more=_source_and_step_fields)
    parser.option(
        "--output DIR", "folder to write. The same command resumes a stopped run", required=True
    )
    add_data_option(parser, "base of relative paths in the recipe")
    parser.flag("--overwrite", "start again if --output holds another corpus")
    parser.flag("--quiet", "show no progress bars")
    parser.set_defaults(takes_overrides=True, recipe_kinds=("corpus",))


def run(arguments: argparse.Namespace) -> None:
    require("corpora", "datatrove", "torch", what="corpus make")
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("paraphrastic_hf.io.pairs").setLevel(logging.INFO)  # names the columns read
    from paraphrastic_hf.pipelines.make import make_corpus
    from paraphrastic_hf.pipelines.recipe import load_corpus_recipe

    recipe = load_corpus_recipe(arguments.recipe, arguments.overrides)
    made = make_corpus(
        recipe,
        arguments.output,
        data_root=arguments.data,
        overwrite=arguments.overwrite,
        progress=shows_progress(arguments),
    )
    print(summary(made, Path(arguments.output)))


def summary(made: Made, output: Path) -> str:
    """Describe how many rows each step kept, or how many tasks are unfinished."""
    if made.unfinished:
        return (
            f"{output}: {counted(made.unfinished, 'task')} running or failed (logs in "
            f"{output}/logs). Repeat the command when they have ended"
        )
    lines = [f"{'step':24s} {'kept':>12s} {'left out':>12s} {'seconds':>10s}"]
    lines += [
        f"{step.step:24s} {step.kept:12,} {step.rejected:12,} {step.seconds:10,.1f}"
        for step in made.steps
    ]
    return "\n".join([*lines, f"{output}: {counted(made.rows, 'row')} of {made.read:,}"])


def _load(name: str) -> CorpusRecipe:
    from paraphrastic_hf.pipelines.recipe import load_corpus_recipe

    return load_corpus_recipe(name)


def _source_and_step_fields() -> Fields:
    """Return the recipe fields of a data source and of each step, by key."""
    from paraphrastic_hf.config.recipe import key_paths
    from paraphrastic_hf.pipelines.recipe import BitextArguments
    from paraphrastic_hf.pipelines.steps.registry import STEPS

    found = {f"data.sources[].{key}": each for key, each in key_paths(BitextArguments).items()}
    for name, step in STEPS.items():
        found |= {f"steps.{name}.{key}": each for key, each in key_paths(step).items()}
    return found
