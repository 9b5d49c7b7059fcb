"""Several systems scored on the same segments: intervals, significance, one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.bootstrap import Interval, confidence_intervals, paired_p_value
from paraphrastic_hf.metrics.scorer import References, SimileScorer, SimileScores


@dataclass(frozen=True)
class SystemScores:
    """One system's scores.

    Attributes:
        name: What it is called.
        scores: Of segments and corpus, 0 to 1.
        simile: Mean SimiLE with its interval.
        sim: Mean SIM with its interval.
        p_value: Of the difference in SimiLE to the first system; None for the first.
        sim_p_value: Likewise of SIM.
    """

    name: str
    scores: SimileScores
    simile: Interval
    sim: Interval
    p_value: float | None
    sim_p_value: float | None

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {
            "system": self.name,
            **self.scores.to_dict(segments=segments),
            "simile_interval": [self.simile.low, self.simile.high],
            "sim_interval": [self.sim.low, self.sim.high],
            "p_value": self.p_value,
            "sim_p_value": self.sim_p_value,
        }


def compare_systems(
    scorer: SimileScorer,
    systems: Sequence[tuple[str, Sequence[str]]],
    references: References,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[SystemScores]:
    """Score systems, each with a confidence interval and its significance against the first.

    Args:
        scorer: The metric.
        systems: Names and hypotheses.
        references: Of each segment.
        samples: Resamples.
        seed: Of the draws, which are the same for all systems.

    Raises:
        DataError: A system has another number of segments; it is named.
    """
    if samples < 1 or seed < 0:
        raise DataError(f"samples must be 1 or more and seed 0 or more, got {samples} and {seed}")
    for name, hypotheses in systems:
        if len(hypotheses) != len(references):
            raise DataError(
                f"{name} has {len(hypotheses):,} segments but there are references for "
                f"{len(references):,}"
            )
    scores = [scorer.score(hypotheses, references) for _, hypotheses in systems]
    options = {"samples": samples, "seed": seed}
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
        )
        for i, ((name, _), own) in enumerate(zip(systems, scores, strict=True))
    ]


def system_table(results: Sequence[SystemScores]) -> str:
    """One line a system, x 100, and the signature."""
    rows = [["system", "SimiLE", "SIM"]]
    if len(results) > 1:
        rows[0][2:2], rows[0][4:] = ["p"], ["p"]
    for system in results:
        row = [system.name, _interval(system.simile), _interval(system.sim)]
        if len(results) > 1:
            row[2:2], row[4:] = [_p(system.p_value)], [_p(system.sim_p_value)]
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", results[0].scores.signature, ""])


def segment_rows(results: Sequence[SystemScores]) -> Iterator[str]:
    """Tab-separated lines: segment, then SimiLE and SIM of each system, 0 to 1."""
    names = [f"{measure}:{each.name}" for each in results for measure in ("simile", "sim")]
    yield "\t".join(["segment", *names]) + "\n"
    columns = [column for each in results for column in (each.scores.simile, each.scores.sim)]
    for number, values in enumerate(zip(*columns, strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6f}" for value in values)]) + "\n"


def _interval(value: Interval) -> str:
    return f"{100 * value.mean:.2f} [{100 * value.low:.2f}, {100 * value.high:.2f}]"


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
