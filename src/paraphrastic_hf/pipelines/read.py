"""Read a finished corpus: a `corpus make` folder, parquet, a saved dataset, TSV, CSV or JSON."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import visible_files
from paraphrastic_hf.io.pairs import good_rows, iterate_rows, sample
from paraphrastic_hf.pipelines.steps.base import REFERENCE, TRANSLATION, Row, Score

AT_A_TIME = 10_000
SIDES = (REFERENCE, TRANSLATION)
TEXT_TYPES = ("string", "large_string")  # of Arrow


def read_corpus(path: str | Path, columns: Sequence[str] = ()) -> Iterator[list[Row]]:
    """Yield blocks of rows with `reference`, `translation` and `columns`, in order.

    The texts are the columns `reference` and `translation`, or else two columns found by
    `find_layout`. Values from a TSV file are strings.
    """
    path = Path(path)
    files = _parquet_files(path)
    found = _read_parquet(path, files, columns) if files else _read_rows(path, columns)
    is_empty = True
    for rows in found:
        is_empty = is_empty and not rows
        yield rows
    if is_empty:
        raise DataError(f"{path} contains no rows")


def sample_rows(
    path: str | Path, most: int | None, columns: Sequence[str] = (), *, seed: int = 1
) -> list[Row]:
    """Return a random sample of at most `most` rows (None: all), in the order of the corpus."""
    return sample(chain.from_iterable(read_corpus(path, columns)), most, seed)


def number_of(row: Row, column: str) -> float | None:
    value = row[column]
    try:
        return None if value is None or value == "" else float(value)
    except (TypeError, ValueError):
        raise DataError(f"column {column} must contain numbers, got {str(value)[:40]!r}") from None


def numbers_of(column: str) -> Score:
    """Return a function from rows to the numbers in a column, for use as `Step.score`."""
    return lambda rows: [number_of(row, column) for row in rows]


def _parquet_files(path: Path) -> list[Path]:
    if path.is_dir():
        within = path / "data" if (path / "data").is_dir() else path
        return visible_files(within, "*.parquet")
    return [path] if path.suffix == ".parquet" else []


def _read_parquet(path: Path, files: Sequence[Path], columns: Sequence[str]) -> Iterator[list[Row]]:
    import pyarrow
    import pyarrow.parquet as pq

    for file in files:
        try:
            table = pq.ParquetFile(file)
            names = table.schema_arrow.names
            texts = [f.name for f in table.schema_arrow if str(f.type) in TEXT_TYPES]
            first, second = _sides(path, names, texts)
            for name in columns:
                if name not in names:
                    shown = ", ".join(names)
                    raise DataError(f"{path} has no column {name!r}. Its columns are {shown}")
            wanted = [first, second, *columns]
            for batch in table.iter_batches(AT_A_TIME, columns=list(dict.fromkeys(wanted))):
                lists = [batch.column(name).to_pylist() for name in wanted]
                keys = (*SIDES, *columns)
                yield [dict(zip(keys, row, strict=True)) for row in zip(*lists, strict=True)]
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{file} is damaged or not a parquet file: {error}") from error


def _read_rows(path: Path, columns: Sequence[str]) -> Iterator[list[Row]]:
    keys = (*SIDES, *columns)
    good = good_rows(iterate_rows(path, beside=columns, prefer=SIDES), name=str(path))
    while some := [dict(zip(keys, row, strict=True)) for row in islice(good, AT_A_TIME)]:
        yield some


def _sides(path: Path, names: Sequence[str], texts: Sequence[str]) -> tuple[str, str]:
    if set(SIDES) <= set(names):
        return SIDES
    if len(texts) < 2:
        raise DataError(
            f"{path} has neither the columns reference and translation nor two columns of text. "
            f"Its columns are {', '.join(names)}"
        )
    return texts[0], texts[1]
