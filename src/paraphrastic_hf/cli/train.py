"""`paraphrastic train RECIPE --output DIR [--key value]`."""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.keys import Fields, add_keys_option
from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import add_data_option, data_root, shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.storage.locate import LOADED, LOADERS, OWN
from paraphrastic_hf.errors import counted

if TYPE_CHECKING:
    from paraphrastic_hf.training.engine.progress import Progress
    from paraphrastic_hf.training.kinds import Recipe

logger = logging.getLogger(__name__)
SPLITS = ("validation", "test")
BESIDE = {  # options of `paraphrase`, by the second input of a model (`template` in its config)
    "none": "--canonical",
    "template": "--templates top20",
    "parse": "--template-file parses.txt",
}
EPILOG = """\
Set any key of the recipe with --KEY VALUE: by its full name (--training.margin 0.5), or by its last
part if that is unique (--margin 0.5).

A recipe may name Python code, which training then runs (engine: python, metric: function,
model.kind: module:Class). Read a recipe from elsewhere as you would read a script.

examples:
  paraphrastic train own --sources mine.tsv more.tsv.gz --output runs/mine
  paraphrastic train simple-and-effective-2019/sp --data DATA --output runs/sp
  paraphrastic train own --sources '{path: a.en, second: a.fr, languages: [en, fr]}' --output out"""


class _List(argparse.Action):
    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from paraphrastic_hf.config.packaged_recipes import describe_recipes

        print(f"{'recipe':56} minutes  what it trains")
        for name, minutes, sentence in describe_recipes():
            print(f"{name:56} {minutes:>7}  {sentence}")
        parser.exit()


def configure(parser: Parser) -> None:
    parser.option("recipe", "recipe to train: a YAML file, or a packaged recipe (--list)")
    parser.add_argument(
        "--list", action=_List, help="print packaged recipes with training minutes on two cores"
    )
    add_keys_option(parser, _load, more=source_fields)
    parser.option(
        "--output DIR",
        "model directory to write. The same command resumes an interrupted run, and trains a "
        "finished run longer with more --epochs or --steps",
        required=True,
    )
    add_data_option(
        parser,
        "base of relative paths in the recipe, tried before the working folder. Corpora that are "
        "neither there nor in $PARAPHRASTIC_DATA are downloaded",
    )
    parser.flag("--overwrite", "start again if --output holds another run")
    parser.flag("--quiet", "show no progress bars")
    parser.set_defaults(takes_overrides=True)


def run(arguments: argparse.Namespace) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name in ("accelerate", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)
    from paraphrastic_hf.io.files import read_json
    from paraphrastic_hf.training.data.sources import check_sources
    from paraphrastic_hf.training.engine.run_folder import is_finished
    from paraphrastic_hf.training.kinds import JOBS, load_recipe

    recipe, output = load_recipe(arguments.recipe, arguments.overrides), Path(arguments.output)
    check_output(arguments.output, is_folder=True)
    if arguments.data is not None:
        data_root(arguments.data, "the training text")
    if arguments.overwrite or not is_finished(output, recipe):
        check_sources(recipe, arguments.data)  # also in `train`, but torch takes seconds to import
    result = _train(recipe, arguments)
    per_second = f"{JOBS[recipe.kind].examples}/s"
    rate = f", {result.examples / result.seconds:,.0f} {per_second}" if result.seconds else ""
    record = read_json(output / "run.json")
    outcome = _outcome(record, result.best_score) + change(record)
    print(f"{output}: {counted(result.step, 'step')}{rate}{outcome}")
    print(f"The model is in {output}. Try: {next_command(output)}")


def next_command(model: Path) -> str:
    """Return a command or Python code that uses a trained model."""
    from paraphrastic_hf.io.files import read_json

    config = read_json(model / "config.json")
    kind = str(config.get("model_type", "")).removeprefix(OWN)
    stock = "Translator" if config.get("is_encoder_decoder") else "SentenceEncoder"
    loader = LOADERS.get(kind, (stock,))[0]
    if "template" in config:  # also stock models
        loader = "SyntacticParaphraser"
    name = shlex.quote(str(model))
    if config.get("writes") == "parse":
        return f"{loader}.from_pretrained(..., generator={str(model)!r}) in Python"
    if loader == "SentenceEncoder":
        return f"paraphrastic score {name} pairs.tsv"
    if loader == "SyntacticParaphraser":
        return f"paraphrastic paraphrase {name} lines.txt {BESIDE[config.get('template', 'none')]}"
    command = LOADED[loader][1]
    if command is None:
        return f"{loader}.from_pretrained({str(model)!r}) in Python"
    file = "texts.tsv" if command == "predict" else "lines.txt"
    return f"paraphrastic {command} {name} {file}"


def source_fields() -> Fields:
    """Return the recipe fields of a data source, by the keys that `--keys` shows."""
    from paraphrastic_hf.config.recipe import key_paths
    from paraphrastic_hf.training.engine.recipe import SourceArguments

    return {f"data.sources[].{key}": field for key, field in key_paths(SourceArguments).items()}


def _load(name: str) -> Any:
    from paraphrastic_hf.training.kinds import load_recipe

    return load_recipe(name)


def _train(recipe: Recipe, arguments: argparse.Namespace) -> Progress:
    from paraphrastic_hf.training.engine.run import train

    if arguments.quiet:
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
    progress = shows_progress(arguments)
    if not progress and not arguments.quiet:
        logger.info("Losses and scores go to %s", Path(arguments.output, "logs", "train.jsonl"))
    return train(
        recipe,
        arguments.output,
        data_root=arguments.data,
        overwrite=arguments.overwrite,
        progress=progress,
    )


def change(run: Mapping[str, Any]) -> str:
    """Describe the development score before and after training, from the record of a run.

    Example:
        >>> change({"change": {"before": 61.04, "after": 71.2, "p_value": 0.02}})
        '; development score 61.04 before training, 71.20 after, p 0.020'
    """
    found = run.get("change")
    if found is None:
        return ""
    from paraphrastic_hf.metrics.resampling import p_text

    text = p_text(found["p_value"])
    before, after = (f"{found[key]:.2f}" for key in ("before", "after"))
    p_value = f", p {text}" if text else ""
    return f"; development score {before} before training, {after} after{p_value}"


def _outcome(run: Mapping[str, Any], best_score: float | None) -> str:
    if "measure" in run:
        scores = (f"{split} {run['measure']} {run[split][run['measure']]:.2f}" for split in SPLITS)
        return "".join(f", {score}" for score in scores) + " (x 100)"
    if "perplexity" in run.get("held_out", ()):
        return f", perplexity {run['held_out']['perplexity']:.1f} of held-out sentences"
    if "expected_cost" in run.get("held_out", ()):
        cost = run["held_out"]["expected_cost"]
        return f", expected cost {cost:.1f} of held-out sentences (x 100)"
    if best_score is None:
        return ""
    from paraphrastic_hf.training.engine.score_units import unit_of

    name = run["development"]
    return f", {name} {best_score:.2f} ({unit_of(name)})"
