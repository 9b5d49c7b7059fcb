"""Adam and gradient clipping that read and write only the table rows of a batch."""

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


NEVER = -1  # last step of a row without any gradient yet
NEGLIGIBLE = 2.0**-60  # smallest term of the sum in `RowAdam`


class RowAdam(torch.optim.Optimizer):
    """Adam (Kingma and Ba, 2015) that updates only the table rows of a batch.

    Dense Adam keeps moving a row after its last gradient. `torch.optim.SparseAdam` skips those
    steps, and a rare row then moves about ten times less. This optimizer applies the missed steps
    in closed form just before a row is read. With gradient 0 for k steps,

        m <- b1^k m,   v <- b2^k v,
        w <- w - m / sqrt(v) * sum_{j=1..k} (b1 / sqrt(b2))^j c_{t+j},
        c_t = lr_t sqrt(1 - b2^t) / (1 - b1^t)

    The result equals dense Adam, except that missed steps add `eps` to the denominator once, not at
    each step. Parameters with dense gradients get torch's fused Adam. `_rows.c` updates float32
    tables on the CPU, and torch updates other tables.

    Call `watch(model)` once, so that rows are updated before they are read. Call `catch_up()`
    before saving weights.

    Args:
        lr: Learning rate, which may change between steps.
        weight_decay: Decoupled weight decay of parameters with dense gradients.
    """

    WINDOW = 10_000  # steps after which all rows are updated, to bound memory

    def __init__(
        self,
        params: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        settings: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps}
        settings |= {"weight_decay": weight_decay, "fused": True}  # step counts on their device
        super().__init__(params, settings)
        self._pending: dict[Tensor, _PendingUpdates] = {}  # by table

    def watch(self, model: ParaphrasticModel) -> None:
        """Apply missed steps to table rows before a forward pass or a penalty reads them."""
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
        """Apply all missed steps to every row of every table."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in self._pending:
                    self._level(parameter, group)

    def keep_pending(self) -> None:
        """Add the missed steps to the optimizer's state, for a checkpoint.

        Applying them earlier than an uninterrupted run does would change the rounding.
        """
        for parameter, pending in self._pending.items():
            self.state[parameter]["travel"] = torch.from_numpy(pending.by_missed.copy())

    def restore_pending(self) -> None:
        """Restore the missed steps, if any, from the optimizer's state."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter in self.state and "travel" in self.state[parameter]:
                    kept = self.state[parameter].pop("travel")
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
                if parameter in self._pending:  # its earlier gradients were row-sparse
                    self._level(parameter, group)
                dense.append(parameter)
            if dense:
                self._update_dense(dense, group)

    def _moments(self, parameter: Tensor) -> dict[str, Any]:
        state: dict[str, Any] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float64)
            state["first_moment"] = _zeros_like(parameter)
            state["second_moment"] = _zeros_like(parameter)
        return state

    def _update_dense(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = [self._moments(parameter) for parameter in parameters]
        for parameter, state in zip(parameters, states, strict=True):
            # The fused kernel requires float32 counts on the parameter's device.
            state["step"] = state["step"].to(parameter.device, torch.float32)
        adamw(
            parameters,
            [_gradient_like(parameter) for parameter in parameters],
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
        state, grad = self._moments(parameter), _coalesced(grad)
        rows, values = grad.indices()[0], grad.values()
        if "last_step" not in state:  # the first row-sparse gradient
            last_step = int(state["step"]) or NEVER
            state["last_step"] = torch.full(
                (len(parameter),), last_step, dtype=torch.int64, device=parameter.device
            )
        if parameter not in self._pending:
            self._pending[parameter] = _PendingUpdates(group["betas"], self.WINDOW)
        self._catch_up(parameter, group, rows)  # `rows` include rows of other processes
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
        self._pending[parameter].add(rate)
        if self._pending[parameter].steps == self.WINDOW:
            self._level(parameter, group)

    def _level(self, parameter: Tensor, group: dict[str, Any]) -> None:
        """Apply the missed steps to every row of a table, and clear their record."""
        self._catch_up(parameter, group, torch.arange(len(parameter), device=parameter.device))
        self._pending[parameter].forget()

    @torch.no_grad()
    def _catch_up(self, parameter: Tensor, group: dict[str, Any], rows: Tensor) -> None:
        """Apply the missed steps to some rows. `rows` may contain duplicates."""
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
    """Displacement of a table's rows by their missed steps, in units of m / sqrt(v).

    Attributes:
        steps: Number of steps since all rows were updated.
        decays: b1^k and b2^k, (window + 1,) float32.
    """

    def __init__(self, betas: tuple[float, float], window: int) -> None:
        decay_1, decay_2 = betas
        missed = np.arange(window + 1)
        self.decays = [(decay**missed).astype(np.float32) for decay in betas]
        powers = (decay_1 / decay_2**0.5) ** missed[1:]
        self._powers = powers[powers > NEGLIGIBLE]
        self._sums = np.zeros(window + 1)  # filled from the end, so that no number has to move
        self.steps = 0

    @property
    def by_missed(self) -> np.ndarray:
        """Return the sum in `RowAdam` for k = 0 to `steps` missed steps, (steps + 1,)."""
        return self._sums[len(self._sums) - 1 - self.steps :]

    def add(self, rate: float) -> None:
        """Record a step. `rate` is its c_t in the formula of `RowAdam`."""
        self.steps += 1
        reached = self.by_missed[1 : len(self._powers) + 1]
        reached += rate * self._powers[: len(reached)]

    def restore(self, by_missed: np.ndarray) -> None:
        self.steps = len(by_missed) - 1
        self.by_missed[:] = by_missed

    def forget(self) -> None:
        self.steps = 0
        self._sums[:] = 0


def _zeros_like(parameter: Tensor) -> Tensor:
    """Return zeros from numpy on the CPU, which allocates memory only when it is written."""
    is_plain = parameter.device.type == "cpu" and parameter.is_contiguous()
    if not is_plain or parameter.dtype not in (torch.float32, torch.float64):
        return torch.zeros_like(parameter)
    kind = np.float32 if parameter.dtype == torch.float32 else np.float64
    return torch.from_numpy(np.zeros(parameter.shape, kind))


def _gradient_like(parameter: Tensor) -> Tensor:
    """Return a parameter's gradient in the parameter's memory layout, for the fused kernel."""
    grad: Tensor = parameter.grad  # type: ignore[assignment]
    is_equal = grad.stride() == parameter.stride()
    return grad if is_equal else torch.empty_like(parameter).copy_(grad)


def _arrays(parameter: Tensor, state: dict[str, Any], *others: Tensor) -> list[Any] | None:
    """Return numpy views for `_rows.c`, or None if it does not support the tensors."""
    tables = [parameter.detach(), state["first_moment"], state["second_moment"]]
    if update is None or any(
        table.device.type != "cpu" or table.dtype != torch.float32 or not table.is_contiguous()
        for table in tables
    ):
        return None
    return [each.contiguous().numpy() for each in (*tables, state["last_step"], *others)]


def _coalesced(grad: Tensor) -> Tensor:
    """Mark a row-sparse gradient as coalesced. Autograd loses the mark."""
    rows = grad._indices()[0]
    if grad.is_coalesced() or not bool((rows[1:] > rows[:-1]).all()):
        return grad.coalesce()
    return torch.sparse_coo_tensor(
        rows[None], grad._values(), grad.shape, is_coalesced=True, check_invariants=False
    )


def gradients_of(parameters: Iterable[Tensor]) -> list[Tensor]:
    """Return views of the values of all gradients, dense or row-sparse."""
    found = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = _coalesced(parameter.grad)
            found.append(parameter.grad.values() if parameter.grad.is_sparse else parameter.grad)
    return found


def clip_gradients(gradients: list[Tensor], norm: float, limit: float) -> None:
    """Scale gradients with the joint norm `norm` so that their norm is at most `limit`."""
    if norm > limit:
        torch._foreach_mul_(gradients, limit / norm)
