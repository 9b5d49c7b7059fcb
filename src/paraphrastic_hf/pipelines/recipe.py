"""Every key of a recipe that makes a corpus of paraphrases.

Defaults are those of ParaNMT (thesis, 4.3) where it has any: beams of 12, the best translation.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.config.recipe import (
    CORPUS,
    argument,
    build,
    check_bounds,
    parse_overrides,
    read_mapping,
    set_key,
)
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.generation.writing import MOST_BEAMS, MOST_OUTPUTS, MOST_TOKENS
from paraphrastic_hf.io.pairs import MAX_BAD_ROWS
from paraphrastic_hf.pipelines.steps.base import REFERENCE, Step
from paraphrastic_hf.pipelines.steps.duplicates import Duplicates, dealing_side
from paraphrastic_hf.pipelines.steps.registry import make_steps
from paraphrastic_hf.training.engine.paths import named_weights
from paraphrastic_hf.training.engine.recipe import (
    DatasetArguments,
    check_place,
    must_be,
    seed_argument,
)

TRANSLATE = "translate"  # the place among the steps where the engine works
PROGRAMS = ("apertium", "command")  # engines that are programs, of no directory and without scores


@dataclass(frozen=True)
class BitextArguments:
    """One source of sentence pairs, with what the corpus must say of it."""

    path: str | None = argument(
        None,
        help="TSV, CSV, JSON Lines or text file, saved dataset or folder of parquet files; "
        "relative to the data root; .gz, .xz and .bz2 are read",
    )
    dataset: DatasetArguments | None = argument(
        None, help="instead of a path, a corpus: {name: multi30k, config: en-fr}"
    )
    second: str | None = argument(None, help="text file aligned line by line with `path`")
    languages: list[str] | None = argument(
        None, help="language of each side; one of them is data.reference; en, en if absent"
    )
    columns: list[str] | None = argument(
        None, help="the two columns of text, by name or number; found if absent"
    )
    name: str | None = argument(
        None, help="what rows say they come from; the file's or corpus's name if absent"
    )
    license: str = argument("not stated", help="the license of the text, which rows carry along")
    every: int = argument(1, help="take every so many-th pair, from all over the text", at_least=1)
    max_pairs: int | None = argument(None, help="take at most this many pairs", at_least=1)

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        """A source given as its path alone."""
        return {"path": str(value)}

    @property
    def title(self) -> str:
        """What rows and messages call it."""
        if self.name is not None:
            return self.name
        if self.dataset is not None:
            return self.dataset.title
        return Path(str(self.path)).name.partition(".")[0]


@dataclass(frozen=True)
class CorpusData:
    """Which bitext the corpus is made from."""

    sources: list[BitextArguments] = argument(
        [], help="files of sentence pairs, or mappings with `path`"
    )
    reference: str = argument(
        "en", help="the language of the references, which the corpus will be in"
    )
    max_bad_rows: float = argument(
        MAX_BAD_ROWS,
        help="share of the rows of a source that may be malformed and skipped",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class EngineArguments:
    """What translates, and how it searches or samples."""

    kind: str = argument(
        "ctranslate2",
        help="ctranslate2, for Marian, M2M100, NLLB and what else its converter takes; "
        "transformers, any encoder-decoder, this package's too, and generative models of sentence "
        "pairs; apertium, the rule-based system of that name; or command, any program that reads a "
        "sentence a line and writes a translation a line",
        choices=("ctranslate2", "transformers", *PROGRAMS),
    )
    model: str | None = argument(
        None,
        help="a model directory, relative to the data root, or the name of a model on the Hub; of "
        "apertium, the two languages: spa-eng; of command, the program with its arguments, split "
        "as a shell does but run without one (sh -c '...' for a pipe), whose paths start in the "
        "working folder",
        names="weights",
    )
    source: str | None = argument(
        None, help="the language of the lines, for models that must be told: NLLB, M2M100, mBART"
    )
    to: str | None = argument(None, help="the language to write, for models of several")
    prefix: str = argument("", help="text before every line, as T5 wants it")
    beams: int = argument(12, help="beginnings kept at each step", at_least=1, at_most=MOST_BEAMS)
    outputs: int = argument(
        1,
        help="translations of each line, a row each: the best beams, or draws",
        at_least=1,
        at_most=MOST_OUTPUTS,
    )
    sample: bool = argument(False, help="draw each token instead of searching")
    top_p: float = argument(
        1.0, help="with sample, share of the probability to draw from", above=0, at_most=1
    )
    temperature: float = argument(
        1.0, help="with sample, below 1 for likelier tokens, above 1 for others", above=0
    )
    length_penalty: float = argument(
        1.0, help="power of its length by which a beam's log-probability is divided"
    )
    max_tokens: int = argument(
        200, help="most tokens of a translation", at_least=1, at_most=MOST_TOKENS
    )
    precision: str = argument(
        "int8",
        help="ctranslate2: number format of the weights",
        choices=("int8", "int8_float32", "float16", "bfloat16", "float32"),
    )
    batch_tokens: int = argument(
        1024,
        help="ctranslate2: most tokens that are translated at a time; a GPU wants more",
        at_least=1,
    )
    batch_size: int = argument(
        64, help="transformers: most lines that are translated at a time", at_least=1
    )
    threads: int = argument(1, help="threads of one worker", at_least=1)
    timeout: float = argument(
        600.0,
        help="seconds after which a block of lines is given up as hanging",
        above=0,
    )


def words_of(command: str) -> list[str]:
    """A program and its arguments; nothing of a command whose quotes are not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


