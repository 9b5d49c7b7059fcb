"""The folder of all data, which commands read: named by `--data` or by the environment."""

from __future__ import annotations

import argparse
import os

from paraphrastic_hf.errors import DataError

VARIABLE = "PARAPHRASTIC_DATA"


def add_data_option(parser: argparse._ActionsContainer, what: str) -> None:
    """The option `--data`, which is the same in every command.

    Args:
        parser: The command's.
        what: What the command reads there.
    """
    parser.add_argument(
        "--data",
        metavar="DIR",
        help=f"the folder of all data, {what} (default: {VARIABLE})",
    )


def data_root(given: str | None, what: str) -> str:
    """The folder of all data: the one given, else the one that PARAPHRASTIC_DATA names.

    Args:
        given: The value of `--data`, if it was given.
        what: What the command reads there, for the message.

    Raises:
        DataError: Neither names a folder, or the folder is not there.
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

    Raises:
        DataError: Nothing names a folder, or the folder is not there.
    """
    from paraphrastic_hf.corpora.folder import evaluation_files

    return str(evaluation_files(data_root(given, "the official evaluation files")))
