"""Regularisation toward the initial embeddings (thesis, 3.1.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from paraphrastic_hf.layers.embedding import lookup


def distance_to_start(table: Tensor, start: Tensor, ids: Tensor) -> Tensor:
    """||W_initial - W||^2 over the rows a batch uses, scalar.

    The thesis sums over all rows (without the factor 1/2 of the released code). Rows outside the
    batch have no gradient of the loss; leaving them out of the penalty too is what keeps a step
    from costing the whole vocabulary.

    Args:
        table: The trained table, (vocab, dim).
        start: The table before training, (vocab, dim).
        ids: Row numbers of the batch, any shape, repeats allowed.
    """
    rows = torch.unique(ids)
    return (lookup(table, rows) - start[rows]).square().sum()
