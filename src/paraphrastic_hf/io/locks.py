"""A folder that one process at a time works in."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paraphrastic_hf.errors import BusyError, CheckpointError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

TRIES = 100  # to lock a folder that other processes may remove in between


@contextmanager
def locked(folder: Path, is_main: bool = True, *, doing: str = "training") -> Iterator[None]:
    """Make a folder, and keep other processes out of it for as long as the block lasts.

    Every command and function that keeps work in a folder, or writes several files into one, holds
    this lock. A second one there could take the first one's half-done work for its own.

    The lock is the operating system's, on the folder itself: it leaves no file, and goes with the
    process however that ends. Whoever holds it removes the folder at the end if it is empty. Where
    the file system has no locks, a warning says so and there is none.

    Args:
        is_main: Whether this process locks; of several that train together, one does.
    """
    if not is_main:
        yield
        return
    lock = _lock(folder, doing)
    try:
        yield
    finally:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, doing: str) -> int | None:
    """An open and locked folder; None where there are no locks."""
    for left in reversed(range(TRIES)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if fcntl is None:
                return None
            lock = os.open(folder, os.O_RDONLY)
        except OSError as error:
            if left and isinstance(error, FileNotFoundError):
                continue  # another process has just removed it
            is_file = isinstance(error, (FileExistsError, NotADirectoryError))
            why = "a file is in its place; name another folder" if is_file else error
            raise CheckpointError(f"cannot write to {folder}: {why}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise BusyError(
                f"another process is {doing} in {folder}: wait until it ends, or name another "
                "folder"
            ) from error
        except OSError as error:
            os.close(lock)
            logger.warning(
                "%s cannot be locked (%s): start no second run there while this one lasts",
                folder,
                error,
            )
            return None
        if folder.exists() and os.path.samestat(os.fstat(lock), folder.stat()):
            return lock
        os.close(lock)  # of a folder that its last holder has removed since
    raise CheckpointError(
        f"cannot write to {folder}: it is removed whenever it is made; name another folder"
    )
