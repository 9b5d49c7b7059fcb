"""`paraphrastic corpus make RECIPE --output DIR`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.folders import add_data_option


def configure(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--quiet", action="store_true", help="show no progress bars")
    parser.set_defaults(run=run, takes_overrides=True)


def run(arguments: argparse.Namespace) -> None:
    """Make the corpus, then say where it is."""
    raise NotImplementedError
