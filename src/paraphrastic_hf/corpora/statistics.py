"""Statistics of a corpus: rows, lengths, repeated rows, scores, labels."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

BINS = 10
REMEMBERED = 2_000_000


def describe(rows: Iterable[Mapping[str, Any]], features: Mapping[str, Any]) -> dict[str, Any]:
    """Return statistics of the rows of one split, in one pass.

    `repeated_rows` counts rows whose texts equal an earlier row's. Repeated rows and the histogram
    of scores cover only the first 2,000,000 rows.
    """
    texts = [name for name in features if _is_text(name, features)]
    lengths = {name: _Running() for name in texts}
    scores = array("d")
    running = _Running()
    labels: Counter[str] = Counter()
    seen: set[int] = set()
    count = repeated = 0
    for row in rows:
        count += 1
        for name in texts:
            lengths[name].add(len((row[name] or "").split()))
        key = hash(tuple(row[name] for name in texts))
        repeated += key in seen
        if len(seen) < REMEMBERED:
            seen.add(key)
        if row.get("score") is not None and math.isfinite(row["score"]):
            running.add(row["score"])
            if len(scores) < REMEMBERED:
                scores.append(row["score"])
        if "label" in row:
            label = row["label"]
            named = getattr(features["label"], "names", None)
            if named and isinstance(label, int) and 0 <= label < len(named):
                label = named[label]
            labels[str(label)] += 1
    result: dict[str, Any] = {
        "rows": count,
        "repeated_rows": repeated,
        "words": {name: running.summary() for name, running in lengths.items()},
    }
    if scores:
        result["score"] = {**running.bounds(), "histogram": _histogram(scores)}
    if labels:
        result["labels"] = dict(labels.most_common())
    return result


def _is_text(name: str, features: Mapping[str, Any]) -> bool:
    is_string = getattr(features[name], "dtype", None) == "string"
    metadata = {"dataset", "year", "genre", "syntax", "entailment", "topic", "document", "id"}
    return is_string and name not in metadata | {"label", "tree", "article"}


def _histogram(scores: array[float]) -> list[int]:
    low, high = min(scores), max(scores)
    width = (high - low) / BINS or 1.0
    counts = Counter(min(int((score - low) / width), BINS - 1) for score in scores)
    return [counts[number] for number in range(BINS)]


class _Running:
    def __init__(self) -> None:
        self.count, self.total = 0, 0.0
        self.least = self.most = 0.0

    def add(self, value: float) -> None:
        self.least = min(self.least, value) if self.count else value
        self.most = max(self.most, value) if self.count else value
        self.count += 1
        self.total += value

    def bounds(self) -> dict[str, float]:
        mean = self.total / max(self.count, 1)
        return {"mean": round(mean, 4), "low": self.least, "high": self.most}

    def summary(self) -> dict[str, float]:
        known = self.bounds()
        return {
            "mean": round(known["mean"], 2),
            "shortest": int(known["low"]),
            "longest": int(known["high"]),
        }
