"""Costs of minimum risk training: 1 minus a score from 0 to 1 (thesis, 7.3).

A cost function takes a list of candidates for each reference, so that each reference is encoded
only once.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from paraphrastic_hf.config.recipe import imported
from paraphrastic_hf.errors import DataError, RecipeError, counted
from paraphrastic_hf.extras import require
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL, SimileScorer
from paraphrastic_hf.metrics.semantic import ALPHA
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

METRICS = ("simile", "sim", "bleu", "half", "chrf", "function", "evaluate")
SEMANTIC = ("simile", "sim", "half")
TOLERANCE = 1e-6  # rounding error allowed outside `limits`, as a share of their range

Lists = Sequence[Sequence[str]]


class Cost(Protocol):
    """Base class of costs, which compare candidates with the reference of their list."""

    @property
    def signature(self) -> str: ...

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Return one cost per candidate, (candidates,). A list may be empty."""


class SemanticCost:
    """The cost 1 - SimiLE of each candidate, 0 to 2 (thesis, 7.2.1 and 7.3), or a variant by the
    scorer's `penalty`: `none` is SIM, `excess` penalizes only long translations.
    """

    def __init__(self, scorer: SimileScorer) -> None:
        self.scorer = scorer

    @property
    def signature(self) -> str:
        return self.scorer.signature()

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        flat, numbers = _flat(lists)
        # Candidates and references often repeat. Each distinct text is encoded once.
        texts, places = _distinct([*flat, *references])
        own, other = places[: len(flat)], places[len(flat) :][numbers]
        return np.asarray(1.0 - self.scorer.compare(texts, own, other)[0])


class NgramCost:
    """The cost 1 - score of each candidate, 0 to 1. `cut` splits a text into n-grams."""

    def __init__(
        self, signature: str, cut: Callable[[str], Any], score: Callable[[Any, Any], float]
    ) -> None:
        self.signature, self.cut, self.score = signature, cut, score

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        flat, numbers = _flat(lists)
        theirs = [self.cut(text) for text in references]
        pairs = zip(flat, numbers, strict=True)
        return np.array([1.0 - self.score(self.cut(text), theirs[n]) for text, n in pairs])


def bleu_cost() -> NgramCost:
    """Return the cost of sentence BLEU with add-one smoothing (thesis, 7.3)."""
    return NgramCost("bleu|smooth:add-1|tok:13a|case:mixed", word_cutter(), smoothed_bleu)


class MeanCost:
    """Mean of several costs. The mean of BLEU and SimiLE is Half in the thesis (7.4.2)."""

    def __init__(self, costs: Sequence[Cost]) -> None:
        self.costs = costs

    @property
    def signature(self) -> str:
        return " + ".join(cost.signature for cost in self.costs)

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        return np.asarray(np.mean([cost(lists, references) for cost in self.costs], axis=0))


class FunctionCost:
    """A cost from any function that scores candidates against references. Its lowest and highest
    score, `limits`, are rescaled to 0 and 1.
    """

    def __init__(
        self,
        function: Callable[[list[str], list[str]], Any],
        name: str,
        *,
        limits: Sequence[float] = (0.0, 1.0),
        higher_is_better: bool = True,
    ) -> None:
        if len(limits) != 2 or not limits[0] < limits[1]:
            raise RecipeError(f"cost.limits must be two numbers, low and high, got {list(limits)}")
        self.function, self.name = function, name
        self.low, self.high = map(float, limits)
        self.higher_is_better = higher_is_better

    @property
    def signature(self) -> str:
        return self.name

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        flat, numbers = _flat(lists)
        if not flat:
            return np.empty(0)
        try:
            found = self.function(flat, [references[number] for number in numbers])
            values = np.asarray(found, np.float64)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise DataError(
                f"{self.name} failed on {counted(len(flat), 'candidate')}: "
                f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
            ) from error
        if values.shape != (len(flat),):
            raise DataError(
                f"{self.name} must return one number for each of {len(flat)} candidates, got an "
                f"array of shape {values.shape}"
            )
        margin = TOLERANCE * (self.high - self.low)
        is_within = (values >= self.low - margin) & (values <= self.high + margin)
        if not is_within.all():
            bad = int(np.flatnonzero(~is_within)[0])
            raise DataError(
                f"{self.name} returned {values[bad]} for {flat[bad]!r:.60}, outside {self.low:g} "
                f"to {self.high:g}. Set cost.limits to its range"
            )
        shares = ((values - self.low) / (self.high - self.low)).clip(0.0, 1.0)
        return 1.0 - shares if self.higher_is_better else shares


def make_cost(
    metric: str = "simile",
    *,
    model: Any = DEFAULT_MODEL,
    similarity: str = "sentences",
    alpha: float = ALPHA,
    penalty: str = "both",
    name: str | None = None,
    field: str | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Sequence[float] = (0.0, 1.0),
    higher_is_better: bool = True,
) -> Cost:
    """Return the cost for a metric of `METRICS`. `half` is the mean of `bleu` and `simile`.

    `model`, `similarity`, `alpha` and `penalty` are passed to `SimileScorer`. For `function`,
    `name` is `module:function`. For `evaluate`, `name` is the argument of `evaluate.load`, `field`
    the key of the result with one score per candidate (None: the only one), and `options` are
    arguments of `compute`.
    """
    if metric not in METRICS:
        raise RecipeError(f"cost.metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if (name is None) == (metric in ("function", "evaluate")):
        raise RecipeError(
            "cost.name must be given for cost.metric function and evaluate, and omitted for other "
            f"metrics, got {name!r} for {metric}"
        )
    scale: dict[str, Any] = {"limits": limits, "higher_is_better": higher_is_better}
    if metric == "function":
        return FunctionCost(imported(str(name), "cost.name"), str(name), **scale)
    if metric == "evaluate":
        return FunctionCost(_evaluate(str(name), field, options or {}), f"evaluate:{name}", **scale)
    if metric == "chrf":
        return NgramCost("chrf|nc:6|nw:0|beta:2|case:mixed", char_profile, chrf_score)
    if metric == "bleu":
        return bleu_cost()
    kept = "none" if metric == "sim" else penalty
    semantic = SemanticCost(SimileScorer(model, similarity=similarity, alpha=alpha, penalty=kept))
    return MeanCost([bleu_cost(), semantic]) if metric == "half" else semantic


def _evaluate(
    name: str, field: str | None, options: Mapping[str, Any]
) -> Callable[[list[str], list[str]], Any]:
    require("metric", "evaluate", what="a cost of the library evaluate")
    import evaluate

    try:
        metric = evaluate.load(name)
    except Exception as error:  # evaluate raises many kinds
        raise RecipeError(f"cost.name: evaluate cannot load {name!r}: {error}") from error

    def score(candidates: list[str], references: list[str]) -> Any:
        result = metric.compute(predictions=candidates, references=references, **options)
        numbers = {key: value for key, value in result.items() if isinstance(value, list)}
        if field is None and len(numbers) == 1:
            return next(iter(numbers.values()))
        if field not in numbers:
            known = ", ".join(numbers) or "none (it has no scores of single texts)"
            raise DataError(
                f"cost.field must be a field of the result of {name} that contains one score per "
                f"candidate, got {field!r}. Available: {known}"
            )
        return numbers[field]

    return score


def _flat(lists: Lists) -> tuple[list[str], np.ndarray]:
    """Return the candidates of all lists, and for each candidate the index of its list."""
    numbers = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    return [text for each in lists for text in each], numbers


def _distinct(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    places: dict[str, int] = {}
    found = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64)
    return list(places), found
