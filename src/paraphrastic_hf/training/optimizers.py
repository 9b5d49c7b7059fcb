"""Optimizers whose step costs the rows used, not the vocabulary, and clipping that sees those
rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from paraphrastic_hf.models.base import ParaphrasticModel

try:
    from paraphrastic_hf.training._rows import catch_up, update
except ImportError:  # no wheel for this platform and no compiler
    catch_up = update = None


class RowAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba, 2015) on a large table, at the cost of the rows a batch uses.

    Dense Adam goes on moving a row after its last gradient, by ever smaller steps; skipping those
    (as `torch.optim.SparseAdam` does) moves a rare row about ten times less for each use. Here a
    row makes up its missed steps, in closed form, just before it is next read. With gradient 0 for
    k steps,

        m <- b1^k m,   v <- b2^k v,
        w <- w - m / sqrt(v) * sum_{j=1..k} (b1 / sqrt(b2))^j c_{t+j},
        c_t = lr_t sqrt(1 - b2^t) / (1 - b1^t)

    so the result is dense Adam's, but for `eps`, whose share of the denominator is taken at the
    time of catching up. Parameters whose gradients are dense get plain Adam. Tables of float32 on
    the CPU are updated by `_rows.c`, in one pass over the rows; others by torch, alike to rounding.

    Call `watch(model)` once, so that rows catch up before every forward pass, and `catch_up()`
    before weights are saved.

    Args:
        params: Parameters with dense or row-sparse gradients.
        lr: Learning rate; may change from step to step.
        betas: Decay of the two moments.
        eps: Added to the denominator.
    """

    WINDOW = 300  # every so many steps all rows catch up, which bounds the rates to remember

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})
        # For each table, the c_t of the steps since all its rows were level.
        self._rates: dict[Tensor, list[float]] = {}
        self._travel: dict[Tensor, Tensor] = {}

    def watch(self, model: ParaphrasticModel) -> None:
        """Have the rows a forward pass reads catch up before it reads them."""

        def before_forward(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if self._rates:
                ids = args[0] if args else kwargs["input_ids"]
                for table, rows in model.rows_of_tables(ids):
                    if table.weight in self._rates:
                        self._catch_up(table.weight, self.param_groups[0], rows)

        model.register_forward_pre_hook(before_forward, with_kwargs=True)

    @torch.no_grad()
    def catch_up(self) -> None:
        """Bring every row of every table up to the present step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in self._rates:
                    self._level(parameter, group)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        rows, values = rows_and_values(grad)
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["first_moment"] = torch.zeros_like(parameter)
            state["second_moment"] = torch.zeros_like(parameter)
        if rows is not None and "last_step" not in state:  # new, or so far dense
            state["last_step"] = torch.full(
                (len(parameter),), int(state["step"]), dtype=torch.int64, device=parameter.device
            )
        if rows is not None:
            self._catch_up(parameter, group, rows)  # the rows that only another process has read
        state["step"] += 1
        step, (decay_1, decay_2) = state["step"].item(), group["betas"]
        correction = (1 - decay_2**step) ** 0.5
        rate = group["lr"] * correction / (1 - decay_1**step)
        first, second = state["first_moment"], state["second_moment"]
        eps = group["eps"] * correction
        if rows is not None and (arrays := _arrays(parameter, state, rows, values)) is not None:
            update(*arrays, int(step), rate, decay_1, decay_2, eps)
            self._remember(parameter, group, rate)
            return
        m = first if rows is None else first.index_select(0, rows)
        v = second if rows is None else second.index_select(0, rows)
        m.lerp_(values, 1 - decay_1)
        v.mul_(decay_2).addcmul_(values, values, value=1 - decay_2)
        denominator = v.sqrt().add_(eps)
        change = torch.div(m, denominator, out=denominator).mul_(-rate)
        if rows is None:
            parameter.add_(change)
            return
        first.index_copy_(0, rows, m)
        second.index_copy_(0, rows, v)
        parameter.index_add_(0, rows, change)
        state["last_step"][rows] = int(step)
        self._remember(parameter, group, rate)

    def _remember(self, parameter: Tensor, group: dict[str, Any], rate: float) -> None:
        """The rate of a step, which rows that were not in it make up later."""
        rates = self._rates.setdefault(parameter, [])
        rates.append(rate)
        self._travel.pop(parameter, None)
        if len(rates) == self.WINDOW:
            self._level(parameter, group)

    def _level(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Bring every row up to date; earlier rates are then history."""
        self._catch_up(parameter, group, torch.arange(len(parameter), device=parameter.device))
        self._rates[parameter] = []
        self._travel.pop(parameter, None)

    @torch.no_grad()
    def _catch_up(self, parameter: Tensor, group: dict[str, Any], rows: Tensor) -> None:
        state = self.state[parameter]
        step = int(state["step"].item())
        if (arrays := _arrays(parameter, state, rows)) is not None:
            travel = self._travel_by_missed(parameter, group["betas"][0] / group["betas"][1] ** 0.5)
            powers = torch.arange(len(travel))
            decays = ((beta**powers).numpy() for beta in group["betas"])
            eps = group["eps"] * (1 - group["betas"][1] ** step) ** 0.5
            catch_up(*arrays, step, travel.numpy(), *decays, eps)
            return
        missed = step - state["last_step"][rows]
        rows, missed = rows[missed > 0], missed[missed > 0]
        if not len(rows):
            return
        decay_1, decay_2 = group["betas"]
        m = state["first_moment"].index_select(0, rows)
        v = state["second_moment"].index_select(0, rows)
        travel = self._travel_by_missed(parameter, decay_1 / decay_2**0.5)[missed]
        eps = group["eps"] * (1 - decay_2**step) ** 0.5
        change = (m / v.sqrt().add_(eps)).mul_(-travel[:, None])
        parameter.index_add_(0, rows, change)
        state["first_moment"].index_copy_(0, rows, m.mul_((decay_1**missed)[:, None]))
        state["second_moment"].index_copy_(0, rows, v.mul_((decay_2**missed)[:, None]))
        state["last_step"][rows] = step

    def _travel_by_missed(self, parameter: Tensor, ratio: float) -> Tensor:
        """`[k]`: the sum in the class docstring over the last k steps."""
        if parameter not in self._travel:
            rates = torch.tensor(self._rates.get(parameter, []), dtype=torch.float64)
            powers = ratio ** torch.arange(1, len(rates) + 1, dtype=torch.float64)
            # From the newest step back, scaled by the window; small terms first keeps it exact.
            tail = (rates * powers).flip(0).cumsum(0)
            sums = tail / powers.flip(0) * ratio
            travel = torch.cat([sums.new_zeros(1), sums])
            self._travel[parameter] = travel.to(parameter)
        return self._travel[parameter]


def _arrays(parameter: Tensor, state: dict[str, Any], *others: Tensor) -> list[Any] | None:
    """What `_rows.c` takes, sharing memory; None for what it does not: another device or precision,
    or no compiler."""
    tables = [parameter.detach(), state["first_moment"], state["second_moment"]]
    if update is None or any(
        table.device.type != "cpu" or table.dtype != torch.float32 or not table.is_contiguous()
        for table in tables
    ):
        return None
    return [each.contiguous().numpy() for each in (*tables, state["last_step"], *others)]


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
