"""The options `--dimension` and `--precision`, and the smaller average that they ask for."""

from __future__ import annotations

import argparse
from typing import Any

from paraphrastic_hf.errors import ModelError


def add_dimension_option(parser: argparse._ActionsContainer) -> None:
    """`--dimension`, which is the same in every command."""
    parser.add_argument(
        "--dimension", type=int, metavar="N", help="of an average, its leading dimensions alone"
    )


def add_smaller_options(parser: argparse._ActionsContainer) -> None:
    """`--dimension` and `--precision` of commands that use a model."""
    add_dimension_option(parser)
    parser.add_argument(
        "--precision",
        metavar="NAME",
        help="of an average, with a table in float32, bfloat16, int8 or int4: four bytes a number, "
        "two, one or half a one",
    )


def smaller(encoder: Any, arguments: argparse.Namespace) -> Any:
    """The encoder with as many dimensions and bytes as were asked for.

    Raises:
        ModelError: It does not average, is rounded already, or has not so many dimensions.
    """
    for option in ("dimension", "precision"):
        wanted = getattr(arguments, option)
        if wanted is None:
            continue
        if not hasattr(encoder, f"with_{option}"):
            raise ModelError(
                f"--{option} is of averages of this package, and {arguments.model} is none: leave "
                "it out"
            )
        try:
            encoder = getattr(encoder, f"with_{option}")(wanted)
        except (ValueError, ModelError) as error:
            raise ModelError(f"{arguments.model}, --{option} {wanted}: {error}") from error
    return encoder
