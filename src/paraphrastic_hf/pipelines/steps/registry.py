"""Names of the steps in recipes, and functions that build steps."""

from collections.abc import Mapping, Sequence
from typing import Any

from paraphrastic_hf.config.recipe import build
from paraphrastic_hf.errors import RecipeError, nearest_name
from paraphrastic_hf.pipelines.steps.base import Step
from paraphrastic_hf.pipelines.steps.duplicates import Duplicates, NearDuplicates
from paraphrastic_hf.pipelines.steps.judges import CrossEntropy, InLanguage, ReferenceProbability
from paraphrastic_hf.pipelines.steps.meaning import Exclude, SemanticDuplicates
from paraphrastic_hf.pipelines.steps.ngrams import NgramOverlap, SentenceBleu
from paraphrastic_hf.pipelines.steps.scores import (
    CrossLingualScore,
    ParaphraseScore,
    TranslationScore,
)
from paraphrastic_hf.pipelines.steps.texts import (
    Copy,
    CountWords,
    DifferentNumbers,
    LengthRatio,
    TerminalPunctuation,
)

STEPS: dict[str, type[Step]] = {
    "words": CountWords,
    "length_ratio": LengthRatio,
    "copy": Copy,
    "numbers": DifferentNumbers,
    "punctuation": TerminalPunctuation,
    "duplicates": Duplicates,
    "near_duplicates": NearDuplicates,
    "semantic_duplicates": SemanticDuplicates,
    "exclude": Exclude,
    "overlap": NgramOverlap,
    "bleu": SentenceBleu,
    "language": InLanguage,
    "translation_score": TranslationScore,
    "paraphrase_score": ParaphraseScore,
    "cross_lingual_score": CrossLingualScore,
    "cross_entropy": CrossEntropy,
    "reference": ReferenceProbability,
}


def make_step(name: str, settings: Mapping[str, Any] | None = None, where: str = "steps") -> Step:
    """Build a step, one of `STEPS`, from its name and the keys of a recipe."""
    if name not in STEPS:
        raise RecipeError(f"No step named {name!r}. {nearest_name(name, STEPS)}")
    return build(STEPS[name], dict(settings or {}), where=f"{where}.{name}")


def make_steps(items: Sequence[Any]) -> list[Step]:
    """Build the steps of a recipe, in order."""
    steps: list[Step] = []
    for item in items:
        if isinstance(item, str):
            name, settings = item, None
        elif isinstance(item, Mapping) and len(item) == 1:
            name, settings = next(iter(item.items()))
        else:
            raise RecipeError(
                f"steps must be names, with keys as in - words: {{at_most: 30}}, got {item!r}"
            )
        step = make_step(str(name), settings)
        if any(step.name == other.name for other in steps):
            raise RecipeError(f"Two steps write column {step.name}. Give one another column")
        steps.append(step)
    return steps
