"""The options `--dimension` and `--precision`, and the smaller average that they ask for."""

from __future__ import annotations

import argparse
from typing import Any

from paraphrastic_hf.errors import ModelError


def add_dimension_option(parser: argparse._ActionsContainer, of: str = "of an average") -> None:
    """`--dimension`, which is the same in every command."""
    parser.add_argument(
        "--dimension", type=int, metavar="N", help=f"{of}, its leading dimensions alone"
    )


def add_smaller_options(parser: argparse._ActionsContainer, of: str = "of an average") -> None:
    """`--dimension` and `--precision` of commands that use a model."""
    add_dimension_option(parser, of)
    parser.add_argument(
        "--precision",
        metavar="NAME",
        help=f"{of}, with a table in float32, bfloat16, int8 or int4: four bytes a number, two, "
        "one or half a one",
    )


def smaller(encoder: Any, arguments: argparse.Namespace, model: str) -> Any:
    """The encoder with as many dimensions and bytes as were asked for.

    Args:
        encoder: Any encoder.
        arguments: What was asked for.
        model: What the user calls it, for messages.

    Raises:
        ModelError: It does not average, is rounded already, or has not so many dimensions.
    """
    for option in ("dimension", "precision"):
        wanted = getattr(arguments, option)
        if wanted is None:
            continue
        if not hasattr(encoder, f"with_{option}"):
            raise ModelError(
                f"--{option} is of averages of this package, and {model} is none: leave it out"
            )
        try:
            encoder = getattr(encoder, f"with_{option}")(wanted)
        except (ValueError, ModelError) as error:
            raise ModelError(f"{model}, --{option} {wanted}: {error}") from error
    return encoder
