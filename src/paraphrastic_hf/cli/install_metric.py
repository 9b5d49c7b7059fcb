"""`paraphrastic install-metric`."""

import argparse

from paraphrastic_hf.cli.shared.parser import Parser

EPILOG = """\
Afterwards `evaluate.load("simile")` works in any directory, and so does `evaluate.load(PATH)` with
the printed path. Offline, set HF_EVALUATE_OFFLINE=1. Otherwise `evaluate` asks the Hub first.
Repeat the command after each update of the package.

examples:
  paraphrastic install-metric"""


def configure(parser: Parser) -> None:
    parser.option("--cache DIR", "cache of evaluate's modules (default: $HF_MODULES_CACHE)")


def run(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.extras import require
    from paraphrastic_hf.metrics.install import install_metric

    require("metric", "evaluate", what="the metric")
    print(install_metric(arguments.cache))
