"""Errors that this package raises on purpose, and helpers for their messages."""

import difflib
import errno
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

LONGEST = 500  # characters kept of another library's message


class ParaphrasticError(Exception):
    """Base class. The command line prints the message without a traceback."""


class RecipeError(ParaphrasticError, ValueError):
    """A recipe or one of its values is wrong."""


class BusyError(RecipeError):
    """Another process is using the same folder."""


class DataError(ParaphrasticError, ValueError):
    """A data file is missing, empty or malformed."""


class NotApplicableError(DataError):
    """The requested operation does not exist for this kind of model."""


class MissingFileError(DataError):
    """A file of a corpus does not exist."""


class ModelError(ParaphrasticError, ValueError):
    """A model directory is incomplete, damaged or of another kind."""


class PublishError(DataError, ModelError):
    """The upload of a release is not allowed, or the Hub refused it."""


class CheckpointError(ParaphrasticError, RuntimeError):
    """A checkpoint is damaged or belongs to another run."""


class DiskError(ParaphrasticError, OSError):
    """A disk is full or damaged. `path` is the file being written."""

    path: str = ""


_DISK = {  # state, advice
    errno.ENOSPC: ("is full", "Free some space"),
    errno.EDQUOT: ("has reached your quota", "Free some space"),
    errno.EIO: ("cannot be read or written", "Check it"),
}
# Errors of numpy, torch and safetensors have no errno.
_DISK_TEXTS = re.compile(
    r"os error (\d+)\)|\d+ requested and \d+ written|PytorchStreamWriter|unexpected pos \d+"
)


def disk_error(error: BaseException, path: str | os.PathLike[str]) -> DiskError | None:
    """Convert an error of any library to a `DiskError`. None if the disk is not the cause."""
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
    state, advice = _DISK[found]
    result = DiskError(
        f"The disk at {place} {state} (for {os.fspath(path)}). {advice} and run the same command "
        "again"
    )
    result.errno, result.path = found, os.fspath(path)
    return result


class Interrupted(KeyboardInterrupt):
    """A run was interrupted after `step` and has saved a checkpoint. `signal` is its number."""

    def __init__(self, step: int, signal: int) -> None:
        super().__init__(f"interrupted after step {step}. Run the same command to continue")
        self.exit_status = 128 + signal  # shell convention


def in_a_line(error: BaseException) -> str:
    """Return the first line of another library's message, without transformers' lists of all
    models.
    """
    said = str(error).strip().partition("\n")[0]
    for rest in (" Model type should be", " Should have a", " See the original", " from one of:"):
        said = said.partition(rest)[0]
    if type(error).__name__ == "SafetensorError":
        return f"its weights are damaged ({said}). Download or train the model again"
    if "trust_remote_code" in str(error):
        return (
            "it requires Python code of its own, which was not run. If you trust the code, "
            "import it or pass trust_remote_code=True or --trust-remote-code"
        )
    return said if len(said) <= LONGEST else f"{said[:LONGEST]}..."


@contextmanager
def refused(kind: type[ParaphrasticError], what: str) -> Iterator[None]:
    """Context that turns exceptions of other libraries into short errors of this package."""
    try:
        yield
    except ParaphrasticError:
        raise
    except Exception as error:
        raise kind(f"{what}: {type(error).__name__}: {in_a_line(error)}") from error


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    Example:
        >>> counted(1, "row"), counted(2000, "row"), counted(3, "entry")
        ('1 row', '2,000 rows', '3 entries')
    """
    many = f"{noun.removesuffix('y')}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.5) -> str | None:
    """Return the known name that was probably meant, or None if no name is similar.

    Capitals, hyphens and underscores are ignored. An unambiguous abbreviation (initials or prefix)
    wins over similar spelling, which needs a `difflib` similarity of at least `cutoff`, 0 to 1.
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
    """A package of an optional dependency ("extra") is not installed."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return a hint for an error message: the known name probably meant, or all known names."""
    names = list(known)
    meant = nearest(name, names)
    return f"Did you mean {meant!r}?" if meant else f"Choose from {', '.join(names)}"


def refuse_keywords(
    unknown: Iterable[str], function: Callable[..., Any], more: Iterable[str] = ()
) -> None:
    """Raise a `TypeError` for unknown keywords of a function, with a suggestion.

    `more` are allowed keywords that the signature does not show.
    """
    for name in unknown:
        parameters = inspect.signature(function).parameters
        known = [key for key, it in parameters.items() if it.kind != it.VAR_KEYWORD]
        near = nearest_name(name, [*(key for key in known if key not in ("self", "cls")), *more])
        raise TypeError(f"{function.__name__}() has no keyword {name!r}. {near}")
