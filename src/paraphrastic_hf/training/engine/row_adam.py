"""Adam whose step costs the table rows used, not the vocabulary, and clipping that sees those
rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from paraphrastic_hf.models.base import ParaphrasticModel

try:
    from paraphrastic_hf.training.engine._rows import catch_up, update
except ImportError:  # no wheel for this platform and no compiler
    catch_up = update = None


NEVER = -1  # the last step of a row that has had no gradient and so has nothing to make up
NEGLIGIBLE = 2.0**-60


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
    time of catching up. Parameters whose gradients are dense get plain Adam, by torch's fused
    kernel. Tables of float32 on the CPU are updated by `_rows.c`, in one pass over the rows; others
    by torch, alike to rounding.

    Call `watch(model)` once, so that rows catch up before they are read, and `catch_up()`
    before weights are saved.

    Args:
        lr: Learning rate; may change from step to step.
        weight_decay: Taken off dense parameters at each step, times the learning rate and the
            parameter (decoupled). Tables with row-sparse gradients have none.
    """

    WINDOW = 10_000  # every so many steps all rows catch up, which bounds what to remember

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps}
        settings |= {"weight_decay": weight_decay, "fused": True}  # counts where parameters are
        super().__init__(params, settings)
        self._pending: dict[Tensor, _PendingUpdates] = {}  # of each table

    def watch(self, model: ParaphrasticModel) -> None:
        """Have the rows that a forward pass or a penalty reads catch up before it reads them."""

        names = list(inspect.signature(model.forward).parameters)

        def before_reading(inputs: Mapping[str, Any]) -> None:
            if self._pending:
                for table, rows in model.rows_used(inputs):
                    if table.weight in self._pending:
                        self._catch_up(table.weight, self.param_groups[0], rows)

        def before_forward(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            before_reading({**dict(zip(names, args, strict=False)), **kwargs})

        model.before_reading = before_reading  # type: ignore[method-assign]
        model.register_forward_pre_hook(before_forward, with_kwargs=True)

    @torch.no_grad()
    def catch_up(self) -> None:
        """Bring every row of every table up to the present step."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in self._pending:
                    self._level(parameter, group)

    def keep_pending(self) -> None:
        """Put what rows have yet to make up into the state, for a checkpoint before `catch_up`:
        making it up in two portions would round differently."""
        for parameter, pending in self._pending.items():
            self.state[parameter]["travel"] = torch.from_numpy(pending.by_missed.copy())

    def restore_pending(self) -> None:
        """The inverse of `keep_pending`, where the state has any."""
        for group in self.param_groups:
            for parameter in group["params"]:
                kept = (
                    self.state[parameter].pop("travel", None) if parameter in self.state else None
                )
                if kept is not None:
                    self._pending[parameter] = _PendingUpdates(group["betas"], self.WINDOW)
                    self._pending[parameter].restore(kept.cpu().numpy())

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            dense = []
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.is_sparse:
                    self._update_rows(parameter, parameter.grad, group)
                    continue
                if parameter in self._pending:  # a table that had rows alone until now
                    self._level(parameter, group)
                dense.append(parameter)
            if dense:
                self._update_dense(dense, group)

    def _moments(self, parameter: Tensor) -> dict[str, Any]:
        """The state of a parameter, made if it has none."""
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["first_moment"] = _zeros_like(parameter)
            state["second_moment"] = _zeros_like(parameter)
        return state

    def _update_dense(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = [self._moments(parameter) for parameter in parameters]
        for parameter, state in zip(parameters, states, strict=True):  # as the kernel reads it
            state["step"] = state["step"].to(parameter.device, torch.float32)
        adamw(
            parameters,
            [_in_order_of(parameter) for parameter in parameters],
            [state["first_moment"] for state in states],
            [state["second_moment"] for state in states],
            [],
            [state["step"] for state in states],
            fused=True,
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )
        for state in states:
            if "last_step" in state:
                state["last_step"].fill_(int(state["step"]))

    def _update_rows(self, parameter: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state, (rows, values) = self._moments(parameter), rows_and_values(grad)
        if "last_step" not in state:  # new, or so far dense
            last_step = int(state["step"]) or NEVER
            state["last_step"] = torch.full(
                (len(parameter),), last_step, dtype=torch.int64, device=parameter.device
            )
        if parameter not in self._pending:
            self._pending[parameter] = _PendingUpdates(group["betas"], self.WINDOW)
        self._catch_up(parameter, group, rows)  # the rows that only another process has read
        state["step"] = state["step"].double() + 1
        step, (decay_1, decay_2) = int(state["step"]), group["betas"]
        correction = (1 - decay_2**step) ** 0.5
        rate = group["lr"] * correction / (1 - decay_1**step)
        eps = group["eps"] * correction
        if (arrays := _arrays(parameter, state, rows, values)) is not None:
            update(*arrays, step, rate, decay_1, decay_2, eps)
        else:
            m = state["first_moment"].index_select(0, rows).lerp_(values, 1 - decay_1)
            v = state["second_moment"].index_select(0, rows).mul_(decay_2)
            v.addcmul_(values, values, value=1 - decay_2)
            state["first_moment"].index_copy_(0, rows, m)
            state["second_moment"].index_copy_(0, rows, v)
            parameter.index_add_(0, rows, m.div_(v.sqrt_().add_(eps)).mul_(-rate))
            state["last_step"][rows] = step
        self._remember(parameter, group, rate)

    def _remember(self, parameter: Tensor, group: dict[str, Any], rate: float) -> None:
        """The rate of a step, which rows that were not in it make up later."""
        pending = self._pending[parameter]
        pending.add(rate)
        if pending.steps == self.WINDOW:
            self._level(parameter, group)

    def _level(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Bring every row up to date; earlier rates are then history."""
        self._catch_up(parameter, group, torch.arange(len(parameter), device=parameter.device))
        self._pending[parameter].forget()

    @torch.no_grad()
    def _catch_up(self, parameter: Tensor, group: dict[str, Any], rows: Tensor) -> None:
        """Rows, which may repeat, make up the steps since their last."""
        state, pending = self.state[parameter], self._pending[parameter]
        step, (decay_1, decay_2) = int(state["step"]), group["betas"]
        eps = group["eps"] * (1 - decay_2**step) ** 0.5
        if (arrays := _arrays(parameter, state, rows)) is not None:
            catch_up(*arrays, step, pending.by_missed, *pending.decays, eps)
            return
        last_step = state["last_step"][rows]
        rows = torch.unique(rows[(last_step != NEVER) & (last_step < step)])
        if not len(rows):
            return
        missed = step - state["last_step"][rows]
        m = state["first_moment"].index_select(0, rows)
        v = state["second_moment"].index_select(0, rows)
        far = torch.from_numpy(pending.by_missed).to(parameter)[missed, None]
        change = (m / v.sqrt().add_(eps)).mul_(-far)
        parameter.index_add_(0, rows, change)
        state["first_moment"].index_copy_(0, rows, m.mul_((decay_1**missed)[:, None]))
        state["second_moment"].index_copy_(0, rows, v.mul_((decay_2**missed)[:, None]))
        state["last_step"][rows] = step


class _PendingUpdates:
    """How far rows of one table go in the steps they miss, in units of m / sqrt(v).

    Attributes:
        steps: Steps since all rows were level.
        decays: b1^k and b2^k, (window + 1,) float32.
    """

    def __init__(self, betas: tuple[float, float], window: int) -> None:
        decay_1, decay_2 = betas
        missed = np.arange(window + 1)
        self.decays = [(decay**missed).astype(np.float32) for decay in betas]
        powers = (decay_1 / decay_2**0.5) ** missed[1:]
        self._powers = powers[powers > NEGLIGIBLE]
        self._sums = np.zeros(window + 1)  # filled from the back, so that no step moves the others
        self.steps = 0

    @property
    def by_missed(self) -> np.ndarray:
        """`[k]`: the sum in the docstring of `RowAdam` over the last k steps, (steps + 1,)."""
        return self._sums[len(self._sums) - 1 - self.steps :]

    def add(self, rate: float) -> None:
        """A step with this c_t."""
        self.steps += 1
        reached = self.by_missed[1 : len(self._powers) + 1]
        reached += rate * self._powers[: len(reached)]

    def restore(self, by_missed: np.ndarray) -> None:
        """Go on from what `by_missed` was."""
        self.steps = len(by_missed) - 1
        self.by_missed[:] = by_missed

    def forget(self) -> None:
        """All rows are level."""
        self.steps = 0
        self._sums[:] = 0


def _zeros_like(parameter: Tensor) -> Tensor:
    """On a CPU, memory that is not there until it is written: most rows of a large table are not
    used for long."""
    is_plain = parameter.device.type == "cpu" and parameter.is_contiguous()
    if not is_plain or parameter.dtype not in (torch.float32, torch.float64):
        return torch.zeros_like(parameter)
    kind = np.float32 if parameter.dtype == torch.float32 else np.float64
    return torch.from_numpy(np.zeros(parameter.shape, kind))


def _in_order_of(parameter: Tensor) -> Tensor:
    """The gradient of a parameter, in the same order in memory, which the fused kernel takes for
    granted."""
    grad: Tensor = parameter.grad  # type: ignore[assignment]
    is_alike = grad.stride() == parameter.stride()
    return grad if is_alike else torch.empty_like(parameter).copy_(grad)


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


def rows_and_values(grad: Tensor) -> tuple[Tensor, Tensor]:
    """The rows and values of a row-sparse gradient."""
    grad = _coalesced(grad)
    return grad.indices()[0], grad.values()


def _coalesced(grad: Tensor) -> Tensor:
    """Ours come coalesced, but autograd forgets the mark, and coalescing again would sort again."""
    rows = grad._indices()[0]
    if grad.is_coalesced() or not bool((rows[1:] > rows[:-1]).all()):
        return grad.coalesce()
    return torch.sparse_coo_tensor(
        rows[None], grad._values(), grad.shape, is_coalesced=True, check_invariants=False
    )


def gradients_of(parameters: Iterable[Tensor]) -> list[Tensor]:
    """The numbers of all gradients, dense or row-sparse, to measure or change in place."""
    found = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = _coalesced(parameter.grad)
            found.append(parameter.grad.values() if parameter.grad.is_sparse else parameter.grad)
    return found


def clip_gradients(gradients: list[Tensor], norm: float, limit: float) -> None:
    """Scale gradients so that their joint norm is at most `limit`.

    Args:
        gradients: What `gradients_of` gives.
    """
    if norm > limit:
        torch._foreach_mul_(gradients, limit / norm)
