"""Statistics of corpora, and their row counts beside the published ones (`docs/data.md`)."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.markdown import Markdown, markdown_table

BINS = 10
REMEMBERED = 2_000_000


def describe(rows: Iterable[Mapping[str, Any]], features: Mapping[str, Any]) -> dict[str, Any]:
    """Return statistics of a split. Repeated rows and scores are of the first 2,000,000 rows."""
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


@dataclass(frozen=True)
class RowCount:
    """Number of rows found in one split, and the published number if known."""

    corpus: str
    config: str
    split: str
    read: int
    published: int | None


def count_corpora(data_dir: str | Path, *, progress: bool = False) -> list[RowCount]:
    """Count the rows of every corpus found in `data_dir` or its folder `eval`."""
    found: list[RowCount] = []
    sources = [source for source in SOURCES.values() if corpus_folder(source, data_dir)]
    if not sources:
        raise DataError(f"{data_dir} has no known corpus. See `paraphrastic data list`")
    for source in tqdm(sources, desc="corpora", disable=not progress):
        for config, published in source.configs.items():
            try:
                splits = load_dataset(source.name, config, data_dir=data_dir, streaming=True)
            except MissingFileError:
                continue
            for split, rows in splits.items():
                try:
                    read = sum(1 for _ in rows)
                except MissingFileError:
                    continue
                found.append(RowCount(source.name, config, split, read, published.get(split)))
    return found


def markdown(counts: Iterable[RowCount]) -> str:
    """Return a Markdown table, one line per corpus, with the splits whose counts differ."""
    table = []
    for corpus, found in groupby(counts, key=lambda count: count.corpus):
        rows = list(found)
        equal = all(row.read == row.published for row in rows)
        why = "equal" if equal else _differences(rows)
        notes = SOURCES[corpus].notes
        why += "" if equal or not notes else f". {notes}"
        table.append(
            [corpus, _counts_of(rows, "read"), _counts_of(rows, "published"), Markdown(why)]
        )
    columns = ["corpus", "rows read", "published", "equal, or why not"]
    return "\n".join(markdown_table(columns, table, "llll"))


def _counts_of(rows: list[RowCount], which: str) -> str:
    configs: dict[str, list[str]] = {}
    values = [getattr(row, which) for row in rows]
    for row, value in zip(rows, values, strict=True):
        configs.setdefault(row.config, []).append("?" if value is None else f"{value:,}")
    if len(configs) > 10:
        known = [value for value in values if value is not None]
        missing = len(rows) - len(known)
        beside = f" and {missing} without a figure" if missing else ""
        return f"{sum(known):,} in {len(configs)} configurations{beside}"
    return "; ".join(
        (f"{config} " if config != "default" else "") + " / ".join(values)
        for config, values in configs.items()
    )


def _differences(rows: list[RowCount]) -> str:
    other = [row for row in rows if row.published is not None and row.read != row.published]
    unknown = sum(row.published is None for row in rows)
    parts = [
        f"{row.config} {row.split}: {row.read - row.published:+,}"  # type: ignore[operator]
        for row in other[:6]
    ]
    if len(other) > 6:
        parts.append(f"and {len(other) - 6} more")
    if unknown:
        parts.append(f"{unknown} without a published figure" + ("" if other else ", others equal"))
    return "; ".join(parts)
