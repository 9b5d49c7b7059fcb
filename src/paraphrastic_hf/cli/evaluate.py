"""`paraphrastic evaluate MODEL --suite sts --data-dir DIR --output DIR`."""

from __future__ import annotations

import argparse
import os

from paraphrastic_hf.errors import DataError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model", help="model directory or Hub name; any sentence-transformers model will do"
    )
    parser.add_argument(
        "--suite", default="sts", help="sts (default), or wmt-da: SimiLE as a judge of translations"
    )
    parser.add_argument(
        "--data-dir", help="folder of the official files (default: PARAPHRASTIC_DATA/eval)"
    )
    parser.add_argument("--output", help="folder for results.json, results.md and a plot")
    parser.add_argument("--name", help="what to call the model in the report")
    parser.epilog = (
        "example:\n  paraphrastic evaluate runs/sp --data-dir DATA/eval --output runs/sp/evaluation"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Score the model, print the table, and write the report."""
    from paraphrastic_hf.encoding.load import load_encoder
    from paraphrastic_hf.evaluation.report import markdown, write_report
    from paraphrastic_hf.evaluation.suites import evaluate

    root = os.environ.get("PARAPHRASTIC_DATA")
    data_dir = arguments.data_dir or (os.path.join(root, "eval") if root else None)
    if data_dir is None:
        raise DataError("say where the official files are with --data-dir (or PARAPHRASTIC_DATA)")
    name = arguments.name or os.path.basename(os.path.normpath(arguments.model))
    results = evaluate(load_encoder(arguments.model), arguments.suite, data_dir, name=name)
    print(markdown(results))
    if arguments.output:
        for path in write_report(results, arguments.output):
            print(path)
