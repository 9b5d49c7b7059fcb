"""The errors this package raises on purpose. Each message names the thing, the value and the way
out."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any


class ParaphrasticError(Exception):
    """Base of every error raised on purpose; the command line prints its message without a
    traceback."""


class RecipeError(ParaphrasticError, ValueError):
    """A recipe or one of its values is wrong."""


class BusyError(RecipeError):
    """Another process is at work in the same folder."""


class DataError(ParaphrasticError, ValueError):
    """A data file is missing, empty or malformed."""


class NotApplicableError(DataError):
    """What is asked has no meaning for this model; no data would help."""


class MissingFileError(DataError):
    """A file that a corpus needs is not in the folder."""


class ModelError(ParaphrasticError, ValueError):
    """A model directory is missing a file or does not hold what it says."""


class CheckpointError(ParaphrasticError, RuntimeError):
    """A checkpoint is damaged or belongs to another run."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The end of a message that refuses a name: the most similar of those known, else all of them.

    Example:
        >>> nearest_name("treshold", ["k", "threshold"])
        "did you mean 'threshold'?"
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"


def refuse_keywords(unknown: Iterable[str], function: Callable[..., Any]) -> None:
    """Refuse the keywords that a function was given and does not have.

    Raises:
        TypeError: There is one; the message has the most similar name that the function takes.

    Example:
        >>> refuse_keywords(["headr"], lambda path, header: None)
        Traceback (most recent call last):
        TypeError: <lambda>() has no keyword 'headr'; did you mean 'header'?
    """
    for name in unknown:
        parameters = inspect.signature(function).parameters
        known = [key for key, it in parameters.items() if it.kind != it.VAR_KEYWORD]
        near = nearest_name(name, [key for key in known if key != "self"])
        raise TypeError(f"{function.__name__}() has no keyword {name!r}; {near}")
