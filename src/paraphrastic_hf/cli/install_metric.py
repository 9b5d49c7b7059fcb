"""`paraphrastic install-metric`."""

from __future__ import annotations

import argparse

EPILOG = """\
After it, `evaluate.load("simile")` works in any directory. Without a network set
HF_EVALUATE_OFFLINE=1, or `evaluate` asks the Hub first and takes this copy when it has no answer.
Repeat it after an update of the package. Nothing is installed in other folders, and
`evaluate.load(PATH)` with the printed path works too.

examples:
  paraphrastic install-metric
  paraphrastic install-metric --space simile-space    # files of a Hub Space, to upload"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "--cache",
        help="the folder that `evaluate` loads modules from (default: its own, or "
        "HF_MODULES_CACHE)",
    )
    parser.add_argument(
        "--space",
        metavar="DIR",
        help="install nothing, and write the files of a Hub Space of the metric into DIR",
    )
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Install, and say where."""
    from paraphrastic_hf.extras import require
    from paraphrastic_hf.metrics.install import export_space, install_metric

    if arguments.space:
        for path in export_space(arguments.space):
            print(path)
    else:
        require("metric", "evaluate", what="the metric")
        print(install_metric(arguments.cache))
