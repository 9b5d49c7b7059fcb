"""Pairs on which one encoder is right and another wrong (Wieting and Gimpel, 2017, Table 7)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from paraphrastic_hf.analyses.report import Analysis, Table
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.similarity import cosines
from paraphrastic_hf.io.plots import COLORS, new_figure, style

TOP = 5.0  # highest gold score


class Judged(NamedTuple):
    """A sentence pair with its human score and the scores of two encoders, 0 to 5."""

    dataset: str
    first: str
    second: str
    gold: float
    one: float
    other: float

    @property
    def lead(self) -> float:
        """How much larger the absolute error of the second encoder is, -5 to 5 points."""
        return abs(self.other - self.gold) - abs(self.one - self.gold)


def judged(encoders: Iterable[Any], datasets: Sequence[ScoredPairs]) -> list[Judged]:
    """Score pairs with two encoders, and sort them by the first encoder's lead, largest first.

    Cosines from -1 to 1 are scaled to scores from 0 to 5.
    """
    found = []
    sides = (cosines(encoder.encode, datasets) for encoder in encoders)
    for pairs, first, second in zip(datasets, *sides, strict=True):
        scores = zip(*((np.asarray(side) + 1) / 2 * TOP for side in (first, second)), strict=True)
        texts = zip(pairs.first, pairs.second, pairs.scores, strict=True)
        for (a, b, gold), (x, y) in zip(texts, scores, strict=True):
            found.append(Judged(f"{pairs.group} {pairs.name}", a, b, gold, float(x), float(y)))
    return sorted(found, key=lambda pair: -pair.lead)


def errors(
    encoders: Mapping[str, Any], datasets: Sequence[ScoredPairs], *, count: int = 10
) -> Analysis:
    """List the pairs on which the errors of two encoders differ most."""
    names, found = list(encoders), judged(encoders.values(), datasets)
    if not found:
        raise DataError("The data has no scored pairs. Give a folder with STS data")
    leads = [pair.lead for pair in found]
    share = 100 * float(np.mean([lead > 0 for lead in leads]))
    means = [
        float(np.mean([abs(getattr(pair, side) - pair.gold) for pair in found]))
        for side in ("one", "other")
    ]
    columns = ["pairs", *names, f"{names[0]} is closer, %"]
    tables = [Table("all", "Mean error, 0 to 5", columns, [[len(found), *means, share]])]
    columns = ["dataset", "one sentence", "the other", "gold", *names]
    for number, pairs in enumerate((found[:count], found[: -count - 1 : -1])):
        title = f"{names[number]} is closer to the human score"
        tables.append(Table(f"kind-{number + 1}", title, columns, pairs))
    return Analysis(
        "errors",
        f"Errors of {names[0]} and {names[1]}",
        tables,
        _figure(leads, names),
        [
            "Cosines from -1 to 1 are scaled to scores from 0 to 5. The paper does not state its "
            "scaling.",
            "A model that finds all pairs more similar than the other also fills these lists. "
            "Compare models with similar mean errors.",
        ],
        {"models": names, "count": count},
    )


def _figure(leads: Sequence[float], names: Sequence[str]) -> Figure:
    figure = new_figure(6.5, 3.5)
    axes = figure.subplots()
    axes.hist(leads, bins=50, color=COLORS[0])
    label = f"error of {names[1]} minus error of {names[0]}"
    style(axes, xlabel=label, ylabel="pairs", counts="y")
    return figure
