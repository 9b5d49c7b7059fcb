"""Folders of data that commands read, named by an option or by the environment."""

from __future__ import annotations

import os

from paraphrastic_hf.errors import DataError

VARIABLE = "PARAPHRASTIC_DATA"


def data_root(given: str | None, what: str) -> str:
    """The folder of all data: the one given, else the one that PARAPHRASTIC_DATA names.

    Args:
        given: The value of `--data-root`, if it was given.
        what: What the command reads there, for the message.

    Raises:
        DataError: Neither names a folder.
    """
    root = given or os.environ.get(VARIABLE)
    if root is None:
        raise DataError(f"name the folder that holds {what} with --data-root (or {VARIABLE})")
    return root


def evaluation_folder(given: str | None) -> str:
    """The folder of the official evaluation files: the one given, else PARAPHRASTIC_DATA/eval.

    Args:
        given: The value of `--data-dir`, if it was given.

    Raises:
        DataError: Neither names a folder.
    """
    root = os.environ.get(VARIABLE)
    if given is None and root is None:
        raise DataError(f"say where the official files are with --data-dir (or {VARIABLE})")
    return given or os.path.join(str(root), "eval")
