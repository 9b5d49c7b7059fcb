"""Options that several commands share: the encoder, its size, the folder of all data."""

from __future__ import annotations

import argparse
import os
from typing import Any

from paraphrastic_hf.errors import DataError, ModelError


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """Add `--trust-remote-code`."""
    parser.add_argument(
        "--trust-remote-code",
        action="store_true",
        help="run Python code that comes with a model of another library; it can do whatever you "
        "can, so read it first (default: such a model is refused)",
    )


def add_encoder_options(parser: argparse.ArgumentParser) -> None:
    """Add `--latent` and `--trust-remote-code`."""
    parser.add_argument(
        "--latent",
        metavar="NAME",
        help="of a generative model, the variable whose mean is the embedding: semantic (default), "
        "or a language such as en",
    )
    add_trust_option(parser)


def named_encoder(arguments: argparse.Namespace, *, num_threads: int = -1) -> Any:
    """The encoder that `arguments.model` names, loaded as `add_encoder_options` asks."""
    from paraphrastic_hf.encoders.load import load_encoder

    return load_encoder(
        arguments.model,
        num_threads=num_threads,
        latent=arguments.latent,
        trust_remote_code=arguments.trust_remote_code,
    )


VARIABLE = "PARAPHRASTIC_DATA"


def add_data_option(parser: argparse._ActionsContainer, what: str) -> None:
    """The option `--data`, which is the same in every command."""
    parser.add_argument(
        "--data",
        metavar="DIR",
        help=f"the folder of all data, {what} (default: {VARIABLE})",
    )


def data_root(given: str | None, what: str) -> str:
    """The folder of all data: the one given, else the one that PARAPHRASTIC_DATA names.

    Args:
        given: The value of `--data`, if it was given.
    """
    root = given or os.environ.get(VARIABLE)
    if not root:
        raise DataError(f"name the folder that holds {what} with --data (or {VARIABLE})")
    if not os.path.isdir(root):
        said = "--data" if given else VARIABLE
        raise DataError(f"{said} names {root}, and there is no such folder")
    return root


def evaluation_folder(given: str | None) -> str:
    """The folder of the official evaluation files: `eval` in the folder of all data, or that
    folder itself.

    Args:
        given: The value of `--data`, if it was given.
    """
    from paraphrastic_hf.corpora.folder import evaluation_files

    return str(evaluation_files(data_root(given, "the official evaluation files")))


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
    """The encoder with as many dimensions and bytes as were asked for."""
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
