"""Options of commands that embed with a model of any origin, and how they load it."""

from __future__ import annotations

import argparse
from typing import Any


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
