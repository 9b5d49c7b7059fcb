"""Correlation of a model's scores with piece overlap and language distance (thesis, Table 46)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from scipy import stats

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, scatter
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.plots import COLORS, new_figure, style
from paraphrastic_hf.text.contract import TextTokenizer

OVERLAP = "SP overlap"
THRESHOLD = 0.3  # read off the plot in thesis 5.3.2
FEWEST = 4  # minimum number of languages for a correlation
THESIS = {  # Table 46: correlations with overlap, distance by all features, and distance by syntax
    "all": {OVERLAP: 71.5, "features": -22.8},
    "low": {OVERLAP: 23.6, "features": -63.8, "syntax": -56.1},
    "high": {OVERLAP: 18.5, "features": -34.2, "syntax": -29.0},
}
THESIS_APART = {"all": {OVERLAP: 24.9, "features": -10.1, "syntax": -37.5}}  # 5.3.2, marked pieces


@dataclass(frozen=True)
class Language:
    """A language that is compared with English."""

    name: str
    pairs: int  # on which the overlap was measured
    overlap: float  # share of the English pieces that also occur in the other language, 0 to 1
    score: float
    distances: Mapping[str, float]  # to English, 0 to 1, by kind


def piece_overlap(tokenizer: TextTokenizer, english: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of distinct English pieces that the other text also has (footnote 9)."""
    own, others = (set(tokenizer.encode_batch(texts).ids.tolist()) for texts in (english, other))
    if not own:
        raise DataError("The English text contains no known token. Give another model or text")
    return len(own & others) / len(own)


def languages(
    found: Sequence[Language],
    *,
    unit: str,
    source: str,
    name: str = "model",
    threshold: float = THRESHOLD,
    apart: bool = False,
) -> Analysis:
    """Correlate a model's scores with piece overlap and language distances (Spearman's rho x 100).

    Languages with an overlap above `threshold` are a group of their own.
    """
    if len(found) < FEWEST:
        raise DataError(
            f"A correlation requires {FEWEST} or more languages with scores, got {len(found)}"
        )
    kinds = list(dict.fromkeys(kind for language in found for kind in language.distances))
    groups = {
        "all": list(found),
        "low": [language for language in found if language.overlap <= threshold],
        "high": [language for language in found if language.overlap > threshold],
    }
    titles = {"all": "all", "low": f"overlap <= {threshold:g}", "high": f"overlap > {threshold:g}"}
    rows: list[list[Cell]] = []
    for group, members in groups.items():
        figures = [_correlation(members, kind) for kind in (OVERLAP, *kinds)]
        rows.append([titles[group], len(members), *figures])
        thesis = (THESIS_APART if apart else THESIS).get(group, {})
        rows.append([f"thesis, {group}", None, *(thesis.get(kind) for kind in (OVERLAP, *kinds))])
    each: list[list[Cell]] = [
        [item.name, item.pairs, item.overlap, *(item.distances.get(k) for k in kinds), item.score]
        for item in sorted(found, key=lambda item: -item.score)
    ]
    return Analysis(
        "languages",
        f"{name}: {unit}, piece overlap and language distance",
        [
            Table(
                "correlations",
                f"Spearman's rho x 100 with {unit}",
                ["languages", "number", OVERLAP, *kinds],
                rows,
            ),
            Table("languages", "Languages", ["language", "pairs", OVERLAP, *kinds, unit], each),
        ],
        _figure(found, kinds, unit, threshold),
        [
            "SP overlap: share of the distinct English pieces that also occur in the other "
            "language's text.",
            f"Distances to English: {source}.",
            "The thesis trains a model for each of 46 languages, scores it on STS 2012-2016, and "
            f"separates low from high overlap at {THRESHOLD:g}.",
        ],
        {"model": name, "unit": unit, "threshold": threshold},
    )


def _correlation(members: Sequence[Language], kind: str) -> Cell:
    points = [(_value(item, kind), item.score) for item in members]
    points = [point for point in points if not math.isnan(point[0])]
    if len(points) < FEWEST or any(len(set(side)) == 1 for side in zip(*points, strict=True)):
        return None
    return float(100 * stats.spearmanr(*zip(*points, strict=True)).statistic)


def _value(language: Language, kind: str) -> float:
    return language.overlap if kind == OVERLAP else language.distances.get(kind, math.nan)


def _figure(found: Sequence[Language], kinds: Sequence[str], unit: str, threshold: float) -> Figure:
    drawn = [OVERLAP, *kinds[:1]]
    figure = new_figure(5.2 * len(drawn), 4.4)
    panels = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
    for panel, kind in zip(panels, drawn, strict=True):
        points = {item.name: (_value(item, kind), item.score) for item in found}
        scatter(panel, points, [COLORS[item.overlap > threshold] for item in found])
        label = "of the English pieces" if kind == OVERLAP else "language distance"
        style(panel, xlabel=f"{kind}, {label}", ylabel=unit if kind == OVERLAP else "")
    panels[0].axvline(threshold, color="#9aa3b0", linewidth=0.8, linestyle="--")
    return figure
