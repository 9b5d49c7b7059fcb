"""Columns of texts in Arrow's layout: objects of pyarrow, polars, pandas and datasets, and files.

Files are parquet, Arrow IPC (`.arrow`, `.feather`) and Lance.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.errors import DataError, MissingExtraError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.pairs import column_place

if TYPE_CHECKING:
    import pyarrow as pa

TEXTS_AT_A_TIME = 16_384  # texts converted together
ARROW_FILES = (".parquet", ".arrow", ".feather", ".lance")
Batches = Iterator["pa.RecordBatch"]


def holds_arrow(texts: Any) -> bool:
    """Return whether texts are an Arrow column that pyarrow, if installed, can read.

    Examples are arrays of pyarrow, series of polars and pandas (not of type `object`), and columns
    of datasets without a transform.
    """
    is_column = _is_datasets_column(texts) or _has_arrow_interface(texts)
    has_objects = str(getattr(texts, "dtype", "")) == "object"
    return is_column and not has_objects and importlib.util.find_spec("pyarrow") is not None


def _has_arrow_interface(texts: Any) -> bool:
    return hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__")


def _is_datasets_column(texts: Any) -> bool:
    if type(texts).__module__ != "datasets.arrow_dataset" or type(texts).__name__ != "Column":
        return False
    return getattr(texts.source, "format", {"type": "custom"})["type"] != "custom"


def arrow_column(texts: Any) -> pa.ChunkedArray:
    """Return a column of strings as a pyarrow array. Columns in Arrow memory are not copied."""
    require("data", "pyarrow", what="reading an Arrow column")
    import pyarrow as pa

    if _is_datasets_column(texts):
        name = texts.column_name
        texts = texts.source.select_columns([name]).with_format("arrow")[:][name]
    if not _has_arrow_interface(texts):
        raise TypeError(f"Texts must be an Arrow column, got {type(texts).__name__}. Use encode")
    if not isinstance(texts, pa.ChunkedArray):
        is_stream = hasattr(texts, "__arrow_c_stream__")
        try:
            texts = pa.chunked_array(texts if is_stream else [pa.array(texts)])
        except UnicodeEncodeError:  # lone surrogates in a series of pandas
            replace = partial(re.sub, "[\ud800-\udfff]", "\ufffd")
            texts = pa.chunked_array(texts.map(replace, na_action="ignore"))
    if pa.types.is_dictionary(texts.type) and pa.types.is_string_view(texts.type.value_type):
        chunks = [(chunk.indices, chunk.dictionary.cast(pa.string())) for chunk in texts.chunks]
        texts = pa.chunked_array(  # pyarrow cannot decode views
            [pa.DictionaryArray.from_arrays(*chunk) for chunk in chunks],
            pa.dictionary(texts.type.index_type, pa.string()),
        )
    kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
    are = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not any(is_kind(kind) for is_kind in are):
        raise TypeError(f"Texts must be a column of strings, got {texts.type}")
    return texts


def string_blocks(column: pa.ChunkedArray) -> Iterator[pa.LargeStringArray]:
    """Yield the texts of a column in blocks of up to `TEXTS_AT_A_TIME`, copied, at offset 0."""
    import pyarrow as pa

    for start in range(0, len(column), TEXTS_AT_A_TIME):
        yield column.slice(start, TEXTS_AT_A_TIME).cast(pa.large_string()).combine_chunks()


def layout(block: pa.LargeStringArray) -> tuple[np.ndarray, Any]:
    """Return the offsets, (texts + 1,) int64, and the UTF-8 bytes of a block without nulls."""
    _, offsets, utf8 = block.buffers()
    return np.frombuffer(offsets, np.int64)[: len(block) + 1], utf8


def python_strings(block: pa.LargeStringArray) -> list[str]:
    """Return the texts of a block without nulls. Invalid UTF-8 becomes U+FFFD."""
    import pyarrow as pa

    texts = block.cast(pa.large_binary()).to_pylist()
    return [text.decode("utf-8", "replace") for text in texts]


def vectors_column(vectors: np.ndarray, is_null: list[pa.BooleanArray]) -> pa.FixedSizeListArray:
    """Return vectors, (texts, dim), as a column that shares their memory."""
    import pyarrow as pa

    mask = pa.chunked_array(is_null, pa.bool_()).combine_chunks()
    return pa.FixedSizeListArray.from_arrays(
        pa.array(vectors.reshape(-1)), vectors.shape[1], mask=mask if mask.true_count else None
    )


def is_arrow_file(path: Path) -> bool:
    """Return whether `text_blocks` reads a path: a file, or the folder of a Lance dataset."""
    return path.suffix == ".lance" or (path.suffix in ARROW_FILES and path.is_file())


def text_blocks(path: Path, column: str) -> Iterator[pa.LargeStringArray]:
    """Yield the texts of a column (name, or number from 1) in blocks. Nulls become empty."""
    try:
        names, read = _open(path)
        name = names[column_place(names, column, str(path))]
        for batch in read(name):
            for block in string_blocks(arrow_column(batch[name])):
                block.validate(full=True)  # a damaged offset could crash the reader
                yield block.fill_null("")
    except (DataError, MissingExtraError):
        raise
    except TypeError as error:
        raise DataError(f"{path} has no text in column {column!r}: {error}") from error
    except Exception as error:  # pyarrow and lance raise many kinds
        raise DataError(f"{path} is damaged: {error}") from error


def blank_texts(block: pa.LargeStringArray) -> list[int]:
    """Return the indices of texts that are empty or white space."""
    import pyarrow.compute as pc

    rows: list[int] = pc.indices_nonzero(pc.equal(pc.utf8_trim_whitespace(block), "")).to_pylist()
    return rows


def _open(path: Path) -> tuple[Sequence[str], Callable[[str], Batches]]:
    """Return the column names of an Arrow file, and a function that reads a column in batches."""
    require("data", "pyarrow", what=f"reading {path}")
    if path.suffix == ".lance":
        require("lance", "lance", what=f"reading {path}")
        import lance

        dataset = lance.dataset(str(path))
        return dataset.schema.names, lambda name: dataset.to_batches(
            columns=[name], batch_size=TEXTS_AT_A_TIME
        )
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path)
        return file.schema_arrow.names, lambda name: file.iter_batches(
            TEXTS_AT_A_TIME, columns=[name]
        )
    import pyarrow as pa

    source = pa.memory_map(str(path))
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:  # the format of `datasets`, which cannot be read at random
        source.seek(0)
        stream = pa.ipc.open_stream(source)
        return stream.schema.names, lambda _: iter(stream)
    return reader.schema.names, lambda _: map(reader.get_batch, range(reader.num_record_batches))
