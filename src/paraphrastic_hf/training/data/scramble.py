"""Tokens in random order, so that a recurrence cannot learn sequences by heart (Wieting and Gimpel,
2017, section 4.2), or with a few of them swapped (footnote 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def scramble(
    ids: np.ndarray,
    mask: np.ndarray,
    chosen: np.ndarray,
    keys: np.ndarray,
    start_ids: Sequence[int] = (),
    end_ids: Sequence[int] = (),
) -> None:
    """Shuffle the tokens of some rows in place; marks and padding stay where they are.

    Args:
        ids: (batch, seq).
        mask: (batch, seq), 1 for a token.
        keys: Random numbers from 0 to 1, (chosen, seq): tokens are sorted by them.
    """
    keys = keys.copy()
    keys[np.isin(ids[chosen], start_ids)] = -1
    keys[np.isin(ids[chosen], end_ids)] = 1
    keys[mask[chosen] == 0] = 2  # padding stays last
    order = np.argsort(keys, axis=1, kind="stable")
    ids[chosen] = np.take_along_axis(ids[chosen], order, 1)


def swap_keys(movable: np.ndarray, mean: float, generator: np.random.Generator) -> np.ndarray:
    """Draw keys for `scramble` by which some tokens change places and the others keep theirs.

    Args:
        movable: (seq,), whether a token may move; marks and padding may not.
        mean: The number of swaps is drawn from a Poisson distribution of this mean. Each swap is of
            two tokens at random, so that one may undo another.

    Returns:
        The keys, from 0 to 1, (seq,).
    """
    keys = np.arange(len(movable)) / len(movable)
    places = np.flatnonzero(movable)
    if len(places) > 1:
        for _ in range(generator.poisson(mean)):
            one, other = generator.choice(places, 2, replace=False)
            keys[[one, other]] = keys[[other, one]]
    return keys
