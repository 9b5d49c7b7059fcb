"""Contrastive objective: sampling of pairs, selection of negatives, and loss."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from paraphrastic_hf.encoders.batches import embed_texts
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.losses.infonce import infonce_loss
from paraphrastic_hf.losses.margin import margin_loss_of_rows
from paraphrastic_hf.losses.negatives import select_negatives
from paraphrastic_hf.losses.pool import Pool
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import PairCorpus
from paraphrastic_hf.training.data.megabatch import (
    MiniBatch,
    interleave,
    make_pool,
    mega_batch_size,
    split,
)
from paraphrastic_hf.training.data.scramble import scramble, swap_keys
from paraphrastic_hf.training.engine.loop import Losses, Objective, Step
from paraphrastic_hf.training.engine.penalty import Penalty


class ContrastiveObjective(Objective):
    """Margin loss (thesis, 3.1.3, 4.4, 5.1.1), InfoNCE or both, on sentence pairs."""

    def __init__(
        self,
        recipe: ContrastiveRecipe,
        corpus: PairCorpus,
        model: SentenceEncoderModel,
        accelerator: Accelerator,
    ) -> None:
        self.arguments, self.seed = recipe.training, recipe.seed
        self.max_length = recipe.data.max_length
        self.corpus, self.model, self.accelerator = corpus, model, accelerator
        whole = int(model.config.hidden_size)
        if max(self.arguments.matryoshka, default=0) >= whole:
            raise RecipeError(
                f"training.matryoshka must be below {whole}, got {self.arguments.matryoshka}"
            )
        # The loss is computed for each of these prefixes of an embedding.
        self._widths = [*self.arguments.matryoshka, whole]
        lambdas = self.arguments.lambda_w, self.arguments.lambda_c, self.arguments.lambda_all
        self.penalty = Penalty(model, *lambdas, to_start=recipe.start is not None)
        models = [encoder.model for encoder in recipe.encoders]
        dropout = any(model.embedding_dropout or model.word_dropout for model in models)
        scrambles, is_first = self.arguments.scramble, self.arguments.scramble_before_negatives
        self._chooses_scrambled = bool(scrambles and is_first)
        self._embeds_equally_in_training = not dropout and not (scrambles and not is_first)
        self._sides = 2 if self.arguments.hinge == "two_sided" else 1
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def examples(self, epoch: int) -> int:
        return self.corpus.pairs_in_epoch

    def steps(self, epoch: int) -> int:
        return ceil(self.examples(epoch) / self.arguments.batch_size)

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        """Yield a `Step` for each mini-batch of the next mega-batch. `step` counts mini-batches."""
        for batch in self.mega_batch(epoch, position, step):
            yield Step([batch], len(batch.whole.pairs[0]))

    def mega_batch(self, epoch: int, position: int, step: int) -> Iterator[MiniBatch]:
        """Yield this process's share of each mini-batch of the next mega-batch."""
        args = self.arguments
        size = mega_batch_size(step, args.mega_batch, args.anneal_steps)
        firsts = self._plan(epoch)[0][position : position + size * args.batch_size]
        sentences = interleave(firsts)
        alone = self.accelerator.num_processes == 1
        if args.objective == "infonce" or (
            size == 1 and alone and self._embeds_equally_in_training
        ):
            # Without negatives. For the margin loss, `loss` selects them from its own embeddings.
            batches = iter([MiniBatch(np.stack([firsts, firsts ^ 1]))])
        else:
            chosen = self._choose(sentences, epoch, step)
            batches = split(sentences, chosen, args.batch_size, self._sides)
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        return batches if alone else (batch.share(rank, world) for batch in batches)

    def loss(self, model: nn.Module, batch: MiniBatch, epoch: int, step: int) -> Losses:
        """Return the loss of a mini-batch, with its parts `margin`, `infonce` and `penalty`."""
        wanted = batch.sentences
        sentences, place = np.unique(wanted, return_inverse=True)
        texts, device = self._texts(sentences, epoch, step), self.model.device
        ids = torch.from_numpy(texts.ids).to(device).long()
        lengths = torch.from_numpy(np.diff(texts.offsets)).to(device)
        output = model(ids, lengths=lengths, return_dict=True)
        vectors = output.sentence_embedding  # (sentences, dim)
        rows = torch.from_numpy(place.reshape(wanted.shape)).to(vectors.device)  # (2 to 4, pairs)
        parts: dict[str, Tensor] = {}
        if self.arguments.objective != "infonce":
            parts["margin"] = self._margin(vectors, rows, batch, step).float() / len(self._widths)
        if self.arguments.objective != "margin":
            parts["infonce"] = self._infonce(vectors, rows, batch).float() / len(self._widths)
        if self.penalty.is_active:
            whole = np.unique(batch.whole.sentences)
            used = self.corpus.sentences.select(whole, self.max_length).ids
            parts["penalty"] = self.penalty(torch.from_numpy(used).to(vectors.device).long())
        return Losses.of(parts)

    def _margin(self, vectors: Tensor, rows: Tensor, batch: MiniBatch, step: int) -> Tensor:
        if batch.negatives is not None:
            has_negative = torch.from_numpy(batch.negatives >= 0).to(vectors.device)
        else:
            places, sentences = rows.T.reshape(-1), batch.pairs.T.reshape(-1)
            chosen = self._choose_among(vectors.detach()[places], sentences, step)
            within = chosen.view(-1, 2).T[: self._sides]
            has_negative = within >= 0
            rows = torch.cat([rows, places[within.clamp(min=0)]])
        args = self.arguments
        losses = [
            margin_loss_of_rows(
                vectors[:, :width], rows, args.margin, has_negative, args.similarity
            )
            for width in self._widths
        ]
        return sum(losses[1:], losses[0]) * batch.weight

    def _infonce(self, vectors: Tensor, rows: Tensor, batch: MiniBatch) -> Tensor:
        """Return InfoNCE of the whole batch, summed over all embedding sizes.

        Every process computes the whole loss. Gradients flow only into its own sentences.
        """
        args, world = self.arguments, self.accelerator.num_processes
        vectors = vectors[rows[:2].T.reshape(-1)]
        whole = batch.whole
        if world > 1:
            shares = [2 * len(share) for share in np.array_split(whole.pairs[0], world)]
            start = sum(shares[: self.accelerator.process_index])
            own = shares[self.accelerator.process_index]
            kept = vectors.detach()
            # Accelerate averages gradients over processes, but here they must be summed.
            ours = kept[:own] + world * (vectors[:own] - kept[:own])
            everyone = self._gather_rows(kept, [np.arange(share) for share in shares])
            vectors = torch.cat([everyone[:start], ours, everyone[start + own :]])
        pool = self._pool(vectors, whole.pairs.T.reshape(-1))
        with self.accelerator.autocast():
            losses = [
                infonce_loss(
                    replace(pool, embeddings=vectors[:, :width]), args.pool, args.temperature
                )
                for width in self._widths
            ]
        return sum(losses[1:], losses[0])

    def _plan(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first sentence of each pair of an epoch, and a mask of scrambled sentences."""
        if self._epoch is None or self._epoch[0] != epoch:
            each = 2 if self.arguments.scramble_sides == "apart" else 1
            coins = np.random.default_rng([self.seed, epoch, 1]).random(each * len(self.corpus))
            coins = np.repeat(coins, 2 // each)
            in_file_order = epoch == 0 and self.arguments.first_epoch == "file_order"
            order = self.corpus.epoch_order(self.seed, epoch, in_file_order)
            self._epoch = (epoch, order, coins < self.arguments.scramble)
        return self._epoch[1:]

    def _texts(self, sentences: np.ndarray, epoch: int, step: int) -> Ragged:
        """Return the token ids of sentences. Sentences in the mask of `_plan` are scrambled."""
        if not self.arguments.scramble:
            return self.corpus.sentences.select(sentences, self.max_length)
        ids, mask = self.corpus.sentences.padded(sentences, self.max_length)
        chosen = np.flatnonzero(self._plan(epoch)[1][sentences])
        marks = self.corpus.special.start, self.corpus.special.end
        movable = (mask[chosen] == 1) & ~np.isin(ids[chosen], [*marks[0], *marks[1]])
        keys = self._keys(sentences[chosen], movable, epoch, step)
        scramble(ids, mask, chosen, keys, *marks)
        offsets = np.concatenate([[0], np.cumsum(mask.sum(1))])
        return Ragged(ids[mask == 1].astype(np.int32), offsets)

    def _keys(
        self, sentences: np.ndarray, movable: np.ndarray, epoch: int, step: int
    ) -> np.ndarray:
        """Return sort keys for `scramble`, (sentences, width)."""
        swaps = self.arguments.scramble_swaps
        if not swaps and not self._chooses_scrambled:
            return np.random.default_rng([self.seed, step, 2]).random(movable.shape)
        # If negatives are selected from scrambled text, an epoch has one order per sentence.
        when = [epoch, 4] if self._chooses_scrambled else [step, 2]
        keys = np.empty(movable.shape)
        for row, free, sentence in zip(keys, movable, sentences.tolist(), strict=True):
            generator = np.random.default_rng([self.seed, *when, sentence])
            row[:] = swap_keys(free, swaps, generator) if swaps else generator.random(len(row))
        return keys

    def _choose(self, sentences: np.ndarray, epoch: int, step: int) -> np.ndarray:
        """Select the negatives of a mega-batch with the current weights, in evaluation mode."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        shares = np.array_split(np.arange(len(sentences)), world)
        texts, which = self.corpus.sentences, sentences[shares[rank]]
        if self._chooses_scrambled:
            texts, which = self._texts(which, epoch, step), np.arange(len(which))
        embeddings = embed_texts(self.model, texts, which, max_length=self.max_length)
        if world > 1:
            embeddings = self._gather_rows(embeddings, shares)
        rows = torch.from_numpy(shares[rank]).to(embeddings.device)
        chosen = self._choose_among(embeddings, sentences, step, rows)
        if world > 1:
            chosen = self._gather_rows(chosen, shares)
        return chosen.cpu().numpy()

    def _choose_among(
        self, embeddings: Tensor, sentences: np.ndarray, step: int, rows: Tensor | None = None
    ) -> Tensor:
        generator = None
        if self.arguments.negatives != "max":
            seed = np.random.SeedSequence([self.seed, step, 3]).generate_state(1, np.uint64)[0]
            generator = torch.Generator().manual_seed(int(seed >> np.uint64(1)))
        args, pool = self.arguments, self._pool(embeddings, sentences)
        with self.accelerator.autocast():
            return select_negatives(
                pool, args.negatives, args.pool, generator, rows=rows, similarity=args.similarity
            )

    def _pool(self, embeddings: Tensor, sentences: np.ndarray) -> Pool:
        corpus = self.corpus
        return make_pool(embeddings, sentences, corpus.language, corpus.group, corpus.never)

    def _gather_rows(self, values: Tensor, shares: list[np.ndarray]) -> Tensor:
        most = max(map(len, shares))
        padded = torch.cat([values, values.new_zeros(most - len(values), *values.shape[1:])])
        parts = self.accelerator.gather(padded).split(most)
        return torch.cat([part[: len(share)] for part, share in zip(parts, shares, strict=True)])
