"""L2 penalties on the parameters of a sentence encoder.

    lambda_w ||W_initial - W||^2 + lambda_c ||W_c||^2      (thesis, 3.1.3)
    lambda_all ||theta||^2                                 (thesis, 3.7.1)

W is the word embedding table, W_c the other parameters, theta all parameters. Only the table rows
of the current batch are penalized. The factor 1/2 of the released code is left out.
"""

import torch
from torch import Tensor

from paraphrastic_hf.layers.embedding import lookup
from paraphrastic_hf.models.base import SentenceEncoderModel


def distance_to_start(table: Tensor, start: Tensor | None, ids: Tensor) -> Tensor:
    """Return the squared distance of the table rows `ids` from those of `start`, or from zero.

    Repeated ids count once.
    """
    rows = torch.unique(ids)
    used = lookup(table, rows)
    return (used if start is None else used - start[rows]).square().sum()


class Penalty:
    """L2 penalties on parameters. Create it before training, because it copies initial values.

    With `to_start`, `lambda_c` pulls parameters toward their initial values instead of 0.
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
        """Return the penalty, a scalar. `ids` are the token ids of the step, any shape."""
        total = torch.zeros((), device=ids.device)
        # Rows that only another process has read may have pending updates.
        self.model.before_reading({"input_ids": ids})
        used = self.model.rows_used({"input_ids": ids})
        for number, (table, rows) in enumerate(used):
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
