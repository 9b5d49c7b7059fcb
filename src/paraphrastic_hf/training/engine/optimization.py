"""From the keys of `OptimizationArguments` to an optimizer and its learning rate."""

from __future__ import annotations

import logging

import torch
from torch import nn
from transformers import PreTrainedModel

from paraphrastic_hf.errors import counted
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.training.engine.recipe import OptimizationArguments
from paraphrastic_hf.training.engine.row_adam import RowAdam

logger = logging.getLogger(__name__)


def use_sparse_tables(model: PreTrainedModel, arguments: OptimizationArguments) -> None:
    """Give the tables that ask for it gradients of the rows used alone, where that is possible.

    A GPU updates a whole table in no time, and NCCL cannot sum row-sparse gradients; momentum and
    weight decay move every row at every step. Adam's catching up in closed form needs a first
    average that fades faster than the root of the second (`row_adam.py`).
    """
    first, second = arguments.betas
    is_possible = (
        model.device.type == "cpu"
        and arguments.optimizer in ("adam", "adagrad")
        and not arguments.weight_decay
        and (arguments.optimizer != "adam" or first < second**0.5)
    )
    asked = _sparse_tables(model)
    known = model.tables() if isinstance(model, ParaphrasticModel) else []
    for table in {id(table): table for table in (*known, *asked)}.values():
        table.sparse = is_possible and any(table is other for other in asked)


def make_optimizer(
    model: PreTrainedModel, arguments: OptimizationArguments
) -> torch.optim.Optimizer:
    """The optimizer of a recipe, over all parameters of a model.

    For tables with row-sparse gradients a step of Adam or AdaGrad costs the rows that the batch
    uses, and both equal their dense forms: in AdaGrad a row without gradient does not move, in Adam
    it catches up (`row_adam.py`). A model without such tables gets torch's fused Adam, with
    decoupled weight decay.
    """
    parameters, rate = model.parameters(), arguments.learning_rate
    torch.sparse.check_sparse_tensor_invariants.disable()  # explicit, or torch warns about the cost
    if arguments.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate)
    if arguments.optimizer in ("sgd", "nesterov"):
        momentum, is_nesterov = arguments.momentum or 0.0, arguments.optimizer == "nesterov"
        return torch.optim.SGD(parameters, lr=rate, momentum=momentum, nesterov=is_nesterov)
    first, second = arguments.betas
    if not _sparse_tables(model):
        return torch.optim.AdamW(
            parameters,
            lr=rate,
            betas=(first, second),
            weight_decay=arguments.weight_decay,
            fused=True,
        )
    optimizer = RowAdam(
        parameters, lr=rate, betas=(first, second), weight_decay=arguments.weight_decay
    )
    optimizer.watch(model)
    return optimizer


def _sparse_tables(model: PreTrainedModel) -> list[nn.Embedding]:
    """The tables that ask for row-sparse gradients; a model of another library has none."""
    return model.sparse_tables() if isinstance(model, ParaphrasticModel) else []


def learning_rate(arguments: OptimizationArguments, step: int, total_steps: int) -> float:
    """The learning rate of a step.

    Args:
        step: Steps before this one, from 0.

    Returns:
        Constant, or linear to 0 at the end of the run, or peak * sqrt(warm-up / (step + 1)); during
        warm-up peak * (step + 1) / warm-up.

    Example:
        >>> arguments = OptimizationArguments(
        ...     learning_rate=1.0, schedule="inverse_root", warmup_steps=4
        ... )
        >>> [learning_rate(arguments, step, 100) for step in (0, 3, 15)]
        [0.25, 1.0, 0.5]
    """
    rate, warmup = arguments.learning_rate, arguments.warmup_steps
    if step < warmup:
        return rate * (step + 1) / warmup
    if arguments.schedule == "linear":
        return rate * max(0.0, 1 - (step - warmup) / max(1, total_steps - warmup))
    if arguments.schedule == "inverse_root":
        return rate * (warmup / (step + 1)) ** 0.5
    return rate


def warn_of_warmup(arguments: OptimizationArguments, total_steps: int) -> None:
    """Say so where a run ends while its learning rate still rises."""
    if 0 < total_steps < arguments.warmup_steps:
        logger.warning(
            "the run ends after %s, while the learning rate still rises: it comes to %.2g of the "
            "%.2g asked for; lower training.warmup_steps (%s), or train for longer",
            counted(total_steps, "step"),
            learning_rate(arguments, total_steps - 1, total_steps),
            arguments.learning_rate,
            f"{arguments.warmup_steps:,}",
        )
