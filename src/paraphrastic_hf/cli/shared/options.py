"""Options that several commands share: the encoder, its size, the data folder."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, ModelError, ParaphrasticError


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn a `ValueError` into a `DataError`, which is printed without a traceback."""
    try:
        yield
    except ParaphrasticError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from error


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Return whether to show progress bars: only in a terminal and without `--quiet`."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal and not getattr(arguments, "quiet", False)


MODEL = "encoder: model directory, packaged model (english, multilingual, tiny) or Hub repository"
TEXTS = "file with one text per line (also .gz, .xz, .bz2), or - for standard input"


def add_trust_option(parser: Parser) -> None:
    parser.flag(
        "--trust-remote-code",
        "run Python code that comes with a model of another library, with your permissions "
        "(default: refuse such models)",
    )


def add_encoder_options(parser: Parser) -> None:
    parser.option(
        "--latent NAME",
        "for generative models, the latent variable whose mean is the embedding: semantic, or a "
        "language such as en (default: semantic)",
    )
    add_trust_option(parser)


def named_encoder(arguments: argparse.Namespace, *, num_threads: int = -1) -> Any:
    """Load the encoder `arguments.model` with the options of `add_encoder_options`."""
    from paraphrastic_hf.encoders.load import load_encoder

    with data_errors():
        return load_encoder(
            arguments.model,
            num_threads=num_threads,
            latent=arguments.latent,
            trust_remote_code=arguments.trust_remote_code,
        )


VARIABLE = "PARAPHRASTIC_DATA"


def add_data_option(parser: Parser, what: str, **options: Any) -> None:
    """Add `--data`. `what` is the use of the data folder, for the help text."""
    parser.option("--data DIR", f"data folder: {what} (default: ${VARIABLE})", **options)


def data_root(given: str | None, what: str) -> str:
    """Return the data folder: `given` (the value of `--data`), or else $PARAPHRASTIC_DATA."""
    root = given or os.environ.get(VARIABLE)
    if not root:
        raise DataError(f"Set the folder that contains {what} with --data or {VARIABLE}")
    if not os.path.isdir(root):
        raise DataError(f"{'--data' if given else VARIABLE}: the folder {root} does not exist")
    return root


def evaluation_folder(given: str | None) -> str:
    """Return the subfolder `eval` of the data folder, or else the data folder itself."""
    from paraphrastic_hf.corpora.folder import evaluation_files

    return str(evaluation_files(data_root(given, "the official evaluation files")))


def add_dimension_option(parser: Parser, model: str = "the model") -> None:
    what = f"leading dimensions of {model} to keep. Averaging models only (default: all)"
    parser.option("--dimension N", what, type=int)


def add_smaller_options(parser: Parser, model: str = "the model") -> None:
    add_dimension_option(parser, model)
    parser.option(
        "--precision NAME",
        f"number format of {model}: float32, bfloat16, int8 or int4. Averaging models only "
        "(default: as stored)",
    )


def smaller(encoder: Any, arguments: argparse.Namespace, model: str) -> Any:
    for option in ("dimension", "precision"):
        wanted = getattr(arguments, option, None)
        if wanted is None:
            continue
        if not hasattr(encoder, f"with_{option}"):
            raise ModelError(f"--{option} requires an averaging model of this package, got {model}")
        try:
            encoder = getattr(encoder, f"with_{option}")(wanted)
        except (ValueError, ModelError) as error:
            raise ModelError(f"{model}, --{option} {wanted}: {error}") from error
    return encoder
