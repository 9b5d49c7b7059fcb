"""Steps that score one side with a language model, a classifier or a language identifier."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.extras import require
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION, Row, Step, column
from paraphrastic_hf.text.language_id import known_languages, languages_of

SIDES = (TRANSLATION, REFERENCE, SOURCE)
KENLM = (".arpa", ".arpa.gz", ".bin", ".binary", ".klm")
Scorer = Callable[[Sequence[str]], list[float | None]]


@dataclass(frozen=True, kw_only=True)
class CrossEntropy(Step):
    """Cross-entropy of a side under a language model, in nats per token including the end token.
    None for a text without known tokens. Several language models need different columns.
    """

    model: str = argument(
        help="language model: folder of `paraphrastic train` or KenLM file", names="weights"
    )
    of: str = argument(TRANSLATION, help="side to score", choices=SIDES)
    column: str = argument("cross_entropy", help="column of the score")

    pattern = "{column}"
    measure = "cross-entropy of the {of}"

    @cached_property
    def _scorer(self) -> Scorer:
        return _kenlm(self.model) if self.model.endswith(KENLM) else _language_model(self.model)

    def score(self, rows: Sequence[Row]) -> list[float | None]:
        return self._scorer(column(rows, self.of)) if rows else []


def _language_model(name: str) -> Scorer:
    from paraphrastic_hf.generation.likelihood import LanguageScorer

    scorer = LanguageScorer.from_pretrained(name)

    def score(texts: Sequence[str]) -> list[float | None]:
        found = scorer.score(texts)
        each = -found.nats / np.maximum(found.tokens, 1)
        return [None if math.isnan(value) else value for value in each.tolist()]

    return score


def _kenlm(path: str) -> Scorer:
    require("kenlm", "kenlm", what="a KenLM language model")
    import kenlm

    try:
        model = kenlm.Model(path)
    except (OSError, RuntimeError) as error:
        raise ModelError(f"Cannot load the language model {path}: {error}") from error

    def score(texts: Sequence[str]) -> list[float | None]:
        found: list[float | None] = []
        for text in texts:
            words = text.encode("utf-8", "replace").decode().split()
            nats = -math.log(10) * model.score(" ".join(words), bos=True, eos=True)
            found.append(nats / (len(words) + 1) if words else None)
        return found

    return score


@dataclass(frozen=True, kw_only=True)
class ReferenceProbability(Step):
    """Probability that a side was written by a person, not by a machine, by a classifier."""

    model: str = argument(
        help="classifier of single texts: run directory of a supervised recipe", names="model"
    )
    label: str = argument("reference", help="label that the classifier gives to human-written text")
    of: str = argument(TRANSLATION, help="side to judge", choices=SIDES)

    pattern = "reference_probability"
    measure = "probability that the {of} is a reference"

    @cached_property
    def _scorer(self) -> Callable[[Sequence[str]], np.ndarray]:
        from paraphrastic_hf.models.supervised.classifier import ClassifierModel
        from paraphrastic_hf.predictors.predict import SentencePredictor

        predictor = SentencePredictor.from_pretrained(self.model)
        model = predictor.model
        named = model.config.id2label if isinstance(model, ClassifierModel) else {}
        labels = {name: int(number) for number, name in named.items()}
        if self.label not in labels or predictor.takes_pairs:
            raise ModelError(
                f"{self.model} must be a classifier of single texts with the label "
                f"{self.label!r}. Its labels are {', '.join(labels) or 'none'}"
            )
        number = labels[self.label]
        return lambda texts: predictor.probabilities(texts)[:, number]

    def score(self, rows: Sequence[Row]) -> list[float]:
        found = self._scorer(column(rows, self.of)) if rows else np.zeros(0)
        return found.astype(np.float64).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class InLanguage(Step):
    """Whether py3langid identifies the language of a side as `language`: 1 or 0."""

    at_least: float | None = argument(1.0, help="lowest score of rows to keep")
    language: str = argument("en", help="two-letter code of the language")
    of: str = argument(TRANSLATION, help="side to score", choices=SIDES)

    pattern = "{of}_in_{language}"

    def score(self, rows: Sequence[Row]) -> list[int]:
        known = known_languages()
        if self.language not in known:
            raise RecipeError(
                f"No language {self.language!r}. Choose from {', '.join(sorted(known))}"
            )
        return [int(found == self.language) for found in languages_of(column(rows, self.of))]
