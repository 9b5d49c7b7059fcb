"""Training loop of all kinds of runs: optimization, evaluation, checkpoints, logs, resuming."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast
from torch import Tensor, nn
from tqdm.auto import tqdm

from paraphrastic_hf.errors import Interrupted, ParaphrasticError
from paraphrastic_hf.metrics.resampling import Resampled, weighted_p_value
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.training.engine.annealing import Annealing
from paraphrastic_hf.training.engine.checkpoint import (
    load_latest,
    load_weights,
    save_checkpoint,
    save_weights,
)
from paraphrastic_hf.training.engine.interruption import Interruption
from paraphrastic_hf.training.engine.log import TrainingLog
from paraphrastic_hf.training.engine.optimization import (
    learning_rate,
    make_optimizer,
    use_sparse_tables,
    warn_of_warmup,
)
from paraphrastic_hf.training.engine.progress import Progress
from paraphrastic_hf.training.engine.recipe import OptimizationArguments, RunArguments
from paraphrastic_hf.training.engine.row_adam import RowAdam, clip_gradients, gradients_of


@dataclasses.dataclass(frozen=True)
class Step:
    """The batches of one optimizer step, whose gradients are accumulated.

    Attributes:
        size: Number of examples in all batches and processes.
        frozen: Parameters that the step does not change.
    """

    batches: Sequence[Any]
    size: int
    frozen: Sequence[Any] = ()


@dataclasses.dataclass(frozen=True)
class Losses:
    """The loss of a batch: a scalar to minimize, and its terms by name, which are logged."""

    total: Tensor
    parts: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, parts: Mapping[str, Tensor]) -> Losses:
        """Return the sum of named terms. A single term is logged only as the total."""
        terms = list(parts.values())
        return cls(sum(terms[1:], terms[0]), parts if len(terms) > 1 else {})


class Evaluation(float):
    """A development score with further results."""

    figures: Mapping[str, float]  # other values to log
    parts: Sequence[tuple[float, Resampled]]  # weight and per-example results of each term

    def __new__(
        cls,
        score: float,
        figures: Mapping[str, float],
        parts: Sequence[tuple[float, Resampled]] = (),
    ) -> Evaluation:
        evaluation = super().__new__(cls, score)
        evaluation.figures, evaluation.parts = figures, parts
        return evaluation

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[float, Resampled]]) -> Evaluation:
        """Return the weighted sum of the scores of `parts`."""
        return cls(sum(weight * part.score for weight, part in parts), {}, parts)

    def p_value(self, other: Evaluation) -> float | None:
        """Return the two-sided p-value of the difference from another score on equal examples."""
        if not self.parts:
            return None
        return weighted_p_value(
            [(w, one, two) for (w, one), (_, two) in zip(self.parts, other.parts, strict=True)]
        )


class Objective:
    """Base of objectives: batches and loss of a kind of training. Epochs count from 0.

    Randomness must depend only on the seed and the epoch or step, because no random state is saved.
    """

    annealing: Annealing | None = None  # of the learning rate

    def examples(self, epoch: int) -> int:
        """Return the number of examples in an epoch."""
        raise NotImplementedError

    def steps(self, epoch: int) -> int:
        """Return the approximate number of steps in an epoch, for learning-rate schedules."""
        raise NotImplementedError

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        """Yield the next steps of an epoch. Checkpoints are written only after the last of them."""
        raise NotImplementedError

    def loss(self, model: nn.Module, batch: Any, epoch: int, step: int) -> Losses:
        """Return the loss of one batch. The loss of a step is the sum over its batches.

        `model` is the result of `as_forward`, wrapped by Accelerate.
        """
        raise NotImplementedError

    def as_forward(self, model: Any) -> Any:
        """Return a module for `loss` whose `forward` calls the method of the model that is needed.

        Accelerate averages gradients over processes only for calls of `forward`.
        """
        return model

    def state(self) -> dict[str, Any]:
        """Return the state that checkpoints save, as JSON values."""
        known = self.annealing
        return {} if known is None else {"share": known.share, "best": known.best}

    def restore(self, state: dict[str, Any]) -> None:
        if self.annealing is not None:
            self.annealing.share, self.annealing.best = state["share"], state["best"]


class TrainingLoop:
    """Training loop, which can resume from the last checkpoint.

    It writes `checkpoints/` and `logs/` in `directory`. Without `evaluate`, it keeps the last
    weights. `unit` is the plural name of the examples.
    """

    def __init__(
        self,
        model: ParaphrasticModel,
        recipe: Any,
        *,
        directory: Path,
        accelerator: Accelerator,
        evaluate: Callable[[Any], Evaluation] | None = None,
        show_progress: bool = True,
        unit: str = "pairs",
    ) -> None:
        self.training: OptimizationArguments = recipe.training
        self.run_arguments: RunArguments = recipe.run
        self.seed, self.directory, self.accelerator = recipe.seed, directory, accelerator
        self.model, self.evaluate = model, evaluate
        self.show_progress, self.unit = show_progress, unit
        use_sparse_tables(model, self.training)
        self.optimizer = make_optimizer(model, self.training)
        run = self.run_arguments
        self.progress = Progress(
            next_evaluation=run.evaluate_every, next_checkpoint=run.checkpoint_every
        )
        self._state: dict[str, Any] = {}  # of the checkpoint
        self._annealing: Annealing | None = None
        # Several processes would have to agree on the step to stop at.
        self._interruption = Interruption(is_wanted=not self._is_distributed)

    @property
    def best_weights(self) -> Path:
        return self.directory / "checkpoints" / "best.safetensors"

    def resume(self) -> bool:
        """Restore the newest intact checkpoint. Return False if there is no checkpoint."""
        state = load_latest(self.directory / "checkpoints", self.model, self.optimizer)
        if state is None:
            return False
        self.progress, self._state = Progress(**state["progress"]), state
        return True

    def train(self, objective: Objective) -> Progress:
        """Train to the end, and load the weights with the best score, if any."""
        self._annealing = objective.annealing
        wrapped: nn.Module = objective.as_forward(self.model)
        if self._is_distributed:
            wrapped = self.accelerator.prepare_model(wrapped)
            # Accelerate wraps `forward` in autocast, which evaluation must not use.
            for name in ("forward", "_original_forward"):
                self.model.__dict__.pop(name, None)
        self.model.train()
        if "objective" in self._state:
            objective.restore(self._state["objective"])
        at, epochs = self.progress, self.training.epochs
        all_steps = sum(map(objective.steps, range(epochs)))
        total_steps = all_steps if (most := self.training.steps) is None else min(all_steps, most)
        is_main = self.accelerator.is_main_process
        if is_main:
            warn_of_warmup(self.training, total_steps)
        bar = tqdm(
            total=sum(map(objective.examples, range(epochs))) * total_steps // max(1, all_steps),
            initial=at.examples,
            unit=f" {self.unit}",
            unit_scale=True,
            disable=not (self.show_progress and is_main),
        )
        log = TrainingLog(self.directory / "logs", at.step, self._state.get("log"), is_main=is_main)
        with bar, closing(log), self._interruption:
            while not self._is_over():
                size = objective.examples(at.epoch)
                started, position_before = time.perf_counter(), at.position
                for step in objective.batches(at.epoch, at.position, at.step):
                    losses = self._step(objective, wrapped, step, total_steps)
                    at.step += 1
                    at.position = min(at.position + step.size, size)
                    log.add(losses)
                    self._interruption.announce()
                    if at.step % self.run_arguments.log_every == 0:
                        log.write_losses(
                            at.step,
                            epoch=at.epoch,
                            seconds=at.seconds + time.perf_counter() - started,
                            lr=self._rate(total_steps),
                        )
                        dev = {} if at.best_score is None else {"dev": f"{at.best_score:.2f}"}
                        bar.set_postfix({"loss": f"{log.mean_loss:.3f}", **dev})
                    if self._is_over():
                        break
                at.seconds += time.perf_counter() - started
                at.examples += at.position - position_before
                bar.update(at.position - position_before)
                is_epoch_end = at.position >= size
                if is_epoch_end:
                    at.epoch, at.position = at.epoch + 1, 0
                is_last = self._is_over()
                if is_last and log.has_unwritten_losses:
                    log.write_losses(at.step, epoch=at.epoch, seconds=at.seconds)
                self._between_steps(objective, log, is_epoch_end or is_last, is_last)
            self._settle()
        if at.best_step is not None:
            load_weights(self.model, self.best_weights)
        self.model.eval()
        return at

    def _is_over(self) -> bool:
        at, most = self.progress, self.training.steps
        if self._annealing is not None and self._annealing.is_over:
            return True
        return at.epoch >= self.training.epochs or (most is not None and at.step >= most)

    @property
    def _is_distributed(self) -> bool:
        return self.accelerator.num_processes > 1

    def _step(
        self, objective: Objective, wrapped: nn.Module, step: Step, total_steps: int
    ) -> dict[str, float]:
        """Take one optimizer step, and return its losses by name."""
        at = self.progress
        # Seeding each step makes dropout repeatable in a resumed run.
        self._seed((self.seed * 1_000_003 + at.step) * 64 + self.accelerator.process_index)
        found: list[tuple[str, Tensor]] = []
        for number, batch in enumerate(step.batches, 1):
            is_last = number == len(step.batches)
            with nullcontext() if is_last else self.accelerator.no_sync(wrapped):
                with self.accelerator.autocast():
                    losses = objective.loss(wrapped, batch, at.epoch, at.step)
                for name, value in {"loss": losses.total, **losses.parts}.items():
                    found.append((name, value.detach().float()))
                self.accelerator.backward(losses.total)
        for parameter in step.frozen:
            parameter.grad = None
        gradients = gradients_of(self.model.parameters())
        norm = nn.utils.get_total_norm(gradients).float().to(self.model.device)
        # Reading all numbers together needs only one synchronization with the GPU.
        numbers = torch.stack([*(value for _, value in found), norm])
        if self._is_distributed:  # losses are weighted for the mean over processes
            numbers = self.accelerator.reduce(numbers, "mean")
        *losses_read, norm_read = numbers.tolist()
        values: dict[str, float] = {}
        for (name, _), value in zip(found, losses_read, strict=True):
            values[name] = values.get(name, 0.0) + value
        rate = self._rate(total_steps)
        self._refuse_unless_finite("loss", values["loss"], at.step + 1, rate)
        self._refuse_unless_finite("norm of the gradient", norm_read, at.step + 1, rate)
        if self.training.clip:
            clip_gradients(gradients, norm_read, self.training.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()
        return values

    def _rate(self, total_steps: int) -> float:
        rate = learning_rate(self.training, self.progress.step, total_steps)
        return rate if self._annealing is None else rate * self._annealing.share

    def _refuse_unless_finite(self, name: str, value: float, step: int, rate: float) -> None:
        if not math.isfinite(value):
            raise ParaphrasticError(
                f"Training diverged: the {name} is {value} at step {step} with learning rate "
                f"{rate:g}. Lower training.learning_rate or set training.clip. Earlier checkpoints "
                "are intact."
            )

    def _refuse_broken_weights(self) -> None:
        norm = float(nn.utils.get_total_norm([w.detach() for w in self.model.parameters()]))
        rate = self.optimizer.param_groups[0]["lr"]
        self._refuse_unless_finite("norm of the weights", norm, self.progress.step, rate)

    def _seed(self, seed: int) -> None:
        # Without a GPU, torch.manual_seed would queue a deferred CUDA call at every step.
        torch.default_generator.manual_seed(seed)
        if self.model.device.type != "cpu":
            torch.manual_seed(seed)

    def _settle(self) -> None:
        """Update all rows of the token tables, before weights are read or saved.

        Pending updates make rows differ by rounding between processes. All processes take the rows
        of the first process.
        """
        if isinstance(self.optimizer, RowAdam):
            self.optimizer.catch_up()
            if self._is_distributed:
                state = [t for values in self.optimizer.state.values() for t in values.values()]
                for tensor in [*self.model.parameters(), *(t for t in state if t.ndim)]:
                    broadcast(tensor.data)
        self._refuse_broken_weights()

    def _between_steps(
        self, objective: Objective, log: TrainingLog, ends_epoch: bool, is_last: bool
    ) -> None:
        at, run = self.progress, self.run_arguments
        score = None
        if self.evaluate is not None and (at.step >= at.next_evaluation or ends_epoch):
            self._settle()
            at.next_evaluation = (at.step // run.evaluate_every + 1) * run.evaluate_every
            if self.accelerator.is_main_process:
                found = self.evaluate(self.model)
                score = float(found)
                log.write(at.step, development=score, **found.figures)
                if at.best_score is None or score > at.best_score:
                    at.best_score, at.best_step = score, at.step
                    save_weights(self.model, self.best_weights)
            self.accelerator.wait_for_everyone()
        if self._annealing is not None and not at.position:  # the end of an epoch
            self._annealing.observe(at.epoch - 1, self._of_first_process(score))
            if self._annealing.is_over and not is_last and log.has_unwritten_losses:
                log.write_losses(at.step, epoch=at.epoch, seconds=at.seconds)
            is_last = is_last or self._annealing.is_over
        asked = self._interruption.signal  # read once: a signal can arrive at any moment
        if at.step >= at.next_checkpoint or is_last:
            self._settle()
            at.next_checkpoint = (at.step // run.checkpoint_every + 1) * run.checkpoint_every
            if self.accelerator.is_main_process:
                self._write_checkpoint(objective, log, is_due=True)
            self.accelerator.wait_for_everyone()
        elif asked is not None:
            self._refuse_broken_weights()
            self._write_checkpoint(objective, log, is_due=False)
        if asked is not None:
            raise Interrupted(at.step, asked)

    def _write_checkpoint(self, objective: Objective, log: TrainingLog, *, is_due: bool) -> None:
        at, root = self.progress, self.directory / "checkpoints"
        state = {"progress": dataclasses.asdict(at), "log": log.state}
        if kept := objective.state():
            state["objective"] = kept
        keep = self.run_arguments.keep_checkpoints
        save_checkpoint(root, at.step, self.model, self.optimizer, state, keep, is_due)

    def _of_first_process(self, score: float | None) -> float | None:
        if not self._is_distributed:
            return score
        number = math.nan if score is None else score
        shared = float(broadcast(torch.tensor(number, device=self.accelerator.device)))
        return None if math.isnan(shared) else shared
