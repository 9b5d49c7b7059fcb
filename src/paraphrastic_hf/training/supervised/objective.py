"""Supervised objective (thesis, 3.2.4; Wieting and Gimpel, 2017, 4.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.data.scramble import scramble
from paraphrastic_hf.training.engine.loop import Losses, Objective, Step
from paraphrastic_hf.training.engine.penalty import Penalty
from paraphrastic_hf.training.supervised.examples import Examples
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe


@dataclass(frozen=True)
class Batch:
    """The examples of one optimizer step. `weight` is a factor of their loss."""

    own: np.ndarray  # indices of this process's examples
    whole: np.ndarray  # indices of the examples in all processes
    weight: float  # this process's share of the labels, times the number of processes


class SupervisedObjective(Objective):
    """Loss of a supervised task, with one mini-batch per step.

    Randomness depends only on seed and epoch or step, so a resumed run repeats it.
    """

    def __init__(
        self,
        recipe: SupervisedRecipe,
        examples: Examples,
        tokenizer: TextTokenizer,
        model: SupervisedModel,
        accelerator: Accelerator,
    ) -> None:
        self.arguments, self.seed = recipe.training, recipe.seed
        self.split, self.model, self.accelerator = examples, model, accelerator
        self.marks = tokenizer.special.start, tokenizer.special.end
        self.penalty = Penalty(
            model.encoder,
            self.arguments.lambda_w,
            self.arguments.lambda_c,
            0.0,
            to_start=recipe.start is not None,
        )
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def examples(self, epoch: int) -> int:
        return len(self.split)

    def steps(self, epoch: int) -> int:
        return ceil(len(self.split) / self.arguments.batch_size)

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        whole = self._plan(epoch)[0][position : position + self.arguments.batch_size]
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        own = np.array_split(whole, world)[rank]
        labels, all_labels = (self.split.labels_in(part) for part in (own, whole))
        weight = labels * world / max(1, all_labels)  # gradients are averaged over processes
        yield Step([Batch(own if len(own) else whole[:1], whole, weight)], len(whole))

    def loss(self, model: nn.Module, batch: Batch, epoch: int, step: int) -> Losses:
        """Return the loss of a mini-batch, with its parts `task`, `penalty` and `head`."""
        inputs = self._inputs(batch.own, epoch, step)
        parts: dict[str, Tensor] = {"task": model(**inputs).loss * batch.weight}
        if self.penalty.is_active:
            if len(batch.whole) > len(batch.own):
                inputs = self._inputs(batch.whole, epoch, step)
            ids = inputs["input_ids"]
            parts["penalty"] = self.penalty(ids[inputs["attention_mask"].bool()])
        if self.arguments.lambda_s:
            squares = [weight.square().sum() for weight in self.model.head_parameters()]
            parts["head"] = self.arguments.lambda_s * torch.stack(squares).sum()
        return Losses.of(parts)

    def _plan(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the epoch's examples in order, and a mask of scrambled examples."""
        if self._epoch is None or self._epoch[0] != epoch:
            size = len(self.split)
            order = np.random.default_rng([self.seed, epoch]).permutation(size)
            random = np.random.default_rng([self.seed, epoch, 3])
            order = self.split.arranged(order, self.arguments.batch_size, random)
            coins = np.random.default_rng([self.seed, epoch, 1]).random(size)
            self._epoch = (epoch, order, coins < self.arguments.scramble)
        return self._epoch[1:]

    def _inputs(self, rows: np.ndarray, epoch: int, step: int) -> dict[str, Tensor]:
        if not self.arguments.scramble:
            return self.split.inputs(rows, self.model.device)
        chosen = np.flatnonzero(self._plan(epoch)[1][rows])
        random = np.random.default_rng([self.seed, step, 2])

        def shuffle(ids: np.ndarray, mask: np.ndarray) -> None:
            keys = random.random((len(chosen), ids.shape[1]))
            scramble(ids, mask, chosen, keys, *self.marks)

        return self.split.inputs(rows, self.model.device, shuffle)
