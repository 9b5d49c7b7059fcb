"""Every key that a recipe of distillation has alone.

No paper of this project distils; defaults are what `recipes/default/README.md` measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    OptimizationArguments,
    must_be,
)

ENGINES = ("torch", "ctranslate2", "python")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class LearnedSentences(DataArguments):
    """Which sentences to learn the vectors of."""

    ignored: ClassVar[Mapping[str, str]] = {
        "swap": "each sentence is learned by itself; leave it out",
    }
    languages: list[str] = argument(
        [], help="languages that the student learns; every language of the sources if empty"
    )
    teacher_languages: list[str] = argument(
        ["en"],
        help="languages that the teachers read, but for a teacher that names its own; a sentence "
        "of another one learns the vector of its translation",
    )


@dataclass(frozen=True)
class TeacherArguments:
    """An encoder whose vectors are learned."""

    model: str = argument(
        help="its directory, or its name on the Hub or in this package; any model of "
        "sentence-transformers will do; with engine python module:name, what Python can import: a "
        "function from texts to vectors, or a class that is made without arguments and has encode",
        names="weights",
    )
    languages: list[str] = argument(
        [], help="languages that it reads; data.teacher_languages if empty"
    )
    weight: float = argument(
        1.0,
        help="of several teachers, how much its similarities count beside those of the others",
        above=0,
    )
    engine: str = argument(
        "torch",
        help="what runs it: torch; ctranslate2, which rounds to 8 bits and is two to three times "
        "as fast on a CPU; or python, any code that makes vectors of texts",
        choices=ENGINES,
    )
    precision: str = argument(
        "float32",
        help="of the numbers of a transformer that torch runs; bfloat16 is up to six times as fast "
        "where the processor multiplies it, as Intel's with AMX does",
        choices=PRECISIONS,
    )
    vectors: str | None = argument(
        None,
        help="folder that keeps its vectors, for further runs on the same text; within the run's "
        "own folder if absent",
    )
    max_length: int = argument(
        128, help="tokens of a text that it reads; engine python reads all", at_least=3
    )

    def __post_init__(self) -> None:
        if self.precision != "float32" and self.engine != "torch":
            raise RecipeError(
                f"teachers: precision {self.precision} is of engine torch, and the engine of "
                f"{self.model} is {self.engine}; leave one of the two out"
            )

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        """A teacher given as its name alone."""
        return {"model": str(value)}


@dataclass(frozen=True)
class DistillationTraining(OptimizationArguments):
    """Regression onto the teacher's vectors, and its optimization."""

    batch_size: int = argument(1024, help="sentences in a mini-batch", at_least=1)
    contrastive: float = argument(
        0.0,
        help="weight of a hinge beside the regression: each sentence must be nearer to its "
        "teacher's vector than to that of any other text of the batch",
        at_least=0,
    )
    margin: float = argument(
        0.4, help="margin of that hinge, in units of the cosine", at_least=0, at_most=2
    )


@dataclass(frozen=True, kw_only=True)
class DistillationRecipe(EncoderRecipe):
    """A whole run that teaches an encoder another one's vectors."""

    kind: str = argument(
        "distillation",
        help="what a sentence encoder learns by: the vectors of a teacher",
        choices=("distillation",),
    )
    data: LearnedSentences = argument(LearnedSentences(), help="what to train on")
    teachers: list[TeacherArguments] = argument(
        [],
        help="whose vectors are learned: names of encoders, or mappings with `model`; the "
        "similarity of several is the weighted mean of theirs",
    )
    training: DistillationTraining = argument(
        DistillationTraining(epochs=3, learning_rate=1e-2, schedule="linear"), help="the objective"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teachers:
            raise RecipeError(
                "teachers is empty: name the encoder whose vectors are learned, such as "
                "--teachers sentence-transformers/all-MiniLM-L6-v2"
            )
        if not self.data.teacher_languages:
            raise must_be(
                "data.teacher_languages",
                self.data.teacher_languages,
                "the languages that the teachers read, one at least",
            )
        apart = sorted({name for each in self.encoders for name in each.tokenizer.apart})
        if apart:
            raise RecipeError(
                f"tokenizer.apart ({', '.join(apart)}) keeps languages apart that are dropped "
                "later: to learn some languages alone, name them in data.languages"
            )
