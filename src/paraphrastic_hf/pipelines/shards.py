"""Parquet files of one task: kept rows, and rejected rows with the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paraphrastic_hf.corpora.filters import Rejection
from paraphrastic_hf.io.files import replacing
from paraphrastic_hf.pipelines.deal import CORPUS, LICENSE
from paraphrastic_hf.pipelines.steps.base import REFERENCE, SOURCE, TRANSLATION, Row

LENGTHS = {REFERENCE: "reference_length", TRANSLATION: "translation_length"}  # column names
GROUP = 20_000  # rows per row group
ORIGIN = (SOURCE, CORPUS, LICENSE)
REJECT_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (REFERENCE, TRANSLATION, *ORIGIN, "step")]
    + [("score", pa.float32()), ("reason", pa.string())]
)


def row_schema(scores: Sequence[str]) -> pa.Schema:
    """Return the columns of a corpus: texts, a score for each step, lengths, origin."""
    return pa.schema(
        [(REFERENCE, pa.string()), (TRANSLATION, pa.string())]
        + [(name, pa.float32()) for name in scores]
        + [(name, pa.int32()) for name in LENGTHS.values()]
        + [(name, pa.string()) for name in ORIGIN]
    )


class ShardWriter:
    """Writer of the parquet files of one task. Both files appear when all rows are written."""

    def __init__(self, output: Path, task: int) -> None:
        self._places = {
            "data": output / "data" / f"train-{task:05d}.parquet",
            "rejects": output / "rejects" / f"train-{task:05d}.parquet",
        }
        self._files = ExitStack()
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._held: dict[str, list[pa.RecordBatch]] = {"data": [], "rejects": []}

    def __enter__(self) -> ShardWriter:
        for place in self._places.values():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # remove files of a failed attempt
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            try:
                for kind in self._held:
                    self._flush(kind)
            except BaseException as wrong:
                self._files.__exit__(type(wrong), wrong, wrong.__traceback__)
                raise
        self._files.__exit__(*error)

    def write(
        self,
        rows: Sequence[Row],
        rejects: Sequence[tuple[Row, str, Rejection]],
        scores: Sequence[str],
    ) -> None:
        if rows:
            self._add("data", _columns(rows, scores))
        if rejects:
            self._add("rejects", _reject_columns(rejects))

    def _add(self, kind: str, batch: pa.RecordBatch) -> None:
        held = self._held[kind]
        held.append(batch)
        if sum(each.num_rows for each in held) >= GROUP:
            self._flush(kind)

    def _flush(self, kind: str) -> None:
        held = self._held[kind]
        if not held:
            return
        if kind not in self._writers:
            partial = self._files.enter_context(replacing(self._places[kind]))
            writer = pq.ParquetWriter(partial, held[0].schema, compression="zstd")
            self._writers[kind] = self._files.enter_context(writer)
        self._writers[kind].write_table(pa.Table.from_batches(held))
        held.clear()


def _columns(rows: Sequence[Row], scores: Sequence[str]) -> pa.RecordBatch:
    schema = row_schema(scores)
    lengths = {length: name for name, length in LENGTHS.items()}
    columns = [
        [len(row[lengths[name]].split()) for row in rows]
        if name in lengths
        else [row.get(name) for row in rows]
        for name in schema.names
    ]
    return pa.record_batch(
        [pa.array(c, t) for c, t in zip(columns, schema.types, strict=True)], schema=schema
    )


def _reject_columns(rejects: Sequence[tuple[Row, str, Rejection]]) -> pa.RecordBatch:
    texts = REJECT_SCHEMA.names[:-3]
    columns: list[list[Any]] = [[row.get(name) for row, _, _ in rejects] for name in texts]
    columns += [
        [step for _, step, _ in rejects],
        [rejection.score for _, _, rejection in rejects],
        [str(rejection) for _, _, rejection in rejects],
    ]
    return pa.record_batch(
        [pa.array(c, t) for c, t in zip(columns, REJECT_SCHEMA.types, strict=True)],
        schema=REJECT_SCHEMA,
    )
