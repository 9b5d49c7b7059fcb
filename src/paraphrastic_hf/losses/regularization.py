"""L2 penalties, on the distance of embeddings from their initial values and on other parameters
(thesis, 3.1.3), or on all parameters (3.7.1).

    lambda_w ||W_initial - W||^2 + lambda_c ||W_c||^2      or      lambda ||theta||^2

Only the table rows that a batch uses are penalized, so that the cost of a step does not grow with
the vocabulary. The factor 1/2 of the released code is left out.
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
        ||W_initial - W||^2 over those rows, scalar.
    """
    rows = torch.unique(ids)
    used = lookup(table, rows)
    return (used if start is None else used - start[rows]).square().sum()
