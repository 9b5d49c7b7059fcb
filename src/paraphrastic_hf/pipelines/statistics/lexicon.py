"""Lexicon of paraphrases from sentence pairs, by cross-sentence PMI (thesis, 4.9.1, Table 38)."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.measures.similarity import spearman
from paraphrastic_hf.io.files import output_file, replacing, tsv_line
from paraphrastic_hf.io.lines import PACKED, READ_ERRORS, number_in, open_lines, text_lines
from paraphrastic_hf.pipelines.statistics.describe import words_of

MAX_WORDS = 30  # maximum length of a sentence (4.9.1)
MIN_COUNT = 10  # minimum count of a pair of words (4.9.1)
WORDS_AT_A_TIME = 500
COLUMNS = ("word", "paraphrase", "adjusted_pmi", "cross_pmi", "count")
HEADER = "\t".join(COLUMNS)
AT_A_TIME = 100_000
Scores = Callable[[Sequence[str], Sequence[str]], np.ndarray]  # scores of word pairs


@dataclass(frozen=True)
class Entry:
    """A word and one of its paraphrases, in lower case, with the PMI of the pair in nats.

    `adjusted_pmi` is the cross-sentence PMI minus the PMI within sentences. `count` is the number
    of sentence pairs with the word on one side and the paraphrase on the other.
    """

    word: str
    paraphrase: str
    adjusted_pmi: float
    cross_pmi: float
    count: int


class PairCounts:
    """Words of sentence pairs, from which pointwise mutual information (PMI) is computed.

    For N sentence pairs, let n(u) be the number of the 2N sentences that contain u. Let n(u, v) be
    the number of pairs with u in one sentence and v in the other, counted twice if both sentences
    contain both words:

        cross(u, v) = ln n(u, v) 2N / (n(u) n(v))

    The PMI within sentences is averaged over references and translations. It is 0 for words that
    never share a sentence, a case that the thesis does not define. Words are runs of letters
    and digits, in lower case, counted once per sentence. Pairs with a side of more than `max_words`
    words are skipped.
    """

    def __init__(
        self, pairs: Iterable[tuple[str, str]], *, max_words: int | None = MAX_WORDS
    ) -> None:
        self.numbers: dict[str, int] = {}
        flat = (array("i"), array("i"))
        ends = (array("q", [0]), array("q", [0]))
        for pair in pairs:
            if max_words is not None and max(len(text.split()) for text in pair) > max_words:
                continue
            both = [words_of(text) for text in pair]
            for words, ids, places in zip(both, flat, ends, strict=True):
                for word in set(words):
                    ids.append(self.numbers.setdefault(word, len(self.numbers)))
                places.append(len(ids))
        self.pairs = len(ends[0]) - 1
        if not self.pairs:
            raise DataError(
                f"No pair has sides of up to max_words {max_words}. Raise it, or add text"
            )
        shape = (self.pairs, len(self.numbers))
        # (sentences, words) matrix with a 1 if a sentence has a word, and its transpose
        self._sides = [
            sparse.csr_matrix(
                (
                    np.ones(len(ids), np.int32),
                    np.frombuffer(ids, np.int32),
                    np.frombuffer(places, np.int64),
                ),
                shape=shape,
            )
            for ids, places in zip(flat, ends, strict=True)
        ]
        self._turned = [side.T.tocsr() for side in self._sides]
        self._counts = [np.diff(turned.indptr).astype(np.float64) for turned in self._turned]
        self.words = list(self.numbers)

    def scores(
        self, first: Sequence[str], second: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return cross-sentence PMI, adjusted PMI and count of word pairs, (pairs,) each."""
        known = sorted({word for word in (*first, *second) if word in self.numbers})
        place = {word: number for number, word in enumerate(known)}
        chosen = np.array([self.numbers[word] for word in known], np.int64)
        found = np.zeros((3, len(first)))
        seen = [
            (number, place[u], place[v])
            for number, (u, v) in enumerate(zip(first, second, strict=True))
            if u in place and v in place
        ]
        if seen:
            at, u, v = np.array(seen).T
            cross, within = self._joint(chosen, chosen)
            found[:, at] = self._pmi(
                _at(cross, u, v), [_at(each, u, v) for each in within], chosen[u], chosen[v]
            )
        return found[0], found[1], found[2]

    def entries(
        self, min_count: int = MIN_COUNT, words: Iterable[str] | None = None
    ) -> Iterator[Entry]:
        """Yield the entries of all `words` in alphabetical order, the best of a word first."""
        frequent = np.flatnonzero(self._counts[0] + self._counts[1] >= min_count)
        if words is not None:
            known = [self.numbers[word] for word in words if word in self.numbers]
            frequent = np.intersect1d(frequent, np.array(known, np.int64))
        order = frequent[np.argsort([self.words[number] for number in frequent], kind="stable")]
        for start in range(0, len(order), WORDS_AT_A_TIME):
            block = order[start : start + WORDS_AT_A_TIME]
            cross, within = self._joint(block, None)
            joint = cross.tocoo()
            is_kept = (joint.data >= min_count) & (block[joint.row] != joint.col)
            rows, columns = joint.row[is_kept], joint.col[is_kept]
            scores = self._pmi(
                joint.data[is_kept],
                [_at(each, rows, columns) for each in within],
                block[rows],
                columns,
            )
            ranked = np.lexsort((columns, -scores[1], rows))
            for number in ranked.tolist():
                yield Entry(
                    self.words[block[rows[number]]],
                    self.words[columns[number]],
                    float(scores[1, number]),
                    float(scores[0, number]),
                    int(scores[2, number]),
                )

    def _joint(self, first: np.ndarray, second: np.ndarray | None) -> tuple[Any, list[Any]]:
        """Count how often words of `first` and `second` (None: all) meet: across sides, in each."""
        own = [turned[first] for turned in self._turned]
        other = [side if second is None else side[:, second] for side in self._sides]
        cross = own[0] @ other[1] + own[1] @ other[0]
        return cross.tocsr(), [(a @ b).tocsr() for a, b in zip(own, other, strict=True)]

    def _pmi(
        self, cross: np.ndarray, within: list[np.ndarray], first: np.ndarray, second: np.ndarray
    ) -> np.ndarray:
        """Return cross-sentence PMI, adjusted PMI and count, (3, pairs)."""
        total = self._counts[0] + self._counts[1]
        of_cross = _pmi_of(cross, 2 * self.pairs, total[first], total[second])
        halves = [
            _pmi_of(joint, self.pairs, counts[first], counts[second])
            for joint, counts in zip(within, self._counts, strict=True)
        ]
        adjusted = of_cross - (halves[0] + halves[1]) / 2
        return np.where(cross > 0, [of_cross, adjusted, cross], 0.0)


