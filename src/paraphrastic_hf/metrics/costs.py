"""What candidates cost in minimum risk training: 1 less a score of 0 to 1 (thesis, 7.3).

A cost takes lists of candidates with a reference for each list, so that a reference is encoded or
cut into n-grams once, however long its list. SIM and SimiLE of all lists are one call of the
encoder.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from paraphrastic_hf.config.named_code import imported
from paraphrastic_hf.errors import DataError, RecipeError, counted
from paraphrastic_hf.extras import require
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL, SimileScorer
from paraphrastic_hf.metrics.semantic import ALPHA, length_penalty, simile
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

METRICS = ("simile", "sim", "bleu", "half", "chrf", "function", "evaluate")
SEMANTIC = ("simile", "sim", "half")
TOLERANCE = 1e-6  # by which rounding may leave the range of a score

Lists = Sequence[Sequence[str]]


class Cost(Protocol):
    """What candidates cost against the reference of their list."""

    @property
    def signature(self) -> str:
        """What the costs depend on."""

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), finite, mostly 0 to 1.

        Args:
            lists: The candidates for each reference; a list may be empty.
        """


class SemanticCost:
    """The cost 1 - SimiLE, or 1 - SIM, of each candidate (thesis, 7.2.1 and 7.3).

    The penalties of the thesis's trials are `penalty` of the scorer: `none` is SIM alone, by which
    translations grow long; `excess` marks down longer ones alone, by which they shorten; `both` is
    SimiLE.
    """

    def __init__(self, scorer: SimileScorer) -> None:
        self.scorer = scorer

    @property
    def signature(self) -> str:
        """The signature of the scorer."""
        return self.scorer.signature()

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), 0 to 2."""
        flat, numbers = _flat(lists, references)
        # candidates and references often stand there twice
        texts, places = _distinct([*flat, *references])
        embedded = self.scorer.embed(texts)
        own, other = places[: len(flat)], places[len(flat) :][numbers]
        cosines, lengths = embedded.sim(own, other), embedded.lengths
        if lengths is None:
            return 1.0 - cosines
        penalties = length_penalty(lengths[own], lengths[other], self.scorer.penalty)
        return np.asarray(1.0 - simile(cosines, penalties, self.scorer.alpha), np.float64)


class BleuCost:
    """The cost 1 - BLEU of each candidate, with 1 added to the counts of n-grams of several words
    (thesis, 7.3)."""

    signature = "bleu|smooth:add-1|tok:13a|case:mixed"

    def __init__(self) -> None:
        self._cut = word_cutter()

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), 0 to 1."""
        return _each(lists, references, self._cut, smoothed_bleu)


