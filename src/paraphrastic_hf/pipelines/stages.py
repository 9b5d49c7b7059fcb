"""Stages of a task in datatrove: reading, translation, one stage per step, writing.

Stages pass on blocks of rows, because models are fast only on many rows. A step that compares rows
of all tasks divides the stages into phases. The first phase ends with `Hold`, which stores blocks
and vectors. The next begins with `Compare`, which reads them when every task has ended the first.
"""

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from datatrove.pipeline.base import PipelineStep

from paraphrastic_hf.config.recipe import Bounds
from paraphrastic_hf.corpora.filters import Rejection
from paraphrastic_hf.encoders.storage.arrays import array_writer
from paraphrastic_hf.generation.writing import NOTHING
from paraphrastic_hf.io.files import replacing
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.mining.tiles import TILE
from paraphrastic_hf.pipelines.deal import dealt_rows
from paraphrastic_hf.pipelines.engines.base import Engine, EngineError
from paraphrastic_hf.pipelines.engines.registry import make_engine
from paraphrastic_hf.pipelines.recipe import TRANSLATE, CorpusRecipe, EngineArguments
from paraphrastic_hf.pipelines.shards import shard_writer
from paraphrastic_hf.pipelines.steps.base import SOURCE, TRANSLATION, Row, Step
from paraphrastic_hf.pipelines.steps.meaning import SemanticDuplicates
from paraphrastic_hf.pipelines.steps.registry import make_steps

KEPT, REJECTED = "kept", "rejected"
TRANSLATION_SCORE = "translation_score"
LINES_OF_A_TASK = 2**40  # upper bound on the lines of a task, so that tasks get distinct seeds
EMPTY = Rejection("words of the translation", 0, Bounds(at_least=1))


@dataclass
class Block:
    """Block of rows, kept and rejected, that passes through the stages."""

    rows: list[Row]
    rejects: list[tuple[Row, str, Rejection]] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)
    size: int = 0


Blocks = Iterator[Block]


class Stage(PipelineStep):
    """Base of stages. It counts kept rows, rejected rows and seconds."""

    type = "corpus"
    listener: ClassVar[Callable[[int], object] | None] = None  # gets the rows of finished blocks

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__()

    def has_result(self, task: int) -> bool:
        """Return whether the files that a finished task leaves to later stages exist."""
        return True

    def report(self, rows: int) -> None:
        if Stage.listener is not None:
            Stage.listener(rows)

    def count(self, kept: int, rejected: int) -> None:
        self.stat_update(KEPT, value=kept, unit="block")
        self.stat_update(REJECTED, value=rejected, unit="block")


class LastStage(Stage):
    """Base of stages that end a phase. `work` consumes the blocks of a task."""

    def __init__(self, name: str, locks: Path) -> None:
        super().__init__(name)
        self._locks = locks

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        with locked(self._locks / f"task-{rank:05d}", doing="at work"):
            self.work(data, rank)
        return
        yield  # a generator, as datatrove runs it

    def work(self, data: Any, rank: int) -> None:
        raise NotImplementedError


class Read(Stage):
    """Stage that reads the rows of a task in blocks."""

    def __init__(self, folder: Path, counts: Sequence[int], recipe: CorpusRecipe) -> None:
        super().__init__("read")
        self._folder, self._counts, self._recipe = folder, list(counts), recipe

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> Blocks:
        file, recipe = self._folder / f"{rank:05d}.tsv", self._recipe
        sources, is_bitext = recipe.data.sources, recipe.is_bitext
        rows = dealt_rows(file, self._counts[rank], sources, is_bitext=is_bitext)
        while True:
            with self.track_time("block"):
                some = list(islice(rows, recipe.make.block))
                self.count(len(some), 0)
            if not some:
                return
            yield Block(some, size=len(some))


@lru_cache(maxsize=1)
def _engine(arguments: EngineArguments, seed: int, work: Path) -> Engine:
    return make_engine(arguments, seed=seed, work=work)


class Translate(Stage):
    """Stage that translates: one row per translation. Rows without a translation are rejected."""

    def __init__(self, engine: EngineArguments, seed: int, work: Path) -> None:
        super().__init__(TRANSLATE)
        self._arguments, self._seed, self._work = engine, seed, work

    def run(self, data: Blocks, rank: int = 0, world_size: int = 1) -> Blocks:
        before = rank * LINES_OF_A_TASK
        for block in data:
            with self.track_time("block"):
                engine = _engine(self._arguments, self._seed, self._work)
                lines = len(block.rows)
                self._translate(engine, block, before)
                before += lines
            yield block

    def _translate(self, engine: Engine, block: Block, before: int) -> None:
        written = engine.translate([row[SOURCE] for row in block.rows], before=before)
        if len(written) != len(block.rows):
            raise EngineError(
                f"The engine returned {len(written):,} results for {len(block.rows):,} lines"
            )
        kept: list[Row] = []
        rejected = len(block.rejects)
        for row, translations in zip(block.rows, written, strict=True):
            for each in translations or [NOTHING]:
                if not each.text.strip():
                    block.rejects.append((row | {TRANSLATION: ""}, self.name, EMPTY))
                    continue
                score = None if math.isnan(each.nats) else each.nats
                kept.append(row | {TRANSLATION: each.text, TRANSLATION_SCORE: score})
        block.rows = kept
        block.scores.append(TRANSLATION_SCORE)
        self.count(len(kept), len(block.rejects) - rejected)


