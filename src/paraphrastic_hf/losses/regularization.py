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
from paraphrastic_hf.models.base import SentenceEncoderModel


def distance_to_start(table: Tensor, start: Tensor | None, ids: Tensor) -> Tensor:
    """||W_initial - W||^2 over the rows a batch uses, scalar.

    Args:
        table: The trained table, (vocab, dim).
        start: The table before training, (vocab, dim); zeros if None.
        ids: Row numbers of the batch, any shape, repeats allowed.
    """
    rows = torch.unique(ids)
    used = lookup(table, rows)
    return (used if start is None else used - start[rows]).square().sum()


class Penalty:
    """The L2 penalties of a model, which is at its start when this is made.

    Args:
        model: The encoder.
        lambda_w: On the way of table rows from their start.
        lambda_c: On all other parameters, or on their way from their start where the model says so.
        lambda_all: On every parameter.
        to_start: Have `lambda_c` pull all other parameters to their start, as a trained one asks.
    """

    def __init__(
        self,
        model: SentenceEncoderModel,
        lambda_w: float,
        lambda_c: float,
        lambda_all: float,
        *,
        to_start: bool = False,
    ) -> None:
        self.model = model
        self.lambda_w, self.lambda_c, self.lambda_all = lambda_w, lambda_c, lambda_all
        self.is_active = bool(lambda_w or lambda_c or lambda_all)
        self._tables = [t.weight.detach().clone() for t in model.tables()] if lambda_w else []
        self._composition = [
            parameter.detach().clone() if to_start or is_pulled else None
            for parameter, is_pulled in model.composition()
        ]

    def __call__(self, ids: Tensor) -> Tensor:
        """The penalty, scalar, of a step that uses `ids`, any shape."""
        total = torch.zeros((), device=ids.device)
        for number, (table, rows) in enumerate(self.model.rows_of_tables(ids)):
            if self.lambda_w:
                away = distance_to_start(table.weight, self._tables[number], rows)
                total = total + self.lambda_w * away
            if self.lambda_all:
                total = total + self.lambda_all * distance_to_start(table.weight, None, rows)
        if not self.lambda_c and not self.lambda_all:
            return total
        for (parameter, _), start in zip(self.model.composition(), self._composition, strict=True):
            away = parameter if start is None else parameter - start
            total = total + self.lambda_c * away.square().sum()
            total = total + self.lambda_all * parameter.square().sum()
        return total
