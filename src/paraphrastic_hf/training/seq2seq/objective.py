"""Label-smoothed cross-entropy of predicted tokens (thesis, 7.3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F

from paraphrastic_hf.losses.likelihood import cross_entropy_parts
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.batching import TokenBatchObjective, batches_by_length
from paraphrastic_hf.training.engine.annealing import Annealing
from paraphrastic_hf.training.engine.loop import Losses, Step
from paraphrastic_hf.training.engine.recipe import SmoothedArguments

SCORES_AT_A_TIME = 2**25  # logits (tokens x vocabulary) per batch of held-out pairs


@dataclass(frozen=True)
class TokenBatch:
    """A batch of examples. `weight` is a factor of their mean loss."""

    own: np.ndarray  # indices of this process's examples, (examples,)
    weight: float  # their share of the step's predicted tokens, times the number of processes


class CrossEntropyObjective(TokenBatchObjective[SmoothedArguments]):
    """Base of objectives that predict tokens, with label smoothing."""

    def predicted(self, examples: np.ndarray) -> int:
        """Return the number of tokens to predict in some examples, given by index."""
        raise NotImplementedError

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        chosen = self.next_step(epoch, position)
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


class TranslationObjective(CrossEntropyObjective):
    """Cross-entropy of every target token, given the source and the previous target tokens.

    Args:
        sides: Indices of source and target of the training pairs, (pairs, 2).
        templates: As in `seq2seq_inputs`.
        gives_loss: Whether the model itself computes the loss, without label smoothing. This saves
            memory.
    """

    def __init__(
        self,
        recipe: Any,
        sentences: Ragged,
        sides: np.ndarray,
        start: int,
        accelerator: Accelerator,
        templates: Ragged | None = None,
        *,
        gives_loss: bool = False,
    ) -> None:
        args = recipe.training
        super().__init__(args, recipe.seed, accelerator, sentences.lengths(sides))
        self.sentences, self.sides, self.start = sentences, sides, start
        self.templates, self.annealing = templates, Annealing(recipe.training)
        self.gives_loss = gives_loss and not args.label_smoothing

    def loss(self, model: nn.Module, batch: TokenBatch, epoch: int, step: int) -> Losses:
        sides, device = self.sides[batch.own], self.accelerator.device
        inputs, targets = seq2seq_inputs(self.sentences, sides, self.start, device, self.templates)
        if self.gives_loss:
            loss = model(**inputs, targets=targets).loss
            return Losses.of({"cross_entropy": loss * batch.weight})
        logits = model(**inputs).logits  # (tokens, vocab)
        return self.smoothed(logits, targets, batch.weight)

    def predicted(self, examples: np.ndarray) -> int:
        return int(self.lengths[examples, 1].sum())


def seq2seq_inputs(
    sentences: Ragged,
    sides: np.ndarray,
    start: int,
    device: torch.device,
    templates: Ragged | None = None,
) -> tuple[dict[str, Tensor], Tensor]:
    """Return the inputs of an encoder-decoder for pairs of texts, and the tokens to predict,
    (tokens,).

    `sides` are indices of sources and targets, (pairs, 2). `templates` are the token ids of each
    target's template (thesis, 6.3). The last sentences are then the targets, in the order of the
    templates. The input `logits_at` is True at the positions to predict.
    """
    source, source_mask = sentences.padded(sides[:, 0])
    target, target_mask = sentences.padded(sides[:, 1])
    read = np.concatenate([np.full((len(sides), 1), start, target.dtype), target[:, :-1]], 1)
    is_target = torch.from_numpy(target_mask > 0).to(device)
    inputs = {
        "input_ids": torch.from_numpy(source).to(device),
        "decoder_input_ids": torch.from_numpy(read).to(device),
        "logits_at": is_target,
    }
    if not source_mask.all():
        inputs["attention_mask"] = torch.from_numpy(source_mask).to(device)
    if templates is not None:
        ids, mask = templates.padded(sides[:, 1] - (len(sentences) - len(templates)))
        inputs["template_ids"] = torch.from_numpy(ids).to(device)
        inputs["template_attention_mask"] = torch.from_numpy(mask).to(device)
    return inputs, torch.from_numpy(target).to(device)[is_target]


@torch.no_grad()
def nats_of_targets(
    model: Any,
    sentences: Ragged,
    sides: np.ndarray,
    start: int,
    batch_tokens: int,
    templates: Ragged | None = None,
) -> np.ndarray:
    """Return the cross-entropy of each target in nats, (pairs,), in evaluation mode.

    `sides` are the indices of sources and targets, (pairs, 2).
    """
    lengths = sentences.lengths(sides)
    max_tokens = max(1, min(batch_tokens, SCORES_AT_A_TIME // model.config.vocab_size))
    plan = batches_by_length(lengths, max_tokens=max_tokens, max_examples=len(sides))
    nats = np.empty(len(sides))
    with evaluating(model):
        for batch in plan:
            inputs, targets = seq2seq_inputs(
                sentences, sides[batch], start, model.device, templates
            )
            logits = model(**inputs).logits.float()
            of_tokens = F.cross_entropy(logits, targets, reduction="none").double().cpu().numpy()
            starts = np.cumsum(lengths[batch, 1]) - lengths[batch, 1]
            nats[batch] = np.add.reduceat(of_tokens, starts)
    return nats
