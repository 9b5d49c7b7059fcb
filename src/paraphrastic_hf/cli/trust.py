"""`--trust-remote-code`, the option of commands that load models of any origin."""

from __future__ import annotations

import argparse


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """Add `--trust-remote-code`."""
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run Python code that comes with a model of another library; it can do whatever you "
        "can, so read it first (default: such a model is refused)",
    )
