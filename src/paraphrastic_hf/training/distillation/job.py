"""Training job that distills teachers into a sentence encoder.

A sentence in a language that a teacher cannot read learns the teacher vector of its translation
(Reimers and Gurevych, 2020).
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from accelerate import Accelerator

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.data.corpus import Column, count_by_source, write_columns
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.distillation.objective import (
    DistillationCorpus,
    DistillationExample,
    DistillationObjective,
    make_examples,
)
from paraphrastic_hf.training.distillation.recipe import DistillationRecipe
from paraphrastic_hf.training.distillation.teacher import (
    load_teacher,
    side_by_side,
    teacher_vectors,
)
from paraphrastic_hf.training.encoder.job import EncoderRun
from paraphrastic_hf.training.engine.provenance import weights_stamp

T = TypeVar("T")


class Distillation(EncoderRun[DistillationRecipe]):
    def prepare(self, work: Path) -> None:
        recipe, sources = self.recipe, self.read_pairs(work)
        languages = [it.languages or recipe.data.teacher_languages for it in recipe.teachers]
        found = make_examples(sources, languages, recipe.data.languages)
        tokenizer = self.make_tokenizer(lambda: (each.text for each in found))
        tokenizer.save(work / "tokenizer")
        reads, rows = _distinct([example.reads for example in found])
        vectors = self._vectors(reads, work)
        write_corpus(found, rows, vectors, tokenizer, sources, work / "corpus")

    def _vectors(self, reads: Sequence[tuple[str, ...]], work: Path) -> np.ndarray:
        """Return the concatenated teacher vectors, reduced to the student's dimensions."""
        context, of_teachers = self.context, []
        for number, teacher in enumerate(self.recipe.teachers):
            folder = work / f"teacher{number}" if teacher.vectors is None else Path(teacher.vectors)
            converted = work / f"converted{number}"
            load = partial(load_teacher, teacher, context.data_root, converted)
            texts, rows = _distinct([it[number] for it in reads])
            is_model = teacher.engine != "python"
            stamp = weights_stamp(teacher.model, context.data_root, is_model=is_model)
            vectors = teacher_vectors(
                texts, teacher, load, folder, stamp=stamp, progress=context.progress
            )
            of_teachers.append(vectors if len(texts) == len(reads) else vectors[rows])
        widths = [encoder.model.hidden_size for encoder in self.recipe.encoders]
        wanted = sum(widths) if self.recipe.combine == "concatenate" else widths[0]
        if self.start is not None:
            wanted = int(self.start.model.config.hidden_size)
        available = sum(vectors.shape[1] for vectors in of_teachers)
        if wanted > available:
            raise RecipeError(
                f"model.hidden_size must be at most the teachers' {available}, got {wanted}"
            )
        weights = [teacher.weight for teacher in self.recipe.teachers]
        return side_by_side(of_teachers, weights, wanted)

    def build(self, work: Path) -> SentenceEncoderModel:
        self.load_work(work)
        self.corpus = DistillationCorpus.load(work / "corpus")
        return self.encoder_at_start()

    def objective(
        self, model: SentenceEncoderModel, accelerator: Accelerator
    ) -> DistillationObjective:
        return DistillationObjective(self.recipe, self.corpus, model, accelerator)

    def save(self, model: SentenceEncoderModel, output: Path) -> dict[str, Any]:
        return {
            **self.save_finished(model, self.corpus, output),
            "teachers": [teacher.model for teacher in self.recipe.teachers],
            "sentences_by_source": count_by_source(self.corpus),
        }


def _distinct(items: Sequence[T]) -> tuple[list[T], np.ndarray]:
    """Return the distinct items in order, and for every item its index in this list."""
    row_of = {item: row for row, item in enumerate(dict.fromkeys(items))}
    return list(row_of), np.array([row_of[item] for item in items], np.int32)


def write_corpus(
    found: Sequence[DistillationExample],
    rows: np.ndarray,
    vectors: np.ndarray,
    tokenizer: TextTokenizer,
    sources: Sequence[SourcePairs],
    directory: Path,
) -> None:
    """Write tokenized sentences and their target vectors, for `DistillationCorpus.load`.

    Sentences without known tokens or with a zero vector are left out. `rows` are the rows of
    `vectors` for each sentence.
    """
    ids = tokenizer.encode_batch([each.text for each in found])
    is_learned = (np.diff(ids.offsets) > 0) & (vectors != 0).any(1)[rows]
    known = np.flatnonzero(is_learned)
    if not len(known):
        raise DataError("No sentence has a known token and a nonzero teacher vector")
    kept = [found[number] for number in known.tolist()]
    languages = sorted({example.language for example in kept})
    number_of = {name: number for number, name in enumerate(languages)}
    columns: dict[str, Column] = {
        "sentences": ids.select(known),
        "row": rows[known],
        "vectors": vectors.astype(np.float16, copy=False),
        "source": np.array([example.source for example in kept], np.int16),
        "language": np.array([number_of[example.language] for example in kept], np.int16),
    }
    meta = {
        "names": [item.source.name for item in sources],
        "weights": [item.source.weight for item in sources],
        "languages": languages,
    }
    write_columns(directory, columns, meta)