@dataclass(frozen=True)
class MakeArguments:
    """Where and in how many parts the work is done."""

    executor: str = argument(
        "local",
        help="local, processes of this machine; slurm, jobs of a cluster; or ray, a Ray cluster "
        "that is running",
        choices=("local", "slurm", "ray"),
    )
    tasks: int = argument(
        16,
        help="parts of the work; what is finished is kept by part, so an interrupted corpus goes "
        "on with as many, and no other number",
        at_least=1,
        at_most=10_000,
    )
    workers: int = argument(1, help="parts worked on at a time", at_least=1)
    block: int = argument(2000, help="rows that pass through the steps at a time", at_least=1)
    attempts: int = argument(
        3, help="local: times a part is begun whose worker dies or hangs", at_least=1
    )
    patience: float = argument(
        1800.0,
        help="local: seconds without a finished block after which a worker is ended",
        above=0,
    )
    memory: float = argument(4.0, help="slurm, ray: gigabytes of a worker", above=0)
    cpus: int = argument(1, help="slurm, ray: processors of a worker", at_least=1)
    gpus: int = argument(0, help="slurm, ray: accelerators of a worker", at_least=0)
    partition: str | None = argument(None, help="slurm: partition of the jobs")
    time: str = argument("20:00:00", help="slurm: time limit of a job")
    slurm: dict[str, Any] = argument({}, help="slurm: further options of sbatch")
    address: str = argument("auto", help="ray: the cluster to join; local starts one here")


