"""Minimum risk objective: expected cost of a model's translations, interpolated with the likelihood
of the references (thesis, 7.3).

One encoder pass and one decoder pass compute the probabilities of references and candidates, with
gradients. Candidates are generated beforehand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from paraphrastic_hf.generation.search import encoded_by, padded, rows_of
from paraphrastic_hf.losses.likelihood import cross_entropy_parts, log_likelihoods
from paraphrastic_hf.losses.minimum_risk import expected_costs, list_scores
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.batching import TokenBatchObjective
from paraphrastic_hf.training.engine.annealing import Annealing
from paraphrastic_hf.training.engine.loop import Losses, Step
from paraphrastic_hf.training.minimum_risk.candidates import CandidateLists, CandidateMaker
from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe, MinimumRiskTraining


@dataclass(frozen=True)
class Translations:
    """Source sentences and reference translations."""

    sources: Ragged  # token ids
    targets: Ragged  # token ids of the references, with the end mark
    texts: Ragged  # the references as UTF-8 bytes

    def __len__(self) -> int:
        return len(self.sources)

    def references(self, numbers: np.ndarray) -> list[str]:
        """Return the texts of some references, by index."""
        return [bytes(self.texts[number]).decode("utf-8") for number in numbers]

    def lists(self, numbers: np.ndarray) -> tuple[list[list[int]], list[list[int]]]:
        """Return the token ids of some sources and their references, by index."""
        sides = (self.sources, self.targets)
        first, second = ([side[number].tolist() for number in numbers] for side in sides)
        return first, second


@dataclass(frozen=True)
class RiskBatch:
    """A batch of pairs with candidates.

    `tokens` and `pairs` are factors of means over reference tokens and pairs: the share of the step
    that is in this batch and process, times the number of processes.
    """

    own: np.ndarray  # indices of this process's pairs, (pairs,)
    lists: CandidateLists
    tokens: float
    pairs: float


class MinimumRiskObjective(TokenBatchObjective[MinimumRiskTraining]):
    def __init__(
        self,
        recipe: MinimumRiskRecipe,
        pairs: Translations,
        maker: CandidateMaker,
        accelerator: Accelerator,
    ) -> None:
        self.pairs, self.maker = pairs, maker
        sides = (pairs.sources, pairs.targets)
        lengths = np.stack([np.diff(side.offsets) for side in sides], 1)
        super().__init__(recipe.training, recipe.seed, accelerator, lengths)
        self.annealing = Annealing(recipe.training)

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        chosen = self.next_step(epoch, position)
        world = self.accelerator.num_processes
        shares = [self.share(batch) for batch in chosen]
        lists = self._lists(np.concatenate([share.examples for share in shares]), step)
        ends = np.cumsum([0, *(len(share.examples) for share in shares)])
        tokens, pairs = sum(map(self._tokens, chosen)), sum(map(len, chosen))
        batches = [
            RiskBatch(
                share.examples,
                lists.part(first, last),
                self._tokens(share.examples[: share.size]) * world / tokens,
                share.size * world / pairs,
            )
            for share, (first, last) in zip(shares, pairwise(ends), strict=True)
        ]
        yield Step(batches, pairs)

    def loss(self, model: nn.Module, batch: RiskBatch, epoch: int, step: int) -> Losses:
        """Return the loss terms of a batch, divided by the size of the whole step."""
        args, lists = self.arguments, batch.lists
        sources, references = self.pairs.lists(batch.own)
        candidates = [lists.ids[row].tolist() for row in range(len(lists.ids))]
        rows = np.concatenate([np.arange(len(sources)), lists.numbers()])
        logits, targets, is_token = self._decode(model, sources, rows, [*references, *candidates])
        count = len(sources)
        own = is_token[:count]
        right, everyone = cross_entropy_parts(
            logits[:count][own], targets[:count][own], args.label_smoothing
        )
        likelihood = right if everyone is None else right + everyone
        risk = likelihood.new_zeros(())
        if len(candidates):
            theirs = is_token[count:]
            found = log_likelihoods(logits[count:][theirs].float(), targets[count:][theirs])
            sums = found.new_zeros(len(candidates))
            of_row = torch.repeat_interleave(theirs.sum(1))
            sums = sums.index_add(0, of_row, found)
            risk = args.cost_scale * list_risks(sums, lists, args.probability).mean()
        likelihood = args.gamma * (likelihood * batch.tokens)
        return Losses.of(
            {"likelihood": likelihood, "risk": (1 - args.gamma) * (risk * batch.pairs)}
        )

    def _decode(
        self,
        model: nn.Module,
        sources: Sequence[Sequence[int]],
        rows: np.ndarray,
        written: Sequence[Sequence[int]],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute logits for translations, with teacher forcing.

        `rows` is the index into `sources` of each translation, (translations,). Return logits,
        (translations, seq, vocab), targets and their mask, both (translations, seq).
        """
        translator = self.maker.translator
        pad, device = translator.tokenizer.pad_token_id, self.accelerator.device
        inputs = padded(sources, pad, device)
        encoded = encoded_by(translator.model, inputs)
        begin = translator.begin()
        outputs = padded([[*begin, *ids] for ids in written], pad, device)
        chosen = torch.from_numpy(rows).to(device)
        logits = model(
            encoder_outputs=rows_of(encoded, chosen),
            attention_mask=inputs["attention_mask"][chosen],
            decoder_input_ids=outputs["input_ids"][:, :-1],
            use_cache=False,
        ).logits
        first = len(begin)
        targets = outputs["input_ids"][:, first:]
        return logits[:, first - 1 :], targets, outputs["attention_mask"][:, first:].bool()

    def _lists(self, numbers: np.ndarray, step: int) -> CandidateLists:
        """Generate the candidates of a step with the current weights."""
        sources, targets = self.pairs.lists(numbers)
        seed = (self.seed * 1_000_003 + step) * 64 + self.accelerator.process_index
        return self.maker.make(sources, self.pairs.references(numbers), targets, seed % 2**63)

    def _tokens(self, numbers: np.ndarray) -> int:
        return int(self.lengths[numbers, 1].sum())


def list_risks(sums: Tensor, lists: CandidateLists, probability: str) -> Tensor:
    """Return the expected cost of each list, (lists,), in the unit of the costs.

    `sums` are log probabilities of candidates, summed over their tokens, (candidates,).
    """
    lengths = torch.from_numpy(np.diff(lists.ids.offsets)).to(sums.device)
    scores = list_scores(sums, lengths, probability)
    return expected_costs(scores, torch.from_numpy(lists.costs).to(sums), lists.counts.tolist())
