"""Objective of generative models: evidence lower bound, translation and hinge (thesis, 5.5, 5.6.2).

The loss of a pair is the following, with likelihoods summed over tokens and the step's KL weight w:

    -ln p(x_en | z_en, z_sem) - ln p(x_fr | z_fr, z_sem) + w * sum of KL(q(z) || p(z))
    + translation_weight * (smoothed -ln p(x_fr | z_sem of x_en) and the reverse)
    + contrastive * hinge on the means of z_sem

With more than two languages, a batch contains pairs of only one language pair. A step contains all
language pairs (thesis, 5.11.1).
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.layers.packing import moved
from paraphrastic_hf.losses.margin import margin_loss_of_rows
from paraphrastic_hf.losses.negatives import select_negatives
from paraphrastic_hf.losses.vocabulary import Candidates, draw_candidates
from paraphrastic_hf.models.generative.latent import LatentModel, PairTerms, Side, language_of
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC
from paraphrastic_hf.training.data.batching import TokenBatchObjective
from paraphrastic_hf.training.data.bitexts import Bitexts
from paraphrastic_hf.training.data.corpus import PairCorpus
from paraphrastic_hf.training.data.megabatch import make_pool
from paraphrastic_hf.training.engine.loop import Losses, Step
from paraphrastic_hf.training.generative.aggressive import Aggression
from paraphrastic_hf.training.generative.recipe import GenerativeRecipe, GenerativeTraining


@dataclass(frozen=True)
class PairBatch:
    """A batch of pairs of one bitext.

    `weight` is a factor of sums over the pairs: the number of processes divided by the number of
    pairs in the step. `share` is the same factor of means over the pairs.
    """

    own: np.ndarray  # indices of the two sentences of this process's pairs, (pairs, 2)
    bitext: int  # index
    weight: float
    share: float
    number: int  # index of the batch in its step


class _PairTermsModule(nn.Module):
    def __init__(self, model: LatentModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, sides: Sequence[Side], chosen: Tensor, **options: Any) -> PairTerms:
        return self.model.pair_terms(sides, chosen, **options)


class GenerativeObjective(TokenBatchObjective[GenerativeTraining]):
    """Objective of generative models: reconstruction, translation, KL divergence and hinge."""

    def __init__(
        self,
        recipe: GenerativeRecipe,
        corpus: PairCorpus,
        bitexts: Bitexts,
        model: LatentModel,
        accelerator: Accelerator,
    ) -> None:
        self.max_length = recipe.data.max_length
        self.language_exponent = recipe.data.language_exponent
        lengths = corpus.sentences.lengths(bitexts.sides)
        lengths = np.minimum(lengths, self.max_length)  # (pairs, 2)
        self.bitexts = bitexts
        super().__init__(recipe.training, recipe.seed, accelerator, lengths, bitexts.bitext)
        self.corpus, self.vocab_size = corpus, model.config.vocab_size
        self.first_chosen = bitexts.first_chosen()
        weights = bitexts.translation_weights()
        self.translation_weights = {
            code: self.arguments.translation_weight
            * (weight if model.balances_translations else 1.0)
            for code, weight in weights.items()
        }
        self.aggression = Aggression(is_on=self.arguments.aggressive)
        if self.arguments.aggressive and accelerator.num_processes > 1:
            raise RecipeError("training.aggressive requires a single process. Start one")
        self._decoders = model.decoder_parameters()
        self._encoders = list(model.encoder_parameters())
        self._meaning = list(model.encoder_parameters(SEMANTIC))
        epochs = self.arguments.epochs * self._steps
        most = self.arguments.steps
        self.total_steps = epochs if most is None else min(epochs, most)

    def draw(self, random: np.random.Generator) -> np.ndarray:
        return random.permutation(self.bitexts.draw(self.language_exponent, random))

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        chosen = self.next_step(epoch, position)
        world = self.accelerator.num_processes
        size = sum(map(len, chosen))
        batches = []
        for number, batch in enumerate(chosen):
            own = self.share(batch)
            share = own.size * world / size
            weight = world / size if own.size else 0.0
            bitext = int(self.bitexts.bitext[batch[0]])
            sides = self.bitexts.sides[own.examples]
            batches.append(PairBatch(sides, bitext, weight, share, number))
        turns = self.aggression
        frozen: list[nn.Parameter] = []
        if turns.is_on:
            frozen = self._encoders if turns.is_decoders_turn else self._decoders
        elif step < self.arguments.decoders_first:
            frozen = self._meaning
        self._step_loss = 0.0
        yield Step(batches, size, frozen)
        if turns.is_on:
            turns.add(self._step_loss)

    def state(self) -> dict[str, Any]:
        return asdict(self.aggression)

    def restore(self, state: dict[str, Any]) -> None:
        self.aggression = Aggression(**state)

    def loss(self, model: nn.Module, batch: PairBatch, epoch: int, step: int) -> Losses:
        """Return loss terms of a batch, whose sum over a step is the mean over the pairs."""
        args = self.arguments
        random = np.random.default_rng([self.seed, step, batch.number, 6])
        sides = [
            self._side(language, batch.own[:, number], random)
            for number, language in enumerate(self.bitexts.languages[batch.bitext])
        ]
        chosen = self._chosen(batch, random)
        chosen = moved(chosen, self.accelerator.device)
        terms: PairTerms = model(sides, chosen, smoothing=args.label_smoothing, sample=args.sample)
        parts: dict[str, Tensor] = {}
        for task, nll in terms.nll.items():
            parts[task] = nll * (batch.weight * self._factor(task))
        for task, smoothing in terms.smoothing.items():
            weighted = smoothing * (batch.weight * self._factor(task))
            parts["smoothing"] = parts["smoothing"] + weighted if "smoothing" in parts else weighted
        if terms.kl:
            weight = self.kl_weight(step) * batch.weight
            for variable, kl in terms.kl.items():
                parts[f"kl_{variable}"] = kl * weight
        if args.contrastive:
            hinge = self._hinge(terms.semantic, batch.own)
            parts["contrastive"] = hinge * (args.contrastive * batch.share)
        losses = Losses.of(parts)
        if self.aggression.is_on:
            self._step_loss += losses.total.item()
        return losses

    def as_forward(self, model: LatentModel) -> nn.Module:
        return _PairTermsModule(model)

    def kl_weight(self, step: int) -> float:
        """Return the KL weight w. It rises linearly during the first share `kl_rise` of the run."""
        rise = self.arguments.kl_rise * self.total_steps
        return self.arguments.kl_weight * (min(1.0, (step + 1) / rise) if rise else 1.0)

    def _factor(self, task: str) -> float:
        is_translation = task.startswith("translate")
        return self.translation_weights[language_of(task)] if is_translation else 1.0

    def _chosen(self, batch: PairBatch, random: np.random.Generator) -> Tensor:
        """Return the side of each pair whose semantic vector reconstruction reads, (pairs,).

        The sides alternate. With several bitexts, their shares balance the languages.
        """
        first = self.first_chosen[batch.bitext]
        start = random.integers(2 if first == 0.5 else 2**16) + 1
        turns = np.floor(np.arange(start, start + len(batch.own) + 1) * first)
        return torch.from_numpy((np.diff(turns) == 0).astype(int))

    def _side(self, language: str, sentences: np.ndarray, random: np.random.Generator) -> Side:
        ids, mask = self.corpus.sentences.padded(sentences, self.max_length)
        extra, device = self.arguments.candidates, self.accelerator.device
        candidates: Candidates | None = None
        if extra is not None:
            candidates = draw_candidates(ids[mask > 0], self.vocab_size, extra, random).to(device)
        lengths = torch.from_numpy((mask > 0).sum(1))
        return Side(language, moved(torch.from_numpy(ids), device), lengths, candidates)

    def _hinge(self, semantic: Sequence[Tensor | None], sentences: np.ndarray) -> Tensor:
        """Return the margin loss (thesis, 4.4) on the semantic means of a batch.

        The negative of a sentence is the most similar sentence in this process's part of the batch,
        except its translations.
        """
        first, second = semantic
        if first is None or second is None:
            raise ValueError("training.contrastive requires semantic vectors of both sentences")
        pairs = len(first)
        vectors = torch.stack([first, second], 1).flatten(0, 1).float()  # first, second, first, ...
        flat, corpus = sentences.reshape(-1), self.corpus
        pool = make_pool(vectors.detach(), flat, corpus.language, corpus.group, corpus.never)
        with torch.no_grad():
            negatives = select_negatives(pool, "max", "partner_language", None).view(pairs, 2).T
        own = torch.arange(2 * pairs, device=vectors.device).view(pairs, 2).T
        rows = torch.cat([own, negatives.clamp(min=0)])
        return margin_loss_of_rows(vectors, rows, self.arguments.margin, negatives >= 0, "cosine")
