"""Label-smoothed cross-entropy of predicted tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from paraphrastic_hf.losses.smoothing import cross_entropy_parts
from paraphrastic_hf.training.data.batching import Step
from paraphrastic_hf.training.data.token_batches import TokenBatchObjective
from paraphrastic_hf.training.engine.loop import Losses
from paraphrastic_hf.training.engine.recipe import SmoothedArguments


@dataclass(frozen=True)
class TokenBatch:
    """A batch of examples.

    Attributes:
        own: Indices of this process's examples, (examples,).
        weight: Factor of the mean loss of these examples: their share of the step's predicted
            tokens, times the number of processes.
    """

    own: np.ndarray
    weight: float


class CrossEntropyObjective(TokenBatchObjective[SmoothedArguments]):
    """Base of objectives that predict tokens, with label smoothing."""

    def predicted(self, examples: np.ndarray) -> int:
        """Return the number of tokens to predict in some examples, given by index."""
        raise NotImplementedError

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        (chosen,) = self.next_steps(epoch, position)
        of_step = sum(map(self.predicted, chosen))
        batches = []
        for batch in chosen:
            share = self.share(batch)
            of_share = self.predicted(share.examples[: share.size])
            weight = of_share * self.accelerator.num_processes / of_step
            batches.append(TokenBatch(share.examples, weight))
        yield Step(batches, sum(map(len, chosen)))

    def smoothed(self, logits: Tensor, targets: Tensor, weight: float) -> Losses:
        """Return the cross-entropy of logits, (tokens, vocab), as two terms with smoothing."""
        right, everyone = cross_entropy_parts(logits, targets, self.arguments.label_smoothing)
        parts: dict[str, Tensor] = {"cross_entropy": right * weight}
        if everyone is not None:
            parts["smoothing"] = everyone * weight
        return Losses.of(parts)
