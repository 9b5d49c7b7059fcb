"""Lexicons on disk, and how well one agrees with people on how similar words are (thesis, 4.9.1 and
Table 38)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.measures.similarity import spearman
from paraphrastic_hf.io.files import output_file, replacing, tsv_line
from paraphrastic_hf.io.lines import PACKED, READ_ERRORS, number_in, open_lines, text_lines
from paraphrastic_hf.pipelines.statistics.lexicon import COLUMNS, Entry, PairCounts

HEADER = "\t".join(COLUMNS)
AT_A_TIME = 100_000
Scores = Callable[[Sequence[str], Sequence[str]], np.ndarray]  # of pairs of words


def write_lexicon(entries: Iterable[Entry], path: str | Path) -> int:
    """Write a lexicon, complete or not at all, and count its entries.

    `datasets.load_dataset("parquet", data_files=...)` reads it, or, of TSV, `"csv"` with
    `delimiter="\\t"`.

    Args:
        entries: The lexicon, in order.
        path: A file whose name ends in .parquet, else TSV with the names of the columns in its
            first line, packed if it ends in .gz, .xz or .bz2.

    Raises:
        DataError: It is a folder.
        OSError: The disk is full or the file cannot be written.
    """
    target = output_file(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target, is_shared=True) as partial:
        if target.suffix == ".parquet":
            return _write_parquet(iter(entries), partial)
        with PACKED.get(target.suffix, open)(partial, "wt", encoding="utf-8") as file:
            return _write_lines(entries, file)


def _write_lines(entries: Iterable[Entry], file: IO[str]) -> int:
    number = 0
    file.write(HEADER + "\n")
    for each in entries:
        number += 1
        scores = f"{each.adjusted_pmi:.4f}", f"{each.cross_pmi:.4f}", str(each.count)
        file.write(tsv_line(each.word, each.paraphrase, *scores))
    return number


def _write_parquet(entries: Iterator[Entry], path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = (pa.string(), pa.string(), pa.float32(), pa.float32(), pa.int32())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    number = 0
    with pq.ParquetWriter(path, schema) as writer:
        while some := list(islice(entries, AT_A_TIME)):
            columns = zip(*map(astuple, some), strict=True)
            arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            number += len(some)
    return number


def is_lexicon(path: str | Path) -> bool:
    """Whether a file is one that `write_lexicon` wrote."""
    path = Path(path)
    if not path.is_file():
        return False
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return tuple(pq.read_schema(path).names) == COLUMNS
    with open_lines(path) as file:
        try:
            return file.readline(200).rstrip(b"\r\n") == HEADER.encode()
        except READ_ERRORS:
            return False  # it is said to be damaged where it is read


def read_lexicon(path: str | Path) -> Iterator[Entry]:
    """The entries of a lexicon, in order.

    Args:
        path: What `write_lexicon` wrote.

    Raises:
        DataError: The file is missing or damaged.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(AT_A_TIME):
            for row in zip(*(batch.column(n).to_pylist() for n in COLUMNS), strict=True):
                yield Entry(*row)
        return
    for number, line in text_lines(path):
        if number == 1:
            continue
        cells, place = line.split("\t"), f"{path}:{number}"
        if len(cells) != len(COLUMNS):
            raise DataError(
                f"{place} has {counted(len(cells), 'column')}, expected {', '.join(COLUMNS)}"
            )
        adjusted, cross, count = (number_in(cell, place) for cell in cells[2:])
        yield Entry(cells[0], cells[1], adjusted, cross, int(count))


def pmi_scores(counts: PairCounts, *, adjusted: bool = True) -> Scores:
    """Adjusted PMI as a similarity of words, or plain cross-sentence PMI; 0 of pairs never seen."""

    def score(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        cross, less_within, _ = counts.scores(first, second)
        return less_within if adjusted else cross

    return score


def listed_scores(path: str | Path) -> Scores:
    """What a list of word pairs says: its third column, or 1 where it has two; 0 of others.

    Args:
        path: A TSV file (.gz, .xz) of two words and perhaps a score, such as pairs of PPDB, or a
            lexicon of this package.

    Raises:
        DataError: The file is missing or damaged, or a score is no number.
    """
    known: dict[tuple[str, str], float] = {}
    if is_lexicon(path):
        known = {(each.word, each.paraphrase): each.adjusted_pmi for each in read_lexicon(path)}
    else:
        for number, line in text_lines(Path(path)):
            cells = line.lower().split("\t")
            if len(cells) > 1:
                value = number_in(cells[2], f"{path}:{number}") if len(cells) > 2 else 1.0
                known[cells[0].strip(), cells[1].strip()] = value
    return lambda first, second: np.array(
        [known.get(pair, 0.0) for pair in zip(first, second, strict=True)]
    )


def agreement(scores: Scores, pairs: ScoredPairs) -> tuple[float, float]:
    """Spearman's rho x 100 of a lexicon with people's scores of pairs of words, and the share of
    the pairs that the lexicon says anything of (Table 38).

    Both orders of a pair are averaged; a pair that the lexicon does not have counts as 0.

    Args:
        scores: A function of first and second words.
        pairs: Pairs of words with scores, such as SimLex-999.
    """
    first, second = ([word.lower() for word in side] for side in (pairs.first, pairs.second))
    found = (scores(first, second) + scores(second, first)) / 2
    return spearman(found, np.asarray(pairs.scores)), float(np.mean(found != 0))
