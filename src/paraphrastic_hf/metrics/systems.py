"""Scores several systems on the same segments, with confidence intervals and significance (thesis,
Tables 68 and 69).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.markdown import plain_table
from paraphrastic_hf.metrics.quality import QualityEstimator, QualityScores
from paraphrastic_hf.metrics.resampling import (
    Interval,
    Means,
    confidence_interval,
    p_text,
    p_value,
)
from paraphrastic_hf.metrics.scorer import References, SimileScorer, SimileScores

ONE_SEGMENT = "No interval: it needs at least two segments."
LISTED = 10  # segment numbers in the table for each problem


@dataclass(frozen=True)
class SystemScores:
    """Scores of one system, with 95 % intervals. p-values compare it with the first system."""

    name: str
    scores: SimileScores
    simile: Interval
    sim: Interval
    p_value: float | None  # None for the first system
    sim_p_value: float | None
    samples: int  # number of resamples, and of permutations for more than 20 segments

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
    scorer: SimileScorer | QualityEstimator,
    systems: Sequence[tuple[str, Sequence[str]]],
    references: References,
    *,
    samples: int = 1000,
    seed: int = 1,
) -> list[SystemScores]:
    """Score systems against references, or sources for a `QualityEstimator`, with confidence
    intervals and p-values of their differences to the first. All systems share the drawn segments.
    """
    check_systems(systems, references, samples=samples, seed=seed)
    score: Any = scorer.score
    scores = [score(hypotheses, references) for _, hypotheses in systems]
    options: dict[str, Any] = {"samples": samples, "seed": seed}
    names = [f"score of system {number}" for number in range(1, len(scores) + 1)]
    similes = [Means(each.simile, name) for each, name in zip(scores, names, strict=True)]
    sims = [Means(each.sim, name) for each, name in zip(scores, names, strict=True)]
    return [
        SystemScores(
            name,
            own,
            confidence_interval(similes[i], **options),
            confidence_interval(sims[i], **options),
            p_value(similes[i], similes[0], **options) if i else None,
            p_value(sims[i], sims[0], **options) if i else None,
            samples,
        )
        for i, ((name, _), own) in enumerate(zip(systems, scores, strict=True))
    ]


def check_systems(
    systems: Sequence[tuple[str, Sequence[str]]],
    references: References,
    *,
    samples: int,
    seed: int,
    name: str = "references",
) -> None:
    for option, value, least in (("samples", samples, 1), ("seed", seed, 0)):
        if value < least:
            raise DataError(f"{option} must be {least} or more, got {value}")
    for system, hypotheses in systems:
        if len(hypotheses) != len(references):
            raise DataError(
                f"{system} has {len(hypotheses):,} segments, but the {name} have "
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
    notes = [ONE_SEGMENT] if segments == 1 else []
    problems = [line for each in results for line in _problem_lines(each)]
    return "\n".join([*plain_table(table), "", *problems, *notes, results[0].scores.signature, ""])


def segment_rows(results: Sequence[SystemScores]) -> Iterator[str]:
    """Yield a table of SimiLE, SIM and problems (without references) as lines of TSV."""
    names, columns = ["segment"], list[Iterable[str]]()
    for each in results:
        names += [f"simile:{each.name}", f"sim:{each.name}"]
        columns += [map("{:.6f}".format, each.scores.simile), map("{:.6f}".format, each.scores.sim)]
        if isinstance(each.scores, QualityScores):
            names.append(f"problem:{each.name}")
            columns.append(each.scores.problems)
    yield "\t".join(names) + "\n"
    for number, values in enumerate(zip(*columns, strict=True), 1):
        yield "\t".join([str(number), *values]) + "\n"


def _problem_lines(system: SystemScores) -> list[str]:
    if not isinstance(system.scores, QualityScores):
        return []
    lines = []
    for problem, numbers in system.scores.segments_with().items():
        if numbers:
            shown = ", ".join(map(str, numbers[:LISTED])) + ", ..." * (len(numbers) > LISTED)
            lines.append(f"{system.name}: {len(numbers):,} {problem} (segments {shown})")
    return lines or [f"{system.name}: no problems found"]


def _interval(value: Interval, segments: int) -> str:
    ends = f" [{100 * value.low:.2f}, {100 * value.high:.2f}]" if segments > 1 else ""
    return f"{100 * value.mean:.2f}{ends}"
