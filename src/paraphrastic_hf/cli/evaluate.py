"""`paraphrastic evaluate MODEL --suite NAME... --data DIR --output DIR`."""

from __future__ import annotations

import argparse
import os
import sys

from paraphrastic_hf.cli.folders import add_data_option, evaluation_folder
from paraphrastic_hf.cli.latent import add_latent_option
from paraphrastic_hf.cli.lines import holds_output
from paraphrastic_hf.cli.parser import Parser
from paraphrastic_hf.cli.smaller import add_smaller_options, smaller
from paraphrastic_hf.encoding.locate import check_model_name
from paraphrastic_hf.errors import DataError

EPILOG = """\
With --output DIR each suite writes SUITE.json, SUITE.md and SUITE.png there; finished tasks are
kept in DIR/tasks, so the same command goes on where it was interrupted. A task whose data is not in
the folder is named and skipped; then the exit status is 3. Kept tasks count for the same model,
version, files of the folder and protocol of the suite; speed is measured anew each time.

examples:
  paraphrastic evaluate english --data DATA
  paraphrastic evaluate runs/sp --suite all --data DATA --output runs/sp/evaluation
  paraphrastic evaluate english --dimension 80 --precision int4 --data DATA"""


def configure(parser: Parser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, or the name of a model on the Hub; any sentence-transformers model"
        " will do",
    )
    parser.add_argument(
        "--suite",
        nargs="+",
        default=["sts"],
        metavar="NAME",
        help="the suites to run, or all (default: sts)",
    )
    add_data_option(parser, "or its folder eval, which holds the official files")
    parser.add_argument(
        "--output",
        help="write tables, plots and finished tasks into this folder (default: print the tables "
        "only)",
    )
    parser.add_argument(
        "--name", help="what to call the model in the report (default: the last part of its path)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    add_smaller_options(parser)
    parser.late_epilog = _epilog
    add_latent_option(parser)
    parser.set_defaults(run=run)


def _epilog() -> str:
    from paraphrastic_hf.evaluation.suites import SUITES

    suites = "\n".join(f"  {name:12} {suite.summary}" for name, suite in SUITES.items())
    return f"suites:\n{suites}\n\n{EPILOG}"


@holds_output("evaluating")
def run(arguments: argparse.Namespace) -> int:
    """Score the model on each suite, print the tables, and write the reports."""
    check_model_name(arguments.model)
    data_dir = evaluation_folder(arguments.data)
    from paraphrastic_hf.encoding.load import load_encoder
    from paraphrastic_hf.evaluation.report import markdown, refuse_other_results, write_report
    from paraphrastic_hf.evaluation.run import chosen_suites, evaluate

    suites, name = chosen_suites(arguments.suite), arguments.name or _name(arguments)
    if arguments.output:
        refuse_other_results(arguments.output, suites, name)
    encoder = smaller(
        load_encoder(arguments.model, latent=arguments.latent), arguments, arguments.model
    )
    skipped = 0
    for suite in suites:
        try:
            results = evaluate(
                encoder,
                suite,
                data_dir,
                name=name,
                keep=os.path.join(arguments.output, "tasks") if arguments.output else None,
                progress=not arguments.quiet and sys.stderr.isatty(),
            )
        except DataError as error:
            if len(suites) == 1:
                raise
            print(f"paraphrastic evaluate: skipped {suite}: {error}", file=sys.stderr)
            skipped += 1
            continue
        skipped += len(results["skipped"])
        paths = write_report(results, arguments.output) if arguments.output else []
        print(markdown(results), *paths, sep="\n")
    if skipped:
        print(f"paraphrastic evaluate: {skipped} skipped, see above", file=sys.stderr)
    return 3 if skipped else 0


def _name(arguments: argparse.Namespace) -> str:
    """What tables call the model: its folder, and what was asked for besides."""
    folder = os.path.basename(os.path.normpath(arguments.model))
    others = (arguments.latent, arguments.dimension, arguments.precision)
    return "-".join([folder, *(str(each) for each in others if each is not None)])
