"""Recipe keys of distillation, which the papers do not use.

`recipes/default/trials.md` reports how the defaults were chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.engine.recipe import DataArguments, OptimizationArguments, must_be


@dataclass(frozen=True)
class LearnedSentences(DataArguments):
    ignored: ClassVar[Mapping[str, str]] = {
        "swap": "Each sentence is learned by itself, so leave the key out"
    }
    languages: list[str] = argument(
        [], help="languages that the student learns (default: all languages of the sources)"
    )
    teacher_languages: list[str] = argument(
        ["en"],
        help="default of the teachers' `languages`. For a sentence in another language, the "
        "student learns the vector of its translation",
    )


@dataclass(frozen=True)
class TeacherArguments:
    model: str = argument(
        help="teacher: directory, packaged name or Hub name of any sentence-transformers model. "
        "For the engine `python`, module:name of a function of texts, or of a class with `encode`",
        names="weights",
    )
    languages: list[str] = argument(
        [], help="languages that this teacher reads (default: data.teacher_languages)"
    )
    weight: float = argument(
        1.0, help="weight of this teacher in the average similarity of several teachers", above=0
    )
    engine: str = argument(
        "torch",
        help="runtime: torch, ctranslate2 (8-bit, 2 to 3 times as fast on CPU), python (any code)",
        choices=("torch", "ctranslate2", "python"),
    )
    precision: str = argument(
        "float32",
        help="number format of a torch transformer (bfloat16: up to 6 times as fast on Intel AMX)",
        choices=("float32", "bfloat16"),
    )
    vectors: str | None = argument(
        None, help="folder that caches the teacher's vectors (default: the run folder)"
    )
    max_length: int = argument(
        128,
        help="maximum tokens per text. Except with the engine `python`, longer texts are cut",
        at_least=3,
    )
    prompt: str | None = argument(
        None,
        help="text to prepend, such as 'query: ' (default: the model's own prompt, or none "
        "with engine python)",
    )

    def __post_init__(self) -> None:
        if self.precision != "float32" and self.engine != "torch":
            key = f"teachers: the engine of {self.model}, which has precision {self.precision},"
            raise must_be(key, self.engine, "torch")

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        return {"model": str(value)}


@dataclass(frozen=True)
class DistillationTraining(OptimizationArguments):
    batch_size: int = argument(1024, help="number of sentences per mini-batch", at_least=1)
    contrastive: float = argument(
        0.0,
        help="weight of a hinge loss that makes a sentence closer to its teacher vector than to "
        "others of the batch (0: no hinge)",
        at_least=0,
    )
    margin: float = argument(
        0.4, help="margin of the hinge, in cosine units", at_least=0, at_most=2
    )


@dataclass(frozen=True, kw_only=True)
class DistillationRecipe(EncoderRecipe):
    kind: str = argument(
        "distillation", help="kind of training: encoder from teachers", choices=("distillation",)
    )
    data: LearnedSentences = argument(LearnedSentences(), help="training data")
    teachers: list[TeacherArguments] = argument(
        [],
        help="encoders to learn from: names, or mappings with `model`. Their similarities are "
        "averaged by weight",
    )
    training: DistillationTraining = argument(
        DistillationTraining(epochs=3, learning_rate=1e-2, schedule="linear"),
        help="objective and optimization",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.teachers:
            raise RecipeError(
                "teachers is empty. Add one: --teachers sentence-transformers/all-MiniLM-L6-v2"
            )
        if not self.data.teacher_languages:
            raise must_be("data.teacher_languages", [], "one language or more")
        apart = sorted({name for each in self.encoders for name in each.tokenizer.apart})
        if apart:
            raise RecipeError(
                f"tokenizer.apart ({', '.join(apart)}) cannot be used in distillation. Remove it, "
                "and list the languages to learn in data.languages"
            )
