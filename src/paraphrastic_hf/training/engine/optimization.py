"""Optimizer and learning-rate schedule of a recipe's `OptimizationArguments`."""

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
    """Switch embedding tables to row-sparse gradients, if possible.

    Not on a GPU: updating a whole table is fast there, and NCCL cannot sum row-sparse gradients.
    Not with momentum or weight decay: every row moves at every step. Adam needs beta_1 <
    sqrt(beta_2), for the closed form of `RowAdam`.
    """
    first, second = arguments.betas
    is_possible = (
        model.device.type == "cpu"
        and arguments.optimizer in ("adam", "adagrad")
        and not arguments.weight_decay
        and (arguments.optimizer != "adam" or first < second**0.5)
    )
    sparse = _sparse_tables(model)
    known = model.tables() if isinstance(model, ParaphrasticModel) else []
    for table in {id(table): table for table in (*known, *sparse)}.values():
        table.sparse = is_possible and any(table is other for other in sparse)


def make_optimizer(
    model: PreTrainedModel, arguments: OptimizationArguments
) -> torch.optim.Optimizer:
    """Create the optimizer of a recipe for all parameters of a model.

    With row-sparse gradients, AdaGrad and Adam update only the rows of a batch, with the result of
    dense updates. Dense AdaGrad does not move a row without gradient, and `RowAdam` applies the
    updates that such a row missed later.
    """
    parameters, rate = model.parameters(), arguments.learning_rate
    # Torch warns about the cost of these checks unless they are explicitly off.
    torch.sparse.check_sparse_tensor_invariants.disable()
    if arguments.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate)
    if arguments.optimizer in ("sgd", "nesterov"):
        momentum, is_nesterov = arguments.momentum or 0.0, arguments.optimizer == "nesterov"
        return torch.optim.SGD(parameters, lr=rate, momentum=momentum, nesterov=is_nesterov)
    first, second = arguments.betas
    if not _sparse_tables(model):
        decay = arguments.weight_decay
        return torch.optim.AdamW(
            parameters, lr=rate, betas=(first, second), weight_decay=decay, fused=True
        )
    optimizer = RowAdam(
        parameters, lr=rate, betas=(first, second), weight_decay=arguments.weight_decay
    )
    optimizer.watch(model)
    return optimizer


def _sparse_tables(model: PreTrainedModel) -> list[nn.Embedding]:
    return model.sparse_tables() if isinstance(model, ParaphrasticModel) else []


def learning_rate(arguments: OptimizationArguments, step: int, total_steps: int) -> float:
    """Return the learning rate of a step, counted from 0.

    During warm-up it is peak * (step + 1) / warm-up. Then it is constant, linear to 0 at the end of
    the run, or peak * sqrt(warm-up / (step + 1)).
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
    """Warn if the run ends during warm-up."""
    if 0 < total_steps < arguments.warmup_steps:
        logger.warning(
            "The run ends after %s, during warm-up: the learning rate only reaches %.2g of %.2g. "
            "Lower training.warmup_steps (%s) or train longer.",
            counted(total_steps, "step"),
            learning_rate(arguments, total_steps - 1, total_steps),
            arguments.learning_rate,
            f"{arguments.warmup_steps:,}",
        )
