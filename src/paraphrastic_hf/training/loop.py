"""The training loop every task runs in: Accelerate, evaluation, checkpoints, logs, resume.

A task offers mega-batches and a loss (`training/contrastive.py`); nothing here knows what they
hold.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch import Tensor, nn
from tqdm.auto import tqdm

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.training.arguments import RunArguments, TrainingArguments
from paraphrastic_hf.training.checkpoint import (
    load_latest,
    load_weights,
    save_checkpoint,
    save_weights,
)
from paraphrastic_hf.training.optimizers import RowAdam, clip_gradients
from paraphrastic_hf.training.supervised_arguments import SupervisedRun, SupervisedTraining

logger = logging.getLogger(__name__)


class Task(Protocol):
    """What the loop needs of a task; a mini-batch is the task's own affair."""

    def pairs_in_epoch(self) -> int: ...
    def mega_batch(self, epoch: int, position: int, step: int) -> Iterator[Any]: ...
    def loss(self, model: nn.Module, batch: Any, epoch: int, step: int) -> Tensor: ...


@dataclasses.dataclass
class Progress:
    """Where a run is; what a checkpoint holds beside tensors.

    Attributes:
        epoch: From 0.
        position: Pairs of the epoch already seen.
        step: Mini-batches since training began.
        pairs: Pairs, or examples of a supervised task, since training began.
        seconds: Training time, evaluation left out.
        best_score: Highest development score (`training/development.py`); None before the first.
        best_step: Its step.
        next_evaluation: First step at which to evaluate again.
        next_checkpoint: First step at which to write a checkpoint again.
    """

    epoch: int = 0
    position: int = 0
    step: int = 0
    pairs: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    best_step: int | None = None
    next_evaluation: int = 0
    next_checkpoint: int = 0


