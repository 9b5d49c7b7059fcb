"""Optimizers whose step costs the rows used, not the vocabulary, and clipping that sees those rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class LazyAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba, 2015) that, for a row-sparse gradient, reads and writes those rows only.

    For a row that is in every batch, and for dense gradients, this is Adam. For others it differs from
    dense Adam in that their moments do not decay, and they do not move, while they are unused. Bias
    correction counts all steps. (`torch.optim.SparseAdam` makes the same choice.)

    Args:
        params: Parameters with dense or row-sparse gradients.
        lr: Learning rate.
        betas: Decay of the two moments.
        eps: Added to the denominator.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["first_moment"] = torch.zeros_like(parameter)
            state["second_moment"] = torch.zeros_like(parameter)
        state["step"] += 1
        step, (decay_1, decay_2) = state["step"].item(), group["betas"]
        rows, values = rows_and_values(grad)
        first, second = state["first_moment"], state["second_moment"]
        m = first if rows is None else first.index_select(0, rows)
        v = second if rows is None else second.index_select(0, rows)
        m.lerp_(values, 1 - decay_1)
        v.mul_(decay_2).addcmul_(values, values, value=1 - decay_2)
        denominator = v.sqrt().div_((1 - decay_2**step) ** 0.5).add_(group["eps"])
        change = torch.div(m, denominator, out=denominator).mul_(-group["lr"] / (1 - decay_1**step))
        if rows is None:
            parameter.add_(change)
        else:
            first.index_copy_(0, rows, m)
            second.index_copy_(0, rows, v)
            parameter.index_add_(0, rows, change)


def rows_and_values(grad: Tensor) -> tuple[Tensor | None, Tensor]:
    """The rows and values of a row-sparse gradient; None and the gradient itself if it is dense."""
    if not grad.is_sparse:
        return None, grad
    grad = grad.coalesce()
    return grad.indices()[0], grad.values()


def clip_gradients(parameters: Iterable[Tensor], limit: float) -> float:
    """Scale all gradients, dense or row-sparse, so that their joint norm is at most `limit`.

    Returns:
        The norm before clipping.
    """
    with_grad = [parameter for parameter in parameters if parameter.grad is not None]
    values = []
    for parameter in with_grad:
        if parameter.grad.is_sparse:  # type: ignore[union-attr]
            parameter.grad = parameter.grad.coalesce()  # type: ignore[union-attr]
        values.append(rows_and_values(parameter.grad)[1])  # type: ignore[arg-type]
    norm = torch.stack([value.norm() for value in values]).norm().item() if values else 0.0
    if norm > limit:
        for value in values:
            value.mul_(limit / norm)
    return norm
