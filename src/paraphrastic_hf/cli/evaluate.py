"""`paraphrastic evaluate MODEL --suite NAME... --data DIR`, or `--pairs FILE`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.lines import add_json_option, dump_json, holds_output
from paraphrastic_hf.cli.shared.options import (
    add_data_option,
    add_encoder_options,
    add_smaller_options,
    evaluation_folder,
    named_encoder,
    shows_progress,
    smaller,
)
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, MissingExtraError, RecipeError, counted

if TYPE_CHECKING:
    from paraphrastic_hf.evaluation.own import OwnPairs

EPILOG = """\
The command prints the main scores of each suite. With --output DIR each suite writes SUITE.json,
SUITE.md and SUITE.png, which have the scores of every dataset. Finished tasks are kept in
DIR/tasks, so the same command resumes an interrupted evaluation. A kept task is reused if the
model, the package version, the data files and the protocol are unchanged. Speed is always measured
again. A task without data is skipped with a message, and the exit status is 3.

--pairs FILE scores the model on pairs of your own (TSV, CSV, JSON Lines or parquet). The measures
depend on the third column. Each has a 95 % bootstrap interval.
  scores           Pearson's r, Spearman's rho
  labels, 0 or 1   average precision, accuracy at the best threshold
  none             the second text answers the first: accuracy@1 and @5, MRR@10, nDCG@10

examples:
  paraphrastic evaluate english --pairs mine.tsv
  paraphrastic evaluate runs/sp --suite all --data DATA --output runs/sp/evaluation
  paraphrastic evaluate english --dimension 80 --precision int4 --data DATA"""


def configure(parser: Parser) -> None:
    parser.option(
        "model",
        "model directory, packaged model (english, multilingual, tiny), Hub repository, or "
        "any sentence-transformers model",
    )
    add_test_options(parser, "suites to run, listed below, or all")
    parser.option(
        "--output DIR", "folder for tables, plots and finished tasks (default: only print)"
    )
    parser.option("--name", "name of the model in the report (default: last part of its path)")
    add_json_option(parser, "an object per suite with headline, rows and settings")
    parser.flag("--quiet", "show no progress bar")
    add_smaller_options(parser)
    add_encoder_options(parser)
    parser.epilog = f"suites:\n{_suites()}\n\n{EPILOG}"


def add_test_options(parser: Parser, suites: str) -> None:
    """Add the options for suites and own pairs. `suites` is the help of `--suite`."""
    parser.option("--suite NAME", f"{suites} (default: sts, or none with --pairs)", nargs="+")
    parser.option(
        "--pairs FILE", "file of your own pairs: two texts and, if any, a score or a label (0 or 1)"
    )
    parser.option(
        "--columns NAME",
        "columns of --pairs, by name or by number from 1: the two texts, then the score or "
        "label, if any (default: detected by name and content)",
        nargs="+",
    )
    add_data_option(parser, "the suites read its folder eval")


def chosen_tests(arguments: argparse.Namespace) -> tuple[list[str], str, OwnPairs | None]:
    """Return the names of the suites, their data folder, and the own pairs."""
    columns = arguments.columns
    if columns is not None and (arguments.pairs is None or len(columns) not in (2, 3)):
        given = " ".join(columns)
        raise RecipeError(f"--columns must name two or three columns of --pairs FILE, got {given}")
    own = None
    if arguments.pairs is not None:
        from paraphrastic_hf.evaluation.own import read_own_pairs

        own = read_own_pairs(arguments.pairs, columns)
    suites = arguments.suite or ([] if own is not None else ["sts"])
    return suites, evaluation_folder(arguments.data) if suites else "", own


def _suites() -> str:
    try:
        from paraphrastic_hf.evaluation.registry import SUITES
    except MissingExtraError as error:
        return f"  {error}"
    return "\n".join(f"  {name:12} {suite.summary}" for name, suite in SUITES.items())


@holds_output("evaluating")
def run(arguments: argparse.Namespace) -> int:
    asked, data_dir, own = chosen_tests(arguments)
    from paraphrastic_hf.evaluation.own import evaluate_pairs
    from paraphrastic_hf.evaluation.report import refuse_other_results
    from paraphrastic_hf.evaluation.run import chosen_suites, evaluate

    suites, name = chosen_suites(asked), arguments.name or _name(arguments)
    if arguments.output:
        written = [*suites, *([] if own is None else [own.name])]
        refuse_other_results(arguments.output, written, name)
    encoder = smaller(named_encoder(arguments), arguments, arguments.model)
    skipped = 0
    for suite in suites:
        try:
            results = evaluate(
                encoder,
                suite,
                data_dir,
                name=name,
                keep=os.path.join(arguments.output, "tasks") if arguments.output else None,
                progress=shows_progress(arguments),
            )
        except DataError as error:
            if len(suites) == 1:
                raise
            print(f"paraphrastic evaluate: skipped {suite}: {error}", file=sys.stderr)
            skipped += 1
            continue
        skipped += len(results["skipped"])
        _report(results, arguments)
    if own is not None:
        _report(evaluate_pairs(encoder, own, name=name), arguments)
    if skipped:
        print(f"paraphrastic evaluate: {skipped} skipped, see above", file=sys.stderr)
    return 3 if skipped else 0


def _report(results: dict[str, Any], arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.evaluation.registry import SUITES
    from paraphrastic_hf.evaluation.report import summary, write_report

    paths = write_report(results, arguments.output) if arguments.output else []
    if arguments.json:
        dump_json(results, sys.stdout, indent=None)
    elif results["suite"] in SUITES:
        place = f"in {paths[1]}, .json and .png" if paths else "pass --output DIR or --json"
        scores = f"Scores of {counted(len(results['rows']), 'dataset')}: {place}."
        print(summary(results, [scores]))
    else:  # own pairs, whose rows have the intervals
        print(summary(results, [str(path) for path in paths], with_rows=True))


def _name(arguments: argparse.Namespace) -> str:
    folder = os.path.basename(os.path.normpath(arguments.model))
    others = (arguments.latent, arguments.dimension, arguments.precision)
    return "-".join([folder, *(str(each) for each in others if each is not None)])