class TrainingLoop:
    """Runs a task to its end, or from its last checkpoint to its end.

    Args:
        model: The encoder, or supervised model, on its device.
        training: Optimisation settings.
        run: Checkpoint, log and selection settings.
        seed: Seed of dropout.
        directory: Where `checkpoints/` and `logs/` go.
        accelerator: Device, precision and processes.
        evaluate: The development score of a model, or None to keep the last weights.
        show_progress: Show a progress bar.
    """

    def __init__(
        self,
        model: ParaphrasticModel,
        training: TrainingArguments | SupervisedTraining,
        run: RunArguments | SupervisedRun,
        *,
        seed: int,
        directory: Path,
        accelerator: Accelerator,
        evaluate: Callable[[Any], float] | None = None,
        show_progress: bool = True,
    ) -> None:
        self.model, self.training, self.run_arguments = model, training, run
        self.seed, self.directory, self.accelerator = seed, directory, accelerator
        self.evaluate, self.show_progress = evaluate, show_progress
        for table in model.tables():
            # On CPU a step costs the rows used. A GPU updates a whole table in no time, and NCCL
            # cannot sum row-sparse gradients. Momentum moves every row at every step.
            table.sparse = model.device.type == "cpu" and training.optimizer != "sgd"
        self.optimizer = make_optimizer(model, training)
        self.progress = Progress(
            next_evaluation=run.evaluate_every, next_checkpoint=run.checkpoint_every
        )

    @property
    def best_weights(self) -> Path:
        """The weights with the highest development score so far."""
        return self.directory / "checkpoints" / "best.safetensors"

    def resume(self) -> bool:
        """Go back to the newest good checkpoint; False if there is none.

        Raises:
            CheckpointError: There are checkpoints, and all are damaged.
        """
        state = load_latest(self.directory / "checkpoints", self.model, self.optimizer)
        if state is None:
            return False
        self.progress = Progress(**state["progress"])
        return True

    def train(self, task: Task) -> Progress:
        """Train to the end. The best weights, or else the last, are then in the model.

        Raises:
            ParaphrasticError: The loss is no longer finite.
            CheckpointError: A checkpoint could not be written.
        """
        wrapped = self.accelerator.prepare_model(self.model) if self._is_distributed else self.model
        self.model.train()
        at, epochs = self.progress, self.training.epochs
        size = task.pairs_in_epoch()
        total_steps = epochs * math.ceil(size / self.training.batch_size)
        is_main = self.accelerator.is_main_process
        bar = tqdm(
            total=epochs * size,
            initial=at.pairs,
            unit=" pairs",
            unit_scale=True,
            disable=not (self.show_progress and is_main),
        )
        with bar, closing(_Log(self.directory / "logs", at.step, is_main=is_main)) as log:
            while at.epoch < epochs:
                started, pairs_before = time.perf_counter(), at.position
                for batch in task.mega_batch(at.epoch, at.position, at.step):
                    loss = self._step(task, wrapped, batch, total_steps)
                    at.step += 1
                    at.position = min(at.position + self.training.batch_size, size)
                    log.add(loss)
                    if at.step % self.run_arguments.log_every == 0:
                        elapsed = at.seconds + time.perf_counter() - started
                        log.write(
                            at.step,
                            epoch=at.epoch,
                            seconds=elapsed,
                            lr=self._learning_rate(total_steps),
                        )
                        shown = {"loss": f"{log.mean_loss:.3f}"}
                        if at.best_score is not None:
                            shown["dev"] = f"{at.best_score:.2f}"
                        bar.set_postfix(shown)
                at.seconds += time.perf_counter() - started
                at.pairs += at.position - pairs_before
                bar.update(at.position - pairs_before)
                is_epoch_end = at.position >= size
                if is_epoch_end:
                    at.epoch, at.position = at.epoch + 1, 0
                self._between_mega_batches(log, is_epoch_end, is_last=at.epoch >= epochs)
            self._settle()
            if log.has_unwritten_losses:
                log.write(at.step, epoch=epochs, seconds=at.seconds)
        if at.best_step is not None:
            load_weights(self.model, self.best_weights)
        self.model.eval()
        return at

    @property
    def _is_distributed(self) -> bool:
        return self.accelerator.num_processes > 1

    def _learning_rate(self, total_steps: int) -> float:
        rate = self.training.learning_rate
        if self.training.schedule == "linear":
            rate *= max(0.0, 1 - self.progress.step / max(1, total_steps))
        return rate

    def _step(self, task: Task, wrapped: nn.Module, batch: Any, total_steps: int) -> float:
        at = self.progress
        # Dropout too is a function of the step: a resumed run draws what the first one would have.
        self._seed((self.seed * 1_000_003 + at.step) * 64 + self.accelerator.process_index)
        with self.accelerator.autocast():
            loss = task.loss(wrapped, batch, at.epoch, at.step)
        value = loss.item()
        if not math.isfinite(value):
            raise ParaphrasticError(
                f"the loss is {value} at step {at.step}; lower training.learning_rate "
                f"({self.training.learning_rate}) or set training.clip; checkpoints written before "
                "are intact"
            )
        self.accelerator.backward(loss)
        if self.training.clip:
            clip_gradients(self.model.parameters(), self.training.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate(total_steps)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return value

    def _seed(self, seed: int) -> None:
        # torch.manual_seed would, without a GPU, queue a call with its stack for one at every step
        torch.default_generator.manual_seed(seed)
        if self.model.device.type != "cpu":
            torch.manual_seed(seed)

    def _settle(self) -> None:
        """Bring every row of the table up to date, before weights are read or saved.

        Processes have caught up different rows in different portions, which rounds differently:
        here all take those of the first, as a resumed run will.
        """
        if isinstance(self.optimizer, RowAdam):
            self.optimizer.catch_up()
            if self._is_distributed:
                state = [t for values in self.optimizer.state.values() for t in values.values()]
                for tensor in [*self.model.parameters(), *(t for t in state if t.ndim)]:
                    broadcast(tensor.data)

    def _between_mega_batches(self, log: _Log, is_epoch_end: bool, is_last: bool) -> None:
        """Evaluate and write a checkpoint if due; only here is the state whole without any
        negatives."""
        at, run = self.progress, self.run_arguments
        if self.evaluate is not None and (at.step >= at.next_evaluation or is_epoch_end):
            self._settle()
            at.next_evaluation = (at.step // run.evaluate_every + 1) * run.evaluate_every
            if self.accelerator.is_main_process:
                score = self.evaluate(self.model)
                log.write(at.step, development=score)
                if at.best_score is None or score > at.best_score:
                    at.best_score, at.best_step = score, at.step
                    save_weights(self.model, self.best_weights)
            self.accelerator.wait_for_everyone()
        if at.step >= at.next_checkpoint or is_last:
            self._settle()
            at.next_checkpoint = (at.step // run.checkpoint_every + 1) * run.checkpoint_every
            if self.accelerator.is_main_process:
                save_checkpoint(
                    self.directory / "checkpoints",
                    at.step,
                    self.model,
                    self.optimizer,
                    {"progress": dataclasses.asdict(at)},
                    run.keep_checkpoints,
                )
            self.accelerator.wait_for_everyone()


def make_optimizer(
    model: ParaphrasticModel, training: TrainingArguments | SupervisedTraining
) -> torch.optim.Optimizer:
    """Adam, AdaGrad or SGD; a step of the first two costs the rows of the table that the batch
    uses.

    Both equal their dense forms: in AdaGrad a row without gradient does not move, in Adam it
    catches up.
    """
    torch.sparse.check_sparse_tensor_invariants.disable()  # explicit, or torch warns about the cost
    if training.optimizer == "adagrad":
        return torch.optim.Adagrad(model.parameters(), lr=training.learning_rate)
    if isinstance(training, SupervisedTraining) and training.optimizer == "sgd":
        momentum = training.momentum or 0.0
        return torch.optim.SGD(model.parameters(), lr=training.learning_rate, momentum=momentum)
    optimizer = RowAdam(model.parameters(), lr=training.learning_rate)
    optimizer.watch(model)
    return optimizer


class _Log:
    """`logs/train.jsonl` and TensorBoard files; on resume, lines after the checkpoint are cut."""

    def __init__(self, directory: Path, step: int, *, is_main: bool) -> None:
        self._sum, self._count, self.mean_loss = 0.0, 0, math.nan
        self._is_main = is_main
        if not is_main:
            return
        from torch.utils.tensorboard import SummaryWriter

        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "train.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if _step_of(line) <= step]
        self._file = path.open("w", encoding="utf-8")
        self._file.writelines(line + "\n" for line in kept)
        self._board = SummaryWriter(str(directory), purge_step=step + 1)

    @property
    def has_unwritten_losses(self) -> bool:
        """Whether steps have passed since the last line."""
        return self._count > 0

    def add(self, loss: float) -> None:
        self._sum, self._count = self._sum + loss, self._count + 1

    def write(self, step: int, **values: Any) -> None:
        if self._count and "development" not in values:
            self.mean_loss = self._sum / self._count
            values["loss"] = self.mean_loss
            self._sum, self._count = 0.0, 0
        if self._is_main:
            self._file.write(json.dumps({"step": step, **values}) + "\n")
            self._file.flush()
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        if self._is_main:
            self._file.close()
            self._board.close()


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):  # a line cut short by a kill
        return math.inf
