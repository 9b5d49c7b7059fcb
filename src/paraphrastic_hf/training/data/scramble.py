"""Scrambling and swapping of tokens, to regularize recurrent encoders (Wieting and Gimpel, 2017,
section 4.2 and footnote 5).
"""

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
    """Sort the tokens of the rows `chosen` by `keys`, 0 to 1, in place.

    Marks and padding keep their positions.
    """
    keys = keys.copy()
    keys[np.isin(ids[chosen], start_ids)] = -1
    keys[np.isin(ids[chosen], end_ids)] = 1
    keys[mask[chosen] == 0] = 2  # padding stays last
    order = np.argsort(keys, axis=1, kind="stable")
    ids[chosen] = np.take_along_axis(ids[chosen], order, 1)


def swap_keys(movable: np.ndarray, mean: float, generator: np.random.Generator) -> np.ndarray:
    """Return sort keys with which `scramble` swaps random pairs of tokens that are `movable`.

    The number of swaps is Poisson distributed.
    """
    keys = np.arange(len(movable)) / len(movable)
    places = np.flatnonzero(movable)
    if len(places) > 1:
        for _ in range(generator.poisson(mean)):
            one, other = generator.choice(places, 2, replace=False)
            keys[[one, other]] = keys[[other, one]]
    return keys
