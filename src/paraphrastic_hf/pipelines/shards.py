"""Parquet files of one task: kept rows, and rejected rows with the reasons."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

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


Rejected = tuple[Row, str, Rejection]  # with the name of the step
WriteRows = Callable[[Sequence[Row], Sequence[Rejected], Sequence[str]], None]


@contextmanager
def shard_writer(output: Path, task: int) -> Iterator[WriteRows]:
    """Yield a function that writes kept rows, rejected rows, and the names of scores."""
    places = [output / kind / f"train-{task:05d}.parquet" for kind in ("data", "rejects")]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)  # remove files of a failed attempt
    with ExitStack() as files:
        kept, rejected = (_TableWriter(place, files) for place in places)

        def write(rows: Sequence[Row], rejects: Sequence[Rejected], scores: Sequence[str]) -> None:
            for row in rows:
                row.update({name: len(row[side].split()) for side, name in LENGTHS.items()})
            kept.write(rows, row_schema(scores))
            reasons = [
                row | {"step": step, "score": reason.score, "reason": str(reason)}
                for row, step, reason in rejects
            ]
            rejected.write(reasons, REJECT_SCHEMA)

        yield write
        kept.flush()
        rejected.flush()


class _TableWriter:
    """Writer of large row groups. The file is created with the first row."""

    def __init__(self, place: Path, files: ExitStack) -> None:
        self._place, self._files = place, files
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []

    def write(self, rows: Sequence[Row], schema: pa.Schema) -> None:
        if rows:
            self._held.append(pa.RecordBatch.from_pylist(rows, schema=schema))
        if sum(each.num_rows for each in self._held) >= GROUP:
            self.flush()

    def flush(self) -> None:
        if not self._held:
            return
        if self._writer is None:
            partial = self._files.enter_context(replacing(self._place))
            writer = pq.ParquetWriter(partial, self._held[0].schema, compression="zstd")
            self._writer = self._files.enter_context(writer)
        self._writer.write_table(pa.Table.from_batches(self._held))
        self._held.clear()
