"""Keys of a recipe that makes a corpus of paraphrases.

Defaults follow ParaNMT (thesis, 4.3): beam size 12 and only the best translation.
"""

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
from paraphrastic_hf.pipelines.steps.meaning import Exclude
from paraphrastic_hf.pipelines.steps.registry import make_steps
from paraphrastic_hf.training.engine.paths import named_weights
from paraphrastic_hf.training.engine.recipe import (
    PairSource,
    check_place,
    must_be,
    seed_argument,
)

TRANSLATE = "translate"  # the step that runs the engine
PROGRAMS = ("apertium", "command")  # engines that are programs, without scores


@dataclass(frozen=True)
class BitextArguments(PairSource):
    """A source of sentence pairs, in `languages` of which one is `data.reference`."""

    name: str | None = argument(
        None, help="name of the source in the column `corpus` (default: name of the file or corpus)"
    )
    license: str = argument("not stated", help="license of the text, for the column `license`")
    every: int = argument(1, help="take every n-th pair", at_least=1)
    max_pairs: int | None = argument(None, help="maximum number of pairs to take", at_least=1)

    @property
    def title(self) -> str:
        if self.name is not None:
            return self.name
        if self.dataset is not None:
            return self.dataset.title
        return Path(str(self.path)).name.partition(".")[0]


