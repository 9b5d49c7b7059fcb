"""Comparison of two systems: score distributions, ties, and segments on which SIM and BLEU disagree
(thesis, 7.5.1 and 7.7), and its report: Markdown, plots, a table and JSON.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import replacing, write_bytes, write_json
from paraphrastic_hf.io.markdown import Markdown, code, literal, markdown_table
from paraphrastic_hf.io.plots import COLORS, new_figure, png, style
from paraphrastic_hf.metrics.corpus_bleu import CorpusBleu
from paraphrastic_hf.metrics.matching import SegmentScores
from paraphrastic_hf.metrics.resampling import p_text
from paraphrastic_hf.metrics.scorer import References, SimileScorer, checked_segments
from paraphrastic_hf.metrics.systems import SystemScores

MOST_SHOWN = 1000  # characters of a text in the report
MOST_DIGITS = 18  # of a segment number
EQUAL = 1e-4  # on a scale of 0 to 100. Smaller differences are rounding errors.
MEASURES = ("SimiLE", "SIM", "BLEU")


@dataclass(frozen=True)
class Ties:
    """Share of hypotheses with different scores, and mean difference (thesis, 7.5.1)."""

    pairs: int  # of hypotheses in the same list, over all lists
    unequal: float  # share of these pairs with different scores, 0 to 1
    difference: float  # mean absolute difference of a pair, 0 to 100


@dataclass(frozen=True)
class Comparison:
    """Scores of two systems on the same segments, 0 to 100, by measure (`MEASURES`)."""

    names: tuple[str, str]
    hypotheses: tuple[list[str], list[str]]
    references: list[list[str]]
    scores: dict[str, np.ndarray]  # (2, segments)
    ties: dict[str, Ties]  # within n-best lists if given, else between the two systems
    is_nbest: bool
    listed: dict[str, np.ndarray]  # of all hypotheses in the n-best lists, (hypotheses,)
    signature: str

    def change(self, measure: str) -> np.ndarray:
        """Return the scores of the second system minus those of the first, (segments,)."""
        return np.asarray(self.scores[measure][1] - self.scores[measure][0])

    def order(self) -> np.ndarray:
        """Return the indices of segments with different outputs, by descending |change of BLEU| -
        |change of SIM| (thesis, 7.7), (differing,).
        """
        differs = [a != b for a, b in zip(*self.hypotheses, strict=True)]
        statistic = np.abs(self.change("BLEU")) - np.abs(self.change("SIM"))
        order = np.argsort(-statistic, kind="stable")
        return np.asarray(order[np.array(differs)[order]])


def compare(
    scorer: SimileScorer,
    bleu: SegmentScores,
    names: tuple[str, str],
    systems: tuple[Sequence[str], Sequence[str]],
    references: References,
    nbest: Sequence[Sequence[str]] | None = None,
) -> Comparison:
    """Score two systems by SimiLE, SIM and sentence BLEU, 0 to 100. Ties are counted in the n-best
    list of each segment, or between the two systems.
    """
    if names[0] == names[1]:
        raise DataError(f"Give the two systems different names, got {names[0]!r} twice")
    checked = [checked_segments(hypotheses, references) for hypotheses in systems]
    lists = checked[0][1]
    first, second = (hypotheses for hypotheses, _ in checked)
    flat = _measure(scorer, bleu, [*first, *second], [*lists, *lists])
    scores = {name: values.reshape(2, -1) for name, values in flat.items()}
    groups = nbest
    if groups is None:
        listed, numbers = flat, np.tile(np.arange(len(lists)), 2)
    else:
        numbers = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        listed = _measure(
            scorer,
            bleu,
            [hypothesis for group in groups for hypothesis in group],
            [lists[i] for i in numbers],
        )
    return Comparison(
        names,
        (first, second),
        lists,
        scores,
        {name: count_ties(values, numbers) for name, values in listed.items()},
        nbest is not None,
        listed,
        scorer.signature(str(len(lists[0])) if len({len(x) for x in lists}) == 1 else "var"),
    )


def count_ties(scores: np.ndarray, lists: np.ndarray) -> Ties:
    """Count ties within each list (thesis, 7.5.1). Scores are 0 to 100, (hypotheses,)."""
    order = np.argsort(lists, kind="stable")
    groups = np.split(scores[order], np.flatnonzero(np.diff(lists[order])) + 1)
    differences = np.array([abs(a - b) for group in groups for a, b in combinations(group, 2)])
    if not len(differences):
        return Ties(0, 0.0, 0.0)
    unequal = float((differences > EQUAL).mean())
    return Ties(len(differences), unequal, float(differences.mean()))


def read_nbest(lines: Sequence[str], segments: int, name: str) -> list[list[str]]:
    """Read n-best lists. Return the hypotheses of each segment in file order.

    The first line determines the format. Moses writes `number ||| hypothesis ||| ...` and counts
    segments from 0. `paraphrastic translate --outputs N` writes `number<tab>score<tab>hypothesis`
    and counts from 1.
    """
    is_moses = not lines or "|||" in lines[0] or "\t" not in lines[0]
    form = "number ||| hypothesis ||| ..." if is_moses else "number<tab>score<tab>hypothesis"
    place, first = (1, 0) if is_moses else (2, 1)
    lists: list[list[str]] = [[] for _ in range(segments)]
    for i, line in enumerate(lines, 1):
        parts = [part.strip() for part in (line.split("|||") if is_moses else line.split("\t", 2))]
        if len(parts) <= place or not parts[0].isdecimal():
            raise DataError(f"{name}:{i} does not match `{form}`: {line[:60]!r}")
        if len(parts[0]) > MOST_DIGITS or not first <= int(parts[0]) < segments + first:
            raise DataError(
                f"{name}:{i} has segment number {parts[0][:20]}, but the {segments:,} segments "
                f"are numbered from {first}"
            )
        lists[int(parts[0]) - first].append(parts[place])
    return lists


def _measure(
    scorer: SimileScorer, bleu: SegmentScores, hypotheses: list[str], lists: list[list[str]]
) -> dict[str, np.ndarray]:
    scores = scorer.score(hypotheses, lists)
    values = (100 * scores.simile, 100 * scores.sim, bleu(hypotheses, lists))
    return dict(zip(MEASURES, values, strict=True))


def write_comparison(
    comparison: Comparison,
    systems: list[SystemScores],
    folder: Path,
    *,
    count: int = 10,
    bleu: Sequence[CorpusBleu] = (),
) -> list[Path]:
    """Write compare.md, compare.json, segments.tsv, scores.png and changes.png. Return their paths.
    `count` segments are shown from each end of `comparison.order()`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = ("compare.md", "compare.json", "segments.tsv", "scores.png", "changes.png")
    paths = [folder / name for name in names]
    text = comparison_markdown(comparison, systems, count=count, plots=True, bleu=bleu)
    write_bytes(paths[0], text.encode("utf-8"))
    write_json(paths[1], comparison_values(comparison, systems, bleu))
    _write_segments(comparison, paths[2])
    _plot_scores(comparison, paths[3])
    _plot_changes(comparison, paths[4])
    return paths


