"""Distillation objective: a student learns the teacher vectors of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.losses.regression import cosine_distance, hinge_of_targets
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.corpus import read_columns, seen_in_epoch, size_of_epoch
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.distillation.recipe import DistillationRecipe
from paraphrastic_hf.training.engine.loop import Losses, Objective, Step


@dataclass(frozen=True)
class DistillationExample:
    """A sentence that the student learns."""

    text: str
    reads: tuple[str, ...]  # text that each teacher reads: `text` or its translation
    language: str
    source: int  # index of the sentence's source


@dataclass(frozen=True)
class DistillationCorpus:
    """N tokenized sentences with their target vectors."""

    sentences: Ragged
    row: np.ndarray  # row of `vectors` for each sentence, (N,)
    vectors: np.ndarray  # of unit length, (texts, dim)
    source: np.ndarray  # index of each sentence's source, (N,)
    language: np.ndarray  # index of each sentence's language, (N,)
    names: list[str]  # path of each source
    weights: list[float]  # number of times that each source's sentences are used per epoch
    languages: list[str]

    @cached_property
    def sentences_in_epoch(self) -> int:
        return size_of_epoch(self.source, self.weights)

    @classmethod
    def load(cls, directory: Path) -> DistillationCorpus:
        """Memory-map a folder from `write_corpus`."""
        columns, meta = read_columns(directory)
        return cls(**columns, **meta)


def make_examples(
    sources: Sequence[SourcePairs], teachers: Sequence[Sequence[str]], learns: Sequence[str]
) -> list[DistillationExample]:
    """Return the distinct sentences of the pairs, with the text that each teacher reads.

    `teachers` are the languages that each teacher reads, and `learns` those that the student learns
    (empty for all).
    """
    found: dict[tuple[str, tuple[str, ...]], DistillationExample] = {}
    for number, item in enumerate(sources):
        languages = item.source.languages or ["en", "en"]
        sides = [side for side in (0, 1) if not learns or languages[side] in learns]
        read = {side: _sides_read(item.source.name, side, languages, teachers) for side in sides}
        for pair in item.pairs:
            for side in sides:
                reads = tuple(pair[other] for other in read[side])
                example = DistillationExample(pair[side], reads, languages[side], number)
                found.setdefault((example.text, reads), example)
    if not found:
        raise DataError(f"No source has sentences in {', '.join(learns)}. Change data.languages")
    return list(found.values())


def _sides_read(
    source: str, side: int, languages: Sequence[str], teachers: Sequence[Sequence[str]]
) -> list[int]:
    """Return, for the sentence on `side`, which side each teacher reads: 0 or 1."""
    chosen = []
    for reads in teachers:
        known = [each for each in (side, 1 - side) if languages[each] in reads]
        if not known:
            raise DataError(
                f"{source} has the languages {', '.join(languages)}, but a teacher reads only "
                f"{', '.join(reads)}. Remove the source, or correct data.teacher_languages or the "
                "key `languages` of this teacher"
            )
        chosen.append(known[0])
    return chosen


class DistillationObjective(Objective):
    """Cosine distance between an encoder's vectors and teacher vectors, with an optional hinge."""

    def __init__(
        self,
        recipe: DistillationRecipe,
        corpus: DistillationCorpus,
        model: SentenceEncoderModel,
        accelerator: Accelerator,
    ) -> None:
        self.batch_size, self.seed = recipe.training.batch_size, recipe.seed
        self.contrastive, self.margin = recipe.training.contrastive, recipe.training.margin
        self.max_length = recipe.data.max_length
        self.corpus, self.model, self.accelerator = corpus, model, accelerator
        self._order: tuple[int, np.ndarray] | None = None

    def examples(self, epoch: int) -> int:
        return self.corpus.sentences_in_epoch

    def steps(self, epoch: int) -> int:
        return ceil(self.examples(epoch) / self.batch_size)

    def batches(self, epoch: int, position: int, step: int) -> Iterator[Step]:
        whole = self._sentences(epoch)[position : position + self.batch_size]
        world = self.accelerator.num_processes
        own = np.array_split(whole, world)[self.accelerator.process_index]
        weight = len(own) * world / len(whole)
        yield Step([(own if len(own) else whole[:1], weight)], len(whole))

    def loss(
        self, model: nn.Module, batch: tuple[np.ndarray, float], epoch: int, step: int
    ) -> Losses:
        """Return the mean of 1 - cosine with the targets, and the hinge if it has a weight."""
        numbers, weight = batch
        texts, device = self.corpus.sentences.select(numbers, self.max_length), self.model.device
        ids = torch.from_numpy(texts.ids).to(device).long()
        lengths = torch.from_numpy(np.diff(texts.offsets)).to(device)
        rows = self.corpus.row[numbers]
        targets = torch.from_numpy(self.corpus.vectors[rows].astype(np.float32)).to(device)
        vectors = model(ids, lengths=lengths, return_dict=True).sentence_embedding
        parts = {"regression": cosine_distance(vectors, targets) * weight}
        if self.contrastive:
            read = torch.from_numpy(rows).to(device)
            hinge = hinge_of_targets(vectors, targets, read, self.margin)
            parts["contrastive"] = hinge * (weight * self.contrastive)
        return Losses.of(parts)

    def _sentences(self, epoch: int) -> np.ndarray:
        if self._order is None or self._order[0] != epoch:
            random = np.random.default_rng([self.seed, epoch])
            order = seen_in_epoch(self.corpus.source, self.corpus.weights, random)
            random.shuffle(order)
            self._order = (epoch, order)
        return self._order[1]
