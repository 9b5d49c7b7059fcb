"""L2 penalties: toward the initial embeddings and on the rest (thesis, 3.1.3), or on all (3.7.1).

    lambda_w ||W_initial - W||^2 + lambda_c ||W_c||^2      or      lambda ||theta||^2

Tables count with the rows a batch uses. Rows outside it have no gradient of the loss; leaving them
out of the penalty too is what keeps a step from costing the whole vocabulary. There is no factor
1/2, which the released code has.
"""

from __future__ import annotations

import torch
from torch import Tensor

from paraphrastic_hf.layers.embedding import lookup


def distance_to_start(table: Tensor, start: Tensor | None, ids: Tensor) -> Tensor:
    """Sum the squares of how far the table rows that a batch uses are from their start.

    Args:
        table: The trained table, (vocab, dim).
        start: The table before training, (vocab, dim); zeros if None.
        ids: Numbers of the rows that the batch uses, any shape; a number may be there several
            times and counts once.

    Returns:
        ||W_initial - W||^2 over those rows, scalar.
    """
    rows = torch.unique(ids)
    used = lookup(table, rows)
    return (used if start is None else used - start[rows]).square().sum()