@dataclass(frozen=True)
class CorpusData:
    sources: list[BitextArguments] = argument(
        [], help="sources of sentence pairs: file names, or mappings with `path` or `dataset`"
    )
    reference: str = argument("en", help="language of the corpus")
    max_bad_rows: float = argument(
        MAX_BAD_ROWS,
        help="maximum share of malformed rows, which are skipped",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class EngineArguments:
    kind: str = argument(
        "ctranslate2",
        help="translation engine: ctranslate2 (Marian, M2M100, NLLB and others), transformers "
        "(any encoder-decoder or generative model), apertium (rules), or command (a program)",
        choices=("ctranslate2", "transformers", *PROGRAMS),
    )
    model: str | None = argument(
        None,
        help="model directory below the data root, or Hub name. For apertium, the languages "
        "(spa-eng). For command, a program with arguments (sh -c '...' for a pipe)",
        names="weights",
    )
    source: str | None = argument(
        None, help="language of the lines, for multilingual models such as NLLB, M2M100, mBART"
    )
    to: str | None = argument(None, help="language to write, for multilingual models")
    prefix: str = argument("", help="text prepended to every line, for T5")
    beams: int = argument(12, help="beam size", at_least=1, at_most=MOST_BEAMS)
    outputs: int = argument(
        1, help="number of translations per line, one row each", at_least=1, at_most=MOST_OUTPUTS
    )
    sample: bool = argument(False, help="sample tokens instead of beam search")
    top_p: float = argument(
        1.0,
        help="with engine.sample: total probability of the most likely tokens to sample from "
        "(nucleus sampling)",
        above=0,
        at_most=1,
    )
    temperature: float = argument(
        1.0, help="with engine.sample: softmax temperature (lower: likelier tokens)", above=0
    )
    length_penalty: float = argument(
        1.0, help="exponent of the length by which a beam's log probability is divided"
    )
    max_tokens: int = argument(
        200, help="maximum length of a translation, in tokens", at_least=1, at_most=MOST_TOKENS
    )
    precision: str = argument(
        "int8",
        help="with ctranslate2: number format of the weights",
        choices=("int8", "int8_float32", "float16", "bfloat16", "float32"),
    )
    batch_tokens: int = argument(
        1024, help="with ctranslate2: tokens per batch. Raise it on a GPU", at_least=1
    )
    batch_size: int = argument(64, help="with transformers: lines per batch", at_least=1)
    threads: int = argument(1, help="number of threads per worker", at_least=1)
    timeout: float = argument(600.0, help="time limit for a block of rows, in seconds", above=0)


def split_command(command: str) -> list[str]:
    """Split a command into a program and its arguments. An unclosed quote gives an empty list."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


@dataclass(frozen=True)
class MakeArguments:
    executor: str = argument(
        "local",
        help="local (processes of this machine), slurm (jobs of a cluster) or ray (a running Ray "
        "cluster)",
        choices=("local", "slurm", "ray"),
    )
    tasks: int = argument(
        16, help="number of tasks, fixed once a corpus is started", at_least=1, at_most=10_000
    )
    workers: int = argument(1, help="number of tasks run in parallel", at_least=1)
    block: int = argument(2000, help="number of rows that a step processes at a time", at_least=1)
    attempts: int = argument(3, help="with local: maximum number of attempts at a task", at_least=1)
    patience: float = argument(
        1800.0, help="local: seconds without a finished block until a worker is killed", above=0
    )
    memory: float = argument(4.0, help="with slurm, ray: memory per worker, in GB", above=0)
    cpus: int = argument(1, help="with slurm, ray: processors per worker", at_least=1)
    gpus: int = argument(0, help="with slurm, ray: GPUs per worker", at_least=0)
    partition: str | None = argument(None, help="with slurm: partition of the jobs")
    time: str = argument("20:00:00", help="with slurm: time limit of a job")
    slurm: dict[str, Any] = argument({}, help="with slurm: further options of sbatch")
    address: str = argument("auto", help="with ray: address of the cluster. local starts a new one")


@dataclass(frozen=True, kw_only=True)
class CorpusRecipe:
    """Recipe of a corpus: bitext, engine, steps and execution."""

    kind: str = argument(CORPUS, help="kind of recipe", choices=(CORPUS,))
    data: CorpusData = argument(CorpusData(), help="sources of sentence pairs")
    engine: EngineArguments = argument(EngineArguments(), help="translation engine")
    steps: list[dict[str, Any]] = argument(
        [], help="steps in order, such as [translate, {overlap: {at_most: 0.2}}]"
    )
    make: MakeArguments = argument(MakeArguments(), help="executor and division of the work")
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        self._check_duplicates()
        engine, make = self.engine, self.make
        if not self.steps:
            raise must_be("steps", self.steps, "a list of steps, such as [translate]")
        if sum(TRANSLATE in each for each in self.steps) >= 2:
            raise must_be("steps", self.steps, "a list with `translate` at most once")
        if self.is_bitext and engine.model is None:
            wanted = "a model, the languages of apertium, or a command"
            raise must_be("engine.model", engine.model, wanted)
        if engine.kind == "command" and not split_command(engine.model or ""):
            raise must_be("engine.model", engine.model, "a program and arguments, quotes closed")
        if engine.kind in PROGRAMS and engine.outputs != 1:
            raise must_be("engine.outputs", engine.outputs, f"1 for engine.kind {engine.kind}")
        if not engine.sample and engine.outputs > engine.beams:
            wanted = f"at most engine.beams, {engine.beams}, without sampling"
            raise must_be("engine.outputs", engine.outputs, wanted)
        if make.executor == "slurm" and make.partition is None:
            raise must_be("make.partition", make.partition, "given with make.executor slurm")
        for source in self.data.sources:
            self._check_source(source)

    @property
    def is_bitext(self) -> bool:
        """Whether the step `translate` writes the second text. If not, sources have both."""
        return any(TRANSLATE in each for each in self.steps)

    @property
    def dealt_by(self) -> str:
        """Side whose hash determines the task of a row. Exact duplicates get the same task."""
        return dealing_side(self._scoring_steps(), is_bitext=self.is_bitext) or REFERENCE

    def models(self) -> Iterator[tuple[str, str]]:
        """Yield key and name of each model of the steps, and of a transformers engine."""
        if self.is_bitext and self.engine.kind == "transformers":
            yield "engine.model", str(self.engine.model)
        for step in self._scoring_steps():
            for key, name in named_weights(step):
                yield f"steps.{step.name}.{key}", name

    def excluded(self) -> Iterator[str]:
        """Yield the paths of the files that the steps named `exclude` read."""
        for step in self._scoring_steps():
            if isinstance(step, Exclude):
                yield from step.paths

    def _scoring_steps(self) -> list[Step]:
        return make_steps([each for each in self.steps if TRANSLATE not in each])

    def _check_duplicates(self) -> None:
        """Raise an error if there are several tasks and duplicates could be in different ones."""
        steps = self._scoring_steps()
        if dealing_side(steps, is_bitext=self.is_bitext) is None and self.make.tasks > 1:
            sides = [step.of for step in steps if isinstance(step, Duplicates)]
            raise RecipeError(
                f"duplicates of {' and of '.join(sides)} cannot all be found with make.tasks "
                f"{self.make.tasks}, because rows are distributed by one side before translation. "
                "Use make.tasks 1, or only duplicates of pair or of source"
            )

    def _check_source(self, source: BitextArguments) -> None:
        languages, reference = source.languages or ["en", "en"], self.data.reference
        check_place(source, source.title)
        key = f"data.sources: languages of {source.title}"
        if len(languages) != 2 or reference not in languages:
            wanted = f"two languages, one of them data.reference ({reference})"
            raise must_be(key, languages, wanted)
        if self.is_bitext and languages == [reference, reference]:
            wanted = f"two different languages: translate reads the side that is not {reference}"
            raise must_be(key, languages, wanted)


def load_corpus_recipe(path: str | Path, overrides: Sequence[str] = ()) -> CorpusRecipe:
    """Read a recipe that makes a corpus. `overrides` alternates `--key` and values."""
    mapping = read_mapping(find_recipe(path))
    if "kind" not in mapping:
        raise RecipeError(f"{path} has no kind. Add `kind: {CORPUS}`, or use `paraphrastic train`")
    if mapping["kind"] != CORPUS:
        raise RecipeError(f"{path} has kind {mapping['kind']}. Use `paraphrastic train`")
    for key, value in parse_overrides(overrides):
        set_key(CorpusRecipe, mapping, key, value)
    return corpus_recipe(mapping)


def corpus_recipe(mapping: dict[str, Any]) -> CorpusRecipe:
    """Build a recipe from plain YAML values. A step without keys may be just its name."""
    steps = mapping.get("steps")
    if isinstance(steps, list):
        named = [{each: {}} if isinstance(each, str) else each for each in steps]
        mapping = mapping | {"steps": named}
    return build(CorpusRecipe, mapping)
