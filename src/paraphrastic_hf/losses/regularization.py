"""L2 penalties.

    lambda_w ||W_initial - W||^2 + lambda_c ||W_c||^2      (thesis, 3.1.3)
    lambda ||theta||^2                                     (thesis, 3.7.1)

W is the word embedding table, W_c the other parameters, theta all parameters. Only the table rows
of the current batch are penalized. The factor 1/2 of the released code is left out.
"""

from __future__ import annotations

import torch
from torch import Tensor

from paraphrastic_hf.layers.embedding import lookup


def distance_to_start(table: Tensor, start: Tensor | None, ids: Tensor) -> Tensor:
    """Return the squared distance of a batch's table rows from their initial values.

    Args:
        table: Trained table, (vocab, dim).
        start: Table before training, (vocab, dim), or None for zeros.
        ids: Rows that the batch uses, any shape. Repeated ids count once.

    Returns:
        ||W_initial - W||^2 over the distinct rows, a scalar.
    """
    rows = torch.unique(ids)
    used = lookup(table, rows)
    return (used if start is None else used - start[rows]).square().sum()