class ChrfCost:
    """The cost 1 - chrF2 of each candidate, as sacrebleu computes it."""

    signature = "chrf|nc:6|nw:0|beta:2|case:mixed"

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), 0 to 1."""
        return _each(lists, references, char_profile, chrf_score)


class MeanCost:
    """The mean of several costs; of BLEU's and SimiLE's it is the thesis's Half (7.4.2)."""

    def __init__(self, costs: Sequence[Cost]) -> None:
        self.costs = costs

    @property
    def signature(self) -> str:
        """The signatures of all."""
        return " + ".join(cost.signature for cost in self.costs)

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), 0 to 2."""
        return np.asarray(np.mean([cost(lists, references) for cost in self.costs], axis=0))


class FunctionCost:
    """What any function of candidates and references says, put on the scale of 0 to 1.

    Args:
        limits: The least and the greatest number it may give.

    Example:
        >>> share = lambda ours, theirs: [float(a == b) for a, b in zip(ours, theirs)]
        >>> FunctionCost(share, "same")([["a", "b"]], ["a"])
        array([0., 1.])
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
            raise RecipeError(
                f"the limits of a cost must be two numbers, the least and the greatest, got "
                f"{list(limits)}"
            )
        self.function, self.name = function, name
        self.low, self.high = map(float, limits)
        self.higher_is_better = higher_is_better

    @property
    def signature(self) -> str:
        """The name of the function."""
        return self.name

    def __call__(self, lists: Lists, references: Sequence[str]) -> np.ndarray:
        """Give the cost of every candidate, list after list, (candidates,), 0 to 1."""
        flat, numbers = _flat(lists, references)
        if not flat:
            return np.empty(0)
        try:
            found = self.function(flat, [references[number] for number in numbers])
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise DataError(
                f"{self.name} failed on {counted(len(flat), 'candidate')}: "
                f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
            ) from error
        try:
            values = np.asarray(found, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"{self.name} gave what is no list of numbers: {error}") from error
        if values.shape != (len(flat),):
            raise DataError(
                f"{self.name} must give a number for each of {len(flat)} candidates, and gave "
                f"an array of shape {values.shape}"
            )
        margin = TOLERANCE * (self.high - self.low)
        is_within = (values >= self.low - margin) & (values <= self.high + margin)
        if not is_within.all():
            bad = int(np.flatnonzero(~is_within)[0])
            raise DataError(
                f"{self.name} gave {values[bad]} for {flat[bad]!r:.60}, which is not from "
                f"{self.low:g} to {self.high:g}; cost.limits says what it may give"
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
    """Make the cost that a metric's name stands for.

    Args:
        metric: One of `METRICS`: `simile`, `sim`, `bleu`, `half` (the mean of `bleu` and `simile`),
            `chrf`, `function` or `evaluate`.
        model: The model of SIM and SimiLE, as `SimileScorer` takes it.
        similarity: What SIM compares, `sentences` (7.2.1) or `windows`, as `SimileScorer` takes it.
        alpha: Weight of the length penalty, 0 or more.
        penalty: Which lengths are marked down, as `SimileScorer` takes it; of `sim` none is.
        name: For `function` its `module:function`; for `evaluate` what `evaluate.load` takes.
        field: For `evaluate` the key of its result that holds a number for each candidate; its
            only one if None.
        options: For `evaluate` what `compute` gets beside the texts, such as {"lang": "en"}.
        limits: The least and the greatest number that a function or a metric of `evaluate` gives,
            two numbers.

    Example:
        >>> cost = make_cost("simile")
        >>> same, other = cost([["A cat sleeps.", "Dogs bark."]], ["A cat sleeps."])
        >>> bool(same < 0.01 < other)
        True
    """
    if metric not in METRICS:
        raise RecipeError(f"cost.metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if (name is None) == (metric in ("function", "evaluate")):
        raise RecipeError(
            f"cost.name is for cost.metric function and evaluate alone, and they need it; the "
            f"metric is {metric}"
        )
    scale: dict[str, Any] = {"limits": limits, "higher_is_better": higher_is_better}
    if metric == "function":
        return FunctionCost(imported(str(name), "cost.name"), str(name), **scale)
    if metric == "evaluate":
        return FunctionCost(_evaluate(str(name), field, options or {}), f"evaluate:{name}", **scale)
    if metric == "chrf":
        return ChrfCost()
    if metric == "bleu":
        return BleuCost()
    kept = "none" if metric == "sim" else penalty
    semantic = SemanticCost(SimileScorer(model, similarity=similarity, alpha=alpha, penalty=kept))
    return MeanCost([BleuCost(), semantic]) if metric == "half" else semantic


def _evaluate(
    name: str, field: str | None, options: Mapping[str, Any]
) -> Callable[[list[str], list[str]], Any]:
    require("metric", "evaluate", what="a cost of the library evaluate")
    import evaluate

    try:
        metric = evaluate.load(name)
    except Exception as error:  # of many kinds
        raise RecipeError(f"cost.name: evaluate cannot load {name!r}: {error}") from error

    def score(candidates: list[str], references: list[str]) -> Any:
        result = metric.compute(predictions=candidates, references=references, **options)
        numbers = {key: value for key, value in result.items() if isinstance(value, list)}
        if field is None and len(numbers) == 1:
            return next(iter(numbers.values()))
        if field not in numbers:
            known = ", ".join(numbers) or "none: it scores a corpus alone"
            raise DataError(
                f"cost.field of evaluate's {name} must name what holds a number for each "
                f"candidate, got {field!r}; there is {known}"
            )
        return numbers[field]

    return score


def _flat(lists: Lists, references: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """All candidates, and the number of the list that each is in."""
    numbers = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    return [text for each in lists for text in each], numbers


def _distinct(texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """The texts without repetition, and the place among them of each."""
    places: dict[str, int] = {}
    found = np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64)
    return list(places), found


def _each(
    lists: Lists,
    references: Sequence[str],
    cut: Callable[[str], Any],
    score: Callable[[Any, Any], float],
) -> np.ndarray:
    flat, numbers = _flat(lists, references)
    theirs = [cut(text) for text in references]
    return np.array([1.0 - score(cut(t), theirs[n]) for t, n in zip(flat, numbers, strict=True)])