def comparison_values(
    comparison: Comparison, systems: list[SystemScores], bleu: Sequence[CorpusBleu] = ()
) -> dict[str, Any]:
    return {
        "systems": [system.to_dict() for system in systems],
        "corpus_bleu": {
            each.name: {
                "bleu": each.bleu.mean,
                "interval": [each.bleu.low, each.bleu.high],
                "p_value": each.p_value,
                "samples": each.samples,
            }
            for each in bleu
        },
        "bleu": dict(
            zip(comparison.names, comparison.scores["BLEU"].mean(1).tolist(), strict=True)
        ),
        "ties": {name: vars(ties) for name, ties in comparison.ties.items()},
        "ties_of": "n-best lists" if comparison.is_nbest else "the two systems",
        "signature": comparison.signature,
    }


def comparison_markdown(
    comparison: Comparison,
    systems: list[SystemScores],
    *,
    count: int,
    plots: bool,
    bleu: Sequence[CorpusBleu] = (),
) -> str:
    """Return the report as Markdown, with `count` segments from each end of `order()`."""
    first, second = comparison.names
    lines = [f"# {literal(first)} and {literal(second)}", "", "Scores x 100.", ""]
    columns = ["system", "SimiLE", "p", "SIM", "p", "mean sentence BLEU"]
    rows = []
    for system, mean in zip(systems, comparison.scores["BLEU"].mean(1), strict=True):
        row = [system.name]
        for interval, p in ((system.simile, system.p_value), (system.sim, system.sim_p_value)):
            row += [f"{100 * interval.mean:.2f}", p_text(p)]
        rows.append([*row, f"{mean:.2f}"])
    if bleu:
        columns += ["corpus BLEU", "p"]
        for row, each in zip(rows, bleu, strict=True):
            row += [f"{each.bleu.mean:.2f}", p_text(each.p_value)]
    lines += markdown_table(columns, rows)
    if plots:
        lines += ["", "![Distribution of the scores](scores.png)"]
    what = "n-best list" if comparison.is_nbest else "segment's two outputs"
    lines += [
        "",
        "## How finely the metrics separate hypotheses",
        "",
        f"Pairs of hypotheses from one {what}. In the thesis's n-best lists (section 7.5.1), the "
        "scores of 99.0 % of the pairs differ by SimiLE and of 85.1 % by BLEU, by 4.8 and 4.3 on "
        "average.",
        "",
    ]
    rows = [
        [name, f"{ties.pairs:,}", f"{100 * ties.unequal:.1f} %", f"{ties.difference:.1f}"]
        for name, ties in ((name, comparison.ties[name]) for name in MEASURES)
    ]
    lines += markdown_table(["metric", "pairs", "scores differ", "mean difference"], rows)
    if plots:
        lines += ["", "## Where the metrics disagree", "", "![Changes](changes.png)"]
    order = comparison.order()
    lines += ["", "### SIM differs most where BLEU does not", ""]
    lines += _examples(comparison, order[::-1][:count])
    lines += ["", "### BLEU differs most where SIM does not", ""]
    lines += _examples(comparison, order[:count])
    return "\n".join([*lines, "", code(comparison.signature), ""])


