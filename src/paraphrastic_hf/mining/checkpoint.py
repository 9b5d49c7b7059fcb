"""The state of a search, kept on disk so that an interrupted search goes on where it stopped."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from paraphrastic_hf.io.files import naming, replacing
from paraphrastic_hf.mining.best import RunningTopK

ARRAYS = ("forward_scores", "forward_columns", "backward_scores", "backward_columns")


def write_search(
    path: Path | None, key: str, done: int, forward: RunningTopK, backward: RunningTopK
) -> None:
    """Keep what a search has found so far; the file is written whole or not at all.

    Args:
        path: The file to write; nothing happens if it is None.
        key: Says which search it is.
        done: Number of strips of the matrix that were searched.
        forward: The best targets so far of each source.
        backward: The best sources so far of each target.

    Example:
        >>> best = RunningTopK(rows=2, keep=1), RunningTopK(rows=3, keep=1)
        >>> write_search(Path("search.npz"), "en-de", 7, *best)  # doctest: +SKIP
        >>> read_search(Path("search.npz"), "en-de", *best)  # doctest: +SKIP
        7
    """
    if path is None:
        return
    arrays = (forward.scores, forward.columns, backward.scores, backward.columns)
    with naming(path), replacing(path) as partial, partial.open("wb") as file:
        np.savez(file, key=key, done=done, **dict(zip(ARRAYS, arrays, strict=True)))  # type: ignore[arg-type]


def read_search(path: Path | None, key: str, forward: RunningTopK, backward: RunningTopK) -> int:
    """Fill in what a kept search has found, and return how many strips of the matrix it searched.

    Args:
        path: The file that `write_search` wrote, or None.
        key: Says which search it is.
        forward: Where to put the best targets of each source.
        backward: Where to put the best sources of each target.

    Returns:
        The number of strips; 0, with nothing filled in, where there is no such file, it is of
        another search, or it is damaged.

    Example:
        >>> read_search(None, "en-de", RunningTopK(2, 1), RunningTopK(3, 1))
        0
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