class Judge(Stage):
    """Stage that stores a step's score of each row and rejects rows with a score out of bounds."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.name)
        self._step = step

    def run(self, data: Blocks, rank: int = 0, world_size: int = 1) -> Blocks:
        for block in data:
            with self.track_time("block"):
                self._judge(block, self._step.score(block.rows) if block.rows else [])
            yield block

    def _judge(self, block: Block, scores: Sequence[float | None]) -> None:
        if len(scores) != len(block.rows):
            raise ValueError(f"Step {self.name}: {len(scores)} scores for {len(block.rows)} rows")
        name, kept = self._step.name, []
        for row, score in zip(block.rows, scores, strict=True):
            row[name] = score
            rejection = self._step.judge(score)
            if rejection is None:
                kept.append(row)
            else:
                block.rejects.append((row, self.name, rejection))
        if name not in block.scores:
            block.scores.append(name)
        self.count(len(kept), len(block.rows) - len(kept))
        block.rows = kept


@dataclass(frozen=True)
class Held:
    """Files between two phases: the blocks of each task, and the vectors of their rows."""

    folder: Path

    def blocks(self, task: int) -> Path:
        return self.folder / f"{task:05d}.pickle"

    def vectors(self, task: int) -> Path:
        return self.folder / f"{task:05d}.npy"

    def read_vectors(self, task: int) -> np.ndarray:
        return np.load(self.vectors(task), mmap_mode="r")  # type: ignore[no-any-return]


class Hold(LastStage):
    """Stage that encodes the rows for a step, and ends a phase."""

    def __init__(self, step: SemanticDuplicates, output: Path, held: Held) -> None:
        super().__init__("encode", output / "work")
        self._step, self._held = step, held

    def has_result(self, task: int) -> bool:
        return self._held.blocks(task).exists() and self._held.vectors(task).exists()

    def work(self, data: Blocks, rank: int) -> None:
        with (
            array_writer(self._held.vectors(rank), is_shared=False) as write,
            replacing(self._held.blocks(rank)) as partial,
            partial.open("wb") as file,
        ):
            for block in data:
                with self.track_time("block"):
                    pickle.dump(block, file)
                    if block.rows:
                        write([], self._step.vectors(block.rows))
                    self.count(len(block.rows), 0)
                self.report(block.size)


class Compare(Judge):
    """Stage of a step that compares the rows of a task with those of earlier tasks."""

    def __init__(self, step: SemanticDuplicates, held: Held) -> None:
        super().__init__(step)
        self._compared, self._held = step, held

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> Blocks:
        with self.track_time("block"):
            scores = self._scores(rank)
        start = 0
        with self._held.blocks(rank).open("rb") as file:
            for block in _pickled(file):
                with self.track_time("block"):
                    end = start + len(block.rows)
                    self._judge(block, scores[start:end])
                    start = end
                yield block

    def _scores(self, rank: int) -> list[float | None]:
        step = replace(self._compared)  # without rows of another task
        for task in range(rank):
            step.remember(self._held.read_vectors(task))
        own = self._held.read_vectors(rank)
        scores: list[float | None] = []
        for start in range(0, len(own), TILE):
            scores += step.compare(own[start : start + TILE])
            self.report(0)
        return scores


def _pickled(file: BinaryIO) -> Blocks:
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


class Write(LastStage):
    """Stage that writes one parquet file of kept rows and one of rejected rows."""

    def __init__(self, output: Path) -> None:
        super().__init__("write", output / "work")
        self._output = output

    def work(self, data: Blocks, rank: int) -> None:
        with shard_writer(self._output, rank) as write:
            for block in data:
                with self.track_time("block"):
                    write(block.rows, block.rejects, block.scores)
                    self.count(len(block.rows), 0)
                self.report(block.size)


def phases_of(
    recipe: CorpusRecipe,
    output: Path,
    counts: Sequence[int],
    model: str | None,
    data_root: str | Path | None = None,
) -> list[list[Stage]]:
    """Return the stages of each phase. All tasks must end a phase before the next begins."""
    phases: list[list[Stage]] = [[Read(output / "work" / "rows", counts, recipe)]]
    engine = replace(recipe.engine, model=model)
    for entry in recipe.steps:
        if TRANSLATE in entry:
            phases[-1].append(Translate(engine, recipe.seed, output / "work"))
            continue
        (step,) = make_steps([entry])
        if isinstance(step, SemanticDuplicates):
            held = Held(output / "work" / step.name)
            phases[-1].append(Hold(step, output, held))
            phases.append([Compare(step, held)])
        else:
            phases[-1].append(Judge(step.located(data_root)))
    phases[-1].append(Write(output))
    return phases
