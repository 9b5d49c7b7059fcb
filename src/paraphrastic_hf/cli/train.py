"""`paraphrastic train RECIPE --output DIR [--key value]`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import add_data_option
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import counted

if TYPE_CHECKING:
    from paraphrastic_hf.training.engine.progress import Progress
    from paraphrastic_hf.training.kinds import Recipe

SPLITS = ("validation", "test")
EXAMPLES = """\
A recipe may name Python code, which training then runs (engine: python, metric: function,
model.kind: module:Class).
Read a recipe from elsewhere as you would read a script.

examples:
  paraphrastic train own --output runs/mine --sources mine.tsv more.tsv.gz
  paraphrastic train simple-and-effective-2019/sp --data DATA --output runs/sp
  paraphrastic train sick-averaging --data DATA --output runs/sick
  paraphrastic train bilingual-generative-2020/smoke --data DATA --output runs/bgt
  paraphrastic train own --output runs/mine \\
      --sources '{path: a.en, second: a.fr, languages: [en, fr]}'

Any key of a recipe can be set with --key value, by its full name (--training.margin 0.5) or, where
that is unambiguous, its last name (--margin 0.5). The keys:
"""


class _List(argparse.Action):
    """Prints the recipes and ends, as `--help` does."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from paraphrastic_hf.config.packaged_recipes import describe_recipes

        print(f"{'recipe':56} minutes  what it trains")
        for name, minutes, sentence in describe_recipes():
            print(f"{name:56} {minutes:>7}  {sentence}")
        parser.exit()


def configure(parser: Parser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "recipe",
        help="the recipe to train: a YAML file, or the name of one that comes with the package",
    )
    parser.add_argument(
        "--list",
        action=_List,
        help="print the recipes that come with the package, with their minutes on two cores",
    )
    parser.add_argument(
        "--output",
        required=True,
        help="the model directory to write; the same command resumes an interrupted run, and with "
        "more --epochs or --steps trains a finished one longer",
    )
    add_data_option(
        parser,
        "from which paths in the recipe start, and in which its corpora are; paths that are not "
        "there are looked for in the working folder, and without it corpora that PARAPHRASTIC_DATA "
        "has not are downloaded",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="start afresh if --output holds another run"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.late_epilog = lambda: EXAMPLES + describe_keys().replace("%", "%%")
    parser.set_defaults(run=run, takes_overrides=True)


def run(arguments: argparse.Namespace) -> None:
    """Train, then say where the model is."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name in ("accelerate", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)
    from paraphrastic_hf.io.files import read_json
    from paraphrastic_hf.training.data.sources import check_text
    from paraphrastic_hf.training.engine.run_folder import finished_run, is_finished, refuse_taken
    from paraphrastic_hf.training.kinds import JOBS, load_recipe

    recipe, output = load_recipe(arguments.recipe, arguments.overrides), Path(arguments.output)
    check_output(arguments.output, is_folder=True)
    refuse_taken(output, recipe, arguments.overwrite)
    if is_finished(output, recipe) and not arguments.overwrite:
        result = finished_run(output, recipe, arguments.data)
    else:
        check_text(recipe, arguments.data)
        result = _train(recipe, arguments)
    per_second = f"{JOBS[recipe.kind].examples}/s"
    rate = f", {result.examples / result.seconds:,.0f} {per_second}" if result.seconds else ""
    record = read_json(output / "run.json")
    outcome = _outcome(record, result.best_score) + change(record)
    print(f"{output}: {counted(result.step, 'step')}{rate}{outcome}")


def _train(recipe: Recipe, arguments: argparse.Namespace) -> Progress:
    from paraphrastic_hf.training.engine.run import train

    if arguments.quiet:
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
    return train(
        recipe,
        arguments.output,
        data_root=arguments.data,
        overwrite=arguments.overwrite,
        progress=not arguments.quiet,
    )


def change(run: Mapping[str, Any]) -> str:
    """The development score before and after training, by the record of a run.

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
    """Describe the result of a run: scores of splits, perplexity, or a development score."""
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


def describe_keys() -> str:
    """A line for every key of a recipe: those of contrastive ones, then what other kinds add."""
    from paraphrastic_hf.config.recipe import key_paths
    from paraphrastic_hf.training.engine.recipe import SourceArguments
    from paraphrastic_hf.training.kinds import JOBS

    source_keys = {f"data.sources[].{k}": field for k, field in key_paths(SourceArguments).items()}
    first, *others = JOBS
    known = key_paths(JOBS[first].recipe) | source_keys
    described = _lines_of(known)
    for kind in others:
        keys = key_paths(JOBS[kind].recipe)
        own = {key: field for key, field in keys.items() if not _is_known(key, field, known)}
        described += f"\n\nThese are other, or new, with kind: {kind}\n\n" + _lines_of(own)
    return described


def _is_known(key: str, field: Any, known: dict[str, Any]) -> bool:
    return key in known and known[key].metadata == field.metadata


def _lines_of(keys: dict[str, Any]) -> str:
    return "\n".join(
        f"  {name:34s} {field.metadata['help']}"
        + (f" ({', '.join(field.metadata['choices'])})" if field.metadata["choices"] else "")
        for name, field in keys.items()
    )
