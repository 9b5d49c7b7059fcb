"""Scores several systems on the same segments, with confidence intervals and significance (thesis,
Tables 68 and 69).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.resampling import (
    Interval,
    confidence_intervals,
    p_text,
    paired_p_value,
)
from paraphrastic_hf.metrics.scorer import References, SimileScorer, SimileScores

ONE_SEGMENT = "No interval: it needs at least two segments."


@dataclass(frozen=True)
class SystemScores:
    """Scores of one system.

    Attributes:
        scores: Scores of each segment and of the corpus, -1 to 1.
        simile: Mean SimiLE with its 95 % interval.
        sim: Mean SIM with its 95 % interval.
        p_value: Two-sided p-value of the difference in SimiLE to the first system. None for the
            first system.
        sim_p_value: Two-sided p-value of the difference in SIM. None for the first system.
        samples: Number of resamples for the intervals, and of permutations for p-values with more
            than 20 segments.
    """

    name: str
    scores: SimileScores
    simile: Interval
    sim: Interval
    p_value: float | None
    sim_p_value: float | None
    samples: int

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        return {
            "system": self.name,
            **self.scores.to_dict(segments=segments),
            "simile_interval": self._ends(self.simile),
            "sim_interval": self._ends(self.sim),
            "p_value": self.p_value,
            "sim_p_value": self.sim_p_value,
            "samples": self.samples,
        }

    def _ends(self, interval: Interval) -> list[float] | None:
        return None if len(self.scores.sim) == 1 else [interval.low, interval.high]


def compare_systems(
    scorer: SimileScorer,
    systems: Sequence[tuple[str, Sequence[str]]],
    references: References,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[SystemScores]:
    """Score systems, with confidence intervals and p-values of their differences to the first
    system.

    Args:
        samples: Number of resamples for the intervals, 1 or more. Also the number of permutations
            for p-values with more than 20 segments.
        seed: Seed of the random draws, 0 or more. All systems share the drawn segments.
    """
    check_systems(systems, references, samples=samples, seed=seed)
    scores = [scorer.score(hypotheses, references) for _, hypotheses in systems]
    options: dict[str, Any] = {"samples": samples, "seed": seed}
    similes = confidence_intervals([each.simile for each in scores], **options)
    sims = confidence_intervals([each.sim for each in scores], **options)
    return [
        SystemScores(
            name,
            own,
            similes[i],
            sims[i],
            paired_p_value(own.simile, scores[0].simile, **options) if i else None,
            paired_p_value(own.sim, scores[0].sim, **options) if i else None,
            samples,
        )
        for i, ((name, _), own) in enumerate(zip(systems, scores, strict=True))
    ]


def check_systems(
    systems: Sequence[tuple[str, Sequence[str]]], references: References, *, samples: int, seed: int
) -> None:
    for name, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if value < least:
            raise DataError(f"{name} must be {least} or more, got {value}")
    for name, hypotheses in systems:
        if len(hypotheses) != len(references):
            raise DataError(
                f"{name} has {len(hypotheses):,} segments, but the references have "
                f"{len(references):,}"
            )


def system_table(results: Sequence[SystemScores]) -> str:
    """Return a plain-text table with a line per system, scores x 100, and the signature."""
    table = [["system", "SimiLE x 100", "SIM x 100"]]
    if len(results) > 1:
        table[0][2:2], table[0][4:] = ["p"], ["p"]
    segments = len(results[0].scores.sim)
    for system in results:
        row = [system.name, _interval(system.simile, segments), _interval(system.sim, segments)]
        if len(results) > 1:
            row[2:2] = [p_text(system.p_value)]
            row[4:] = [p_text(system.sim_p_value)]
        table.append(row)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    notes = [ONE_SEGMENT] if segments == 1 else []
    return "\n".join([*lines, "", *notes, results[0].scores.signature, ""])


def segment_rows(results: Sequence[SystemScores]) -> Iterator[str]:
    """Yield tab-separated lines: segment number, then SimiLE and SIM of each system, -1 to 1."""
    names = [f"{measure}:{each.name}" for each in results for measure in ("simile", "sim")]
    yield "\t".join(["segment", *names]) + "\n"
    columns = [column for each in results for column in (each.scores.simile, each.scores.sim)]
    for number, values in enumerate(zip(*columns, strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6f}" for value in values)]) + "\n"


def _interval(value: Interval, segments: int) -> str:
    ends = f" [{100 * value.low:.2f}, {100 * value.high:.2f}]" if segments > 1 else ""
    return f"{100 * value.mean:.2f}{ends}"
