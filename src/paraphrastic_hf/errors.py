"""The errors this package raises on purpose. Each message names the thing, the value and the way
out."""

from __future__ import annotations

import difflib
import errno
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

LONGEST = 500  # characters of what another library said, in a message


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


class PublishError(DataError, ModelError):
    """What was to be published may not be, or the Hub does not take it."""


class CheckpointError(ParaphrasticError, RuntimeError):
    """A checkpoint is damaged or belongs to another run."""


class DiskError(ParaphrasticError, OSError):
    """A disk is full or damaged: `errno` is the system's error number, `path` the file written."""

    path: str = ""


_DISK = {
    errno.ENOSPC: "is full; free some space",
    errno.EDQUOT: "has no room left for you; free some space",
    errno.EIO: "cannot be read or written; check it",
}
# What numpy, torch and safetensors raise has no errno.
_DISK_TEXTS = re.compile(
    r"os error (\d+)\)|\d+ requested and \d+ written|PytorchStreamWriter|unexpected pos \d+"
)


def disk_error(error: BaseException, path: str | os.PathLike[str]) -> DiskError | None:
    """Return the disk failure behind an error of any library; None if there is none.

    Args:
        error: What was raised while a file was written.
        path: The file or folder.

    Example:
        >>> error = OSError("59604 requested and 7136 written")  # numpy's
        >>> str(disk_error(error, "/dev/full"))
        'the disk at /dev is full (for /dev/full); free some space, and run the same command again'
    """
    if isinstance(error, DiskError):
        return error
    found = getattr(error, "errno", None)
    said = _DISK_TEXTS.search(str(error))
    if said and found is None:
        found = int(said[1] or errno.ENOSPC)
    if found not in _DISK:
        return None
    place = os.path.realpath(path)
    while not os.path.ismount(place):
        place = os.path.dirname(place)
    state, _, remedy = _DISK[found].partition("; ")
    result = DiskError(
        f"the disk at {place} {state} (for {os.fspath(path)}); {remedy}, and run the same command "
        "again"
    )
    result.errno, result.path = found, os.fspath(path)
    return result


class Interrupted(KeyboardInterrupt):
    """A run was asked to stop and has written where it is, so that it can go on.

    Args:
        step: Steps so far.
        signal: The signal that asked: SIGINT, which Ctrl-C sends, or SIGTERM.

    Example:
        >>> error = Interrupted(7, 15)
        >>> str(error), error.exit_status
        ('interrupted after step 7; the same command goes on from there', 143)
    """

    def __init__(self, step: int, signal: int) -> None:
        super().__init__(f"interrupted after step {step}; the same command goes on from there")
        self.exit_status = 128 + signal  # as a shell says of a program that a signal ended


def in_a_line(error: BaseException) -> str:
    """What an error of transformers says first, without the list of all its models; of safetensors,
    whose words are about bytes, also what to do.

    Args:
        error: The error.
    """
    said = str(error).strip().partition("\n")[0]
    for rest in (" Model type should be", " Should have a", " See the original", " from one of:"):
        said = said.partition(rest)[0]
    if type(error).__name__ == "SafetensorError":
        return f"its weights are damaged ({said}); copy, download or train it again"
    if "trust_remote_code" in str(error):
        return (
            "it needs Python code of its own, which has not run; read that code, and if you trust "
            "it, import it, or pass trust_remote_code=True or --trust-remote-code"
        )
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}..."


@contextmanager
def refused(kind: type[ParaphrasticError], what: str) -> Iterator[None]:
    """Turn any exception of another library into one short error of this package.

    Args:
        kind: The class of the error.
        what: What failed, to begin the message.

    Raises:
        ParaphrasticError: Of this kind. Errors of this package pass unchanged.

    Example:
        >>> with refused(DataError, "cannot read results.json"):
        ...     {}["rows"]
        Traceback (most recent call last):
        paraphrastic_hf.errors.DataError: cannot read results.json: KeyError: 'rows'
    """
    try:
        yield
    except ParaphrasticError:
        raise
    except Exception as error:
        raise kind(f"{what}: {type(error).__name__}: {in_a_line(error)}") from error


def counted(count: int, noun: str) -> str:
    """A count with its noun, for messages.

    Args:
        count: How many.
        noun: What one of them is called.

    Example:
        >>> counted(1, "row"), counted(2000, "row"), counted(3, "entry")
        ('1 row', '2,000 rows', '3 entries')
    """
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    """The one of the known names that was probably meant, or None.

    Capitals, hyphens and underscores do not matter. A name may be short for one known name, by the
    first letters of its words or by its beginning; else the most similar in spelling is taken.

    Args:
        name: What was given.
        known: The names there are.
        cutoff: How similar a name must be, from 0 to 1, as `difflib` measures it.

    Example:
        >>> nearest("lr", ["layers", "learning_rate"]), nearest("trian", ["train", "tune"])
        ('learning_rate', 'train')
    """
    plain = {each.lower().replace("-", "_").strip("_"): each for each in known}
    wanted = name.lower().replace("-", "_").strip("_")
    if wanted in plain:
        return plain[wanted]
    for is_short in (_is_initials, str.startswith):
        full = [each for each in plain if len(wanted) > 1 and is_short(each, wanted)]
        if len(full) == 1:
            return plain[full[0]]
    close = difflib.get_close_matches(wanted, plain, n=1, cutoff=cutoff)
    return plain[close[0]] if close else None


def _is_initials(name: str, letters: str) -> bool:
    return "".join(word[:1] for word in name.split("_")) == letters


class MissingExtraError(ParaphrasticError, ModuleNotFoundError):
    """A package is not installed that an extra of this one brings; the message says which."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The end of a message that refuses a name: the one probably meant, else all of those known.

    Example:
        >>> nearest_name("treshold", ["k", "threshold"])
        "did you mean 'threshold'?"
    """
    names = list(known)
    meant = nearest(name, names)
    return f"did you mean {meant!r}?" if meant else f"there are {', '.join(names)}"


def refuse_keywords(
    unknown: Iterable[str], function: Callable[..., Any], more: Iterable[str] = ()
) -> None:
    """Refuse keywords that a function does not take.

    Args:
        unknown: The keywords.
        function: The function, or a class.
        more: Keywords that it takes besides those of its signature.

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
        near = nearest_name(name, [*(key for key in known if key not in ("self", "cls")), *more])
        raise TypeError(f"{function.__name__}() has no keyword {name!r}; {near}")
