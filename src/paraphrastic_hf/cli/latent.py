"""`--latent`, the option of commands that embed, for generative models."""

from __future__ import annotations

import argparse


def add_latent_option(parser: argparse.ArgumentParser) -> None:
    """Add `--latent`."""
    parser.add_argument(
        "--latent",
        metavar="NAME",
        help="of a generative model, the variable whose mean is the embedding: semantic (default), "
        "or a language such as en",
    )
