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
    lengths: dict[str, Counter[int]] = {name: Counter() for name in texts}
    labels: Counter[str] = Counter()
    scores, total, low, high = array("d"), [0, 0.0], math.inf, -math.inf
    seen: set[int] = set()
    count = repeated = 0
    for row in rows:
        count += 1
        for name in texts:
            lengths[name][len((row[name] or "").split())] += 1
        key = hash(tuple(row[name] for name in texts))
        repeated += key in seen
        if len(seen) < REMEMBERED:
            seen.add(key)
        score = row.get("score")
        if score is not None and math.isfinite(score):
            total = [total[0] + 1, total[1] + score]
            low, high = min(low, score), max(high, score)
            if len(scores) < REMEMBERED:
                scores.append(score)
        if "label" in row:
            label = row["label"]
            named = getattr(features["label"], "names", None)
            if named and isinstance(label, int) and 0 <= label < len(named):
                label = named[label]
            labels[str(label)] += 1
    words = {name: _summary(counts) for name, counts in lengths.items()}
    result: dict[str, Any] = {"rows": count, "repeated_rows": repeated, "words": words}
    if scores:
        mean = round(total[1] / total[0], 4)
        result["score"] = {"mean": mean, "low": low, "high": high, "histogram": _histogram(scores)}
    if labels:
        result["labels"] = dict(labels.most_common())
    return result


def _is_text(name: str, features: Mapping[str, Any]) -> bool:
    is_string = getattr(features[name], "dtype", None) == "string"
    metadata = {"dataset", "year", "genre", "syntax", "entailment", "topic", "document", "id"}
    return is_string and name not in metadata | {"label", "tree", "article"}


def _summary(lengths: Counter[int]) -> dict[str, float]:
    mean = sum(length * count for length, count in lengths.items()) / max(lengths.total(), 1)
    ends = min(lengths, default=0), max(lengths, default=0)
    return {"mean": round(mean, 2), "shortest": ends[0], "longest": ends[1]}


def _histogram(scores: array[float]) -> list[int]:
    low, high = min(scores), max(scores)
    width = (high - low) / BINS or 1.0
    counts = Counter(min(int((score - low) / width), BINS - 1) for score in scores)
    return [counts[number] for number in range(BINS)]