@dataclass(frozen=True, kw_only=True)
class CorpusRecipe:
    """A corpus of paraphrases: bitext, an engine, the steps, and how they are run."""

    kind: str = argument(CORPUS, help="what is made: a corpus", choices=(CORPUS,))
    data: CorpusData = argument(CorpusData(), help="the bitext")
    engine: EngineArguments = argument(EngineArguments(), help="what translates")
    steps: list[dict[str, Any]] = argument(
        [],
        help="the steps in their order, each its name or {name: {keys}}: [translate, {overlap: "
        "{at_most: 0.2}}]; `translate` is where the engine works",
    )
    make: MakeArguments = argument(MakeArguments(), help="how the work is divided")
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        self._check_duplicates()
        engine, make = self.engine, self.make
        has_engine = self.is_bitext
        if not self.steps:
            raise must_be("steps", self.steps, "a list of steps, such as [translate]")
        if sum(TRANSLATE in each for each in self.steps) >= 2:
            raise must_be("steps", self.steps, "a list with `translate` once, or not at all")
        if has_engine and engine.model is None:
            raise must_be(
                "engine.model",
                engine.model,
                "the model that translates, the languages of apertium, or the command",
            )
        if engine.kind == "command" and not words_of(engine.model or ""):
            raise must_be(
                "engine.model", engine.model, "a program with its arguments, every quote closed"
            )
        if engine.kind in PROGRAMS and engine.outputs != 1:
            raise must_be(
                "engine.outputs",
                engine.outputs,
                f"1 of kind {engine.kind}, which gives one translation of a line",
            )
        if not engine.sample and engine.outputs > engine.beams:
            raise must_be(
                "engine.outputs",
                engine.outputs,
                f"at most engine.beams ({engine.beams}), unless they are drawn",
            )
        if make.executor == "slurm" and make.partition is None:
            raise must_be(
                "make.partition", make.partition, "the partition of the jobs, with executor slurm"
            )
        for source in self.data.sources:
            self._check_source(source, has_engine)

    @property
    def is_bitext(self) -> bool:
        """Whether one side is translated; else there are two sides already."""
        return any(TRANSLATE in each for each in self.steps)

    @property
    def dealt_by(self) -> str:
        """The side that chooses the task of a row, so that exact duplicates meet in one."""
        return dealing_side(self._scoring_steps(), is_bitext=self.is_bitext) or REFERENCE

    def models(self) -> Iterator[tuple[str, str]]:
        """Yield the key and the name of each model of the steps and of a transformers engine."""
        if self.is_bitext and self.engine.kind == "transformers":
            yield "engine.model", str(self.engine.model)
        for step in self._scoring_steps():
            for key, name in named_weights(step):
                yield f"steps.{step.name}.{key}", name

    def _scoring_steps(self) -> list[Step]:
        """All steps but the engine; those that are wrong are refused."""
        return make_steps([each for each in self.steps if TRANSLATE not in each])

    def _check_duplicates(self) -> None:
        """Refuse several tasks where duplicates would not meet in one."""
        steps = self._scoring_steps()
        if dealing_side(steps, is_bitext=self.is_bitext) is None and self.make.tasks > 1:
            sides = [step.of for step in steps if isinstance(step, Duplicates)]
            raise RecipeError(
                f"duplicates of {' and of '.join(sides)} cannot all be found in make.tasks "
                f"{self.make.tasks}: rows are dealt to tasks by one side, before the engine has "
                "written; use make.tasks 1, or duplicates of pair alone, or of source alone"
            )

    def _check_source(self, source: BitextArguments, has_engine: bool) -> None:
        languages, reference = source.languages or ["en", "en"], self.data.reference
        check_place(source, source.title)
        if len(languages) != 2:
            raise must_be(f"languages of {source.title}", languages, "two names")
        if reference not in languages:
            raise must_be(
                f"languages of {source.title}",
                languages,
                f"such that one is data.reference ({reference})",
            )
        if has_engine and languages.count(reference) >= 2:
            raise must_be(
                f"languages of {source.title}",
                languages,
                f"bitext: a side that is not in {reference} is what is translated; without the "
                "step translate, the second side is the translation",
            )


def load_corpus_recipe(path: str | Path, overrides: Sequence[str] = ()) -> CorpusRecipe:
    """Read a recipe that makes a corpus, with command-line overrides applied on top.

    Args:
        overrides: Alternating `--key value...` strings, as `recipe.read_recipe` takes them.
    """
    mapping = read_mapping(find_recipe(path))
    if "kind" not in mapping:
        raise RecipeError(
            f"{path} has no kind; write the line `kind: {CORPUS}` into it if it makes a corpus, or "
            "train it by `paraphrastic train`"
        )
    if mapping["kind"] != CORPUS:
        raise RecipeError(
            f"{path} does not make a corpus (kind: {CORPUS}) but is of kind {mapping['kind']}; "
            "train it by `paraphrastic train`"
        )
    for key, value in parse_overrides(overrides):
        set_key(CorpusRecipe, mapping, key, value)
    return corpus_recipe(mapping)


def corpus_recipe(mapping: dict[str, Any]) -> CorpusRecipe:
    """A recipe from plain YAML values, in which a step without keys may be its name alone."""
    steps = mapping.get("steps")
    if isinstance(steps, list):
        named = [{each: {}} if isinstance(each, str) else each for each in steps]
        mapping = mapping | {"steps": named}
    return build(CorpusRecipe, mapping)
