"""A search kept on disk, to go on from where it was interrupted."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from paraphrastic_hf.mining.best import BestSoFar
from paraphrastic_hf.text.files import replacing

ARRAYS = ("forward_scores", "forward_columns", "backward_scores", "backward_columns")


def write_search(
    path: Path | None, key: str, done: int, forward: BestSoFar, backward: BestSoFar
) -> None:
    """Write what a search has found so far to a file, complete or not at all.

    Args:
        path: The file; nothing is written if None.
        key: Says what is searched; a search with another key does not go on from this file.
        done: How many strips of the matrix have been searched.
        forward: The best targets of each source so far.
        backward: The best sources of each target so far.
    """
    if path is None:
        return
    arrays = (forward.scores, forward.columns, backward.scores, backward.columns)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, key=key, done=done, **dict(zip(ARRAYS, arrays, strict=True)))  # type: ignore[arg-type]


def read_search(path: Path | None, key: str, forward: BestSoFar, backward: BestSoFar) -> int:
    """Fill `forward` and `backward` with what an interrupted search had found.

    Returns:
        How many strips of the matrix it had searched; 0, with nothing filled in, if the file is
        missing or damaged or has another key.
    """
    if path is None:
        return 0
    try:
        with path.open("rb") as file, np.load(file) as kept:
            if str(kept["key"]) != key:
                return 0
            arrays = [kept[name] for name in ARRAYS]
            done = int(kept["done"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return 0
    places = (forward.scores, forward.columns, backward.scores, backward.columns)
    if any(own.shape != read.shape for own, read in zip(places, arrays, strict=True)):
        return 0
    for own, read in zip(places, arrays, strict=True):
        own[:] = read
    return done