def _examples(comparison: Comparison, segments: Iterable[int]) -> list[str]:
    rows = []
    for i in segments:
        reference = literal(_shown(comparison.references[i][0]))
        rows.append([str(i + 1), Markdown(f"*{reference}*"), *[""] * 4])
        for side, name in enumerate(comparison.names):
            values = [comparison.scores[m][side][i] for m in ("BLEU", "SIM")]
            changes = [comparison.change(m)[i] for m in ("BLEU", "SIM")] if side else []
            cells = [f"{v:.2f}" for v in values] + ([f"{v:+.2f}" for v in changes] or ["", ""])
            rows.append([name, _shown(comparison.hypotheses[side][i]), *cells])
    columns = ["", "sentence", "BLEU", "SIM", "change of BLEU", "change of SIM"]
    return markdown_table(columns, rows, "llrrrr")


def _shown(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} ..."


def _write_segments(comparison: Comparison, path: Path) -> None:
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(
            ["segment", "reference"]
            + [f"{what}:{name}" for name in comparison.names for what in ("hypothesis", *MEASURES)]
        )
        for i, references in enumerate(comparison.references):
            row = [str(i + 1), references[0]]
            for side in (0, 1):
                row.append(comparison.hypotheses[side][i])
                row += [f"{comparison.scores[name][side][i]:.4f}" for name in MEASURES]
            table.writerow(row)


def _plot_scores(comparison: Comparison, path: Path) -> None:
    """Plot histograms of all scores, as in Figure 11 of the thesis."""
    figure = new_figure(12, 3.4)
    panels = figure.subplots(1, 3, sharey=True)
    for panel, name, color in zip(panels, MEASURES, COLORS, strict=False):
        scores = np.minimum(comparison.listed[name], 100)  # sacrebleu gives 100.00000000000004
        panel.hist(scores, bins=50, range=(min(0, scores.min()), 100), color=color)
        label = "hypotheses" if panel is panels[0] else ""
        style(panel, name, "score x 100", label, counts="y")
    write_bytes(path, png(figure, "Distribution of the scores"))


def _plot_changes(comparison: Comparison, path: Path) -> None:
    """Plot each segment's change of BLEU against its change of SIM, from first to second system."""
    figure = new_figure(6, 5)
    axes = figure.add_subplot()
    axes.scatter(
        comparison.change("BLEU"), comparison.change("SIM"), s=8, alpha=0.4, color=COLORS[0]
    )
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.axvline(0, color="0.6", linewidth=0.8)
    style(axes, xlabel="change of BLEU", ylabel="change of SIM x 100")
    first, second = comparison.names
    write_bytes(path, png(figure, f"{second} minus {first}, one point for each segment"))
