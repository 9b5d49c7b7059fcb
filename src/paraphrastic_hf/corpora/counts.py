"""Row counts of the corpora in a folder, and the published counts (table in `docs/data.md`)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tqdm.auto import tqdm

from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.markdown import Markdown, markdown_table


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
        table.append([corpus, _summary(rows, "read"), _summary(rows, "published"), Markdown(why)])
    columns = ["corpus", "rows read", "published", "equal, or why not"]
    return "\n".join(markdown_table(columns, table, "llll"))


def _summary(rows: list[RowCount], which: str) -> str:
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