def _pmi_of(joint: np.ndarray, total: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return ln(joint * total / (first * second)), and 0 if the joint count is 0."""
    safe = np.where(joint > 0, joint, 1.0) * total / np.maximum(first * second, 1.0)
    return np.where(joint > 0, np.log(safe), 0.0)


def _at(matrix: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.asarray(matrix[rows, columns], np.float64).ravel()


def write_lexicon(entries: Iterable[Entry], path: str | Path) -> int:
    """Write a lexicon, complete or not at all, and return the number of entries.

    The format is parquet if the name ends in .parquet, otherwise TSV with a header. TSV is
    compressed if the name ends in .gz, .xz or .bz2.
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
    path = Path(path)
    if not path.is_file():
        return False
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names) == COLUMNS
        with open_lines(path) as file:
            return file.readline(200).rstrip(b"\r\n") == HEADER.encode()
    except (*READ_ERRORS, ValueError):  # of pyarrow
        return False  # the reader reports the damage


def read_lexicon(path: str | Path) -> Iterator[Entry]:
    """Yield the entries of a file that `write_lexicon` wrote."""
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
                f"{place} has {counted(len(cells), 'column')}, not {', '.join(COLUMNS)}"
            )
        adjusted, cross, count = (number_in(cell, place) for cell in cells[2:])
        yield Entry(cells[0], cells[1], adjusted, cross, int(count))


def pmi_scores(counts: PairCounts, *, adjusted: bool = True) -> Scores:
    """Return a function from pairs of words to cross-sentence PMI, or 0 for unseen pairs."""

    def score(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        cross, less_within, _ = counts.scores(first, second)
        return less_within if adjusted else cross

    return score


def listed_scores(path: str | Path) -> Scores:
    """Return a function from word pairs to their scores in a TSV file (default: 1), or 0."""
    known: dict[tuple[str, str], float] = {}
    if is_lexicon(path):
        known = {(each.word, each.paraphrase): each.adjusted_pmi for each in read_lexicon(path)}
    else:
        for number, line in text_lines(Path(path)):
            first, *rest = line.lower().split("\t")
            if rest:
                value = number_in(rest[1], f"{path}:{number}") if len(rest) > 1 else 1.0
                known[first.strip(), rest[0].strip()] = value
    return lambda first, second: np.array(
        [known.get(pair, 0.0) for pair in zip(first, second, strict=True)]
    )


def agreement(scores: Scores, pairs: ScoredPairs) -> tuple[float, float]:
    """Return Spearman's rho x 100 with human scores, and the share of scored pairs (Table 38).

    The scores of both orders of a pair are averaged. A pair without a score counts as 0.
    """
    first, second = ([word.lower() for word in side] for side in (pairs.first, pairs.second))
    found = (scores(first, second) + scores(second, first)) / 2
    return spearman(found, np.asarray(pairs.scores)), float(np.mean(found != 0))
