import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paraphrastic_hf.errors import BusyError, CheckpointError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

TRIES = 100  # other processes may remove the folder before it is locked


@contextmanager
def locked(folder: Path, is_main: bool = True, *, doing: str = "training") -> Iterator[None]:
    """Create a folder and lock it against other processes for the duration of the block.

    If several processes train together, only the main process locks. A folder that is empty at the
    end is removed. A file system without locks gives a warning.
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
            why = "a file of that name exists. Choose another folder" if is_file else error
            raise CheckpointError(f"Cannot write to {folder}: {why}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise BusyError(
                f"Another process is {doing} in {folder}. Wait, or use another folder"
            ) from error
        except OSError as error:
            os.close(lock)
            logger.warning(
                "%s cannot be locked (%s). Do not start a second run there meanwhile", folder, error
            )
            return None
        if folder.exists() and os.path.samestat(os.fstat(lock), folder.stat()):
            return lock
        os.close(lock)  # its previous holder has removed this folder
    raise CheckpointError(f"Another process keeps removing {folder}. Choose another folder")
