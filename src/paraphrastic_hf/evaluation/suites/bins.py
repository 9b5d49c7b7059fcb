"""STS pairs grouped by length, unknown words and captions (thesis, 3.3, 3.8.1, 4.9.3)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs, read_sts, read_sts_year
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.suite import Row, Suite, mean_of
from paraphrastic_hf.evaluation.suites.pairs import PairsTask, corpus_rows, scored_pairs, scores_of
from paraphrastic_hf.evaluation.suites.words import count_unknown

YEARS = ("2012", "2013", "2014", "2015")  # the 20 datasets of Tables 7, 20 and 21
MOST = 10**6
LENGTHS = {  # bins by the number of tokens in the longer sentence of a pair
    "1-4": (0, 4),
    **{str(length): (length, length) for length in range(5, 11)},
    "11-15": (11, 15),
    "16-20": (16, 20),
    "21+": (21, MOST),
    "10+": (10, MOST),
}
UNKNOWN = {"0": (0, 0), "1": (1, 1), "2": (2, 2), "1+": (1, MOST), "0+": (0, MOST)}
CAPTIONS = {("2012", "MSRvid"), ("2014", "images"), ("2015", "images")}  # Table 40
BENCHMARK = ("all", "captions", "no captions")  # Table 41


def by_number(
    pairs: ScoredPairs, numbers: Sequence[int], bins: dict[str, tuple[int, int]], group: str
) -> list[ScoredPairs]:
    """Make a dataset of the pairs whose number is in each bin, from the lowest to the highest.

    Bins may overlap. Bins without pairs are left out.
    """
    found = []
    for name, (low, high) in bins.items():
        chosen = [i for i, number in enumerate(numbers) if low <= number <= high]
        first, second = ([side[i] for i in chosen] for side in (pairs.first, pairs.second))
        if chosen:
            scores = [pairs.scores[i] for i in chosen]
            found.append(ScoredPairs(name, group, first, second, scores))
    return found


def _pooled(data_dir: Path) -> ScoredPairs:
    pool = ScoredPairs("pool", "STS 2012-2015", [], [], [])
    for year in YEARS:
        for pairs in read_sts_year(data_dir, year):
            pool.first.extend(pairs.first)
            pool.second.extend(pairs.second)
            pool.scores.extend(pairs.scores)
    return pool


def _lengths(data_dir: Path) -> list[ScoredPairs]:
    from paraphrastic_hf.corpora.readers.similarity import moses_tokens  # imports datasets

    pool, tokens = _pooled(data_dir), moses_tokens()
    longer = [
        max(len(tokens(a)), len(tokens(b))) for a, b in zip(pool.first, pool.second, strict=True)
    ]
    return by_number(pool, longer, LENGTHS, "length")


def _unknown(encoder: Any, data_dir: Path) -> list[Row]:
    pool = _pooled(data_dir)
    first, second = (count_unknown(encoder, side) for side in (pool.first, pool.second))
    numbers = [a + b for a, b in zip(first, second, strict=True)]
    bins = by_number(pool, numbers, UNKNOWN, "unknown words")
    return PairsTask(lambda _: bins)(encoder, data_dir)


def _captions(data_dir: Path) -> list[ScoredPairs]:
    return [
        replace(
            pairs,
            name=f"{pairs.group} {pairs.name}",
            group="captions" if (pairs.group, pairs.name) in CAPTIONS else "other datasets",
        )
        for pairs in read_sts(data_dir)
    ]


def _benchmark(data_dir: Path) -> list[ScoredPairs]:
    rows = corpus_rows(data_dir, "stsb")
    captions = [row for row in rows if "captions" in row["genre"]]
    others = [row for row in rows if "captions" not in row["genre"]]
    if not (captions and others):
        raise DataError("sts-test.csv must have captions and other genres. Give the official file")
    parts = zip(BENCHMARK, (rows, captions, others), strict=True)
    return [scored_pairs(name, "STS-B test", part) for name, part in parts]


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    def figures(group: str, names: Iterable[str]) -> dict[str, float]:
        return _column(group, names, *scores_of(rows, "pearson", group, names).values())

    return {
        **figures("length", LENGTHS),
        **figures("unknown words", UNKNOWN),
        "STS captions": mean_of(rows, "pearson", "captions"),
        "STS other": mean_of(rows, "pearson", "other datasets"),
        **figures("STS-B test", BENCHMARK),
    }


def _column(group: str, names: Iterable[str], *values: float) -> dict[str, float]:
    return {f"{group} {name}": value for name, value in zip(names, values, strict=False)}


_lengths_of = partial(_column, "length", LENGTHS)  # a column of Table 7 or 21
_unknown_of = partial(_column, "unknown words", UNKNOWN)
_benchmark_of = partial(_column, "STS-B test", BENCHMARK)


STS_BINS = Suite(
    "STS by length, by unknown words, and with and without captions (3.3, 3.8.1, 4.9.3)",
    "Pearson r x 100 over the pairs of a bin; STS captions, STS other: mean of datasets",
    {
        "length": PairsTask(_lengths),
        "unknown words": _unknown,
        "captions": PairsTask(_captions),
        "STS-B captions": PairsTask(_benchmark),
    },
    _headline,
    {
        "thesis PARAGRAM-PHRASE (Table 7)": {
            **_lengths_of(72.7, 74.0, 70.5, 73.7, 75.5, 73.0),
            "length 10+": 72.6,
        },
        "thesis LSTM, no output gate (Table 7)": {
            **_lengths_of(63.4, 54.5, 52.6, 56.9, 60.2, 58.0),
            "length 10+": 55.6,
        },
        "thesis PARAGRAM-PHRASE (Tables 20, 21)": {
            **_lengths_of(67.9, 71.1, 67.0, 71.5, 74.2, 71.7, 70.7, 71.8, 73.0, 74.5),
            **_unknown_of(71.4, 68.8, 66.4, 68.6, 71.0),
        },
        "thesis CHARAGRAM-PHRASE (Tables 20, 21)": {
            **_lengths_of(72.9, 71.9, 69.7, 74.0, 74.5, 72.7, 74.2, 73.7, 75.1, 75.4),
            **_unknown_of(73.8, 78.8, 72.8, 77.9, 74.0),
        },
        "thesis WORD, TRIGRAM (Table 41)": _benchmark_of(79.9, 87.1, 71.7),
        "InferSent, AllNLI (Table 41)": _benchmark_of(70.6, 83.0, 56.6),
    },
    notes=(
        "Length: Moses tokens of the longer sentence, all pairs of STS 2012-2015. The number of "
        "pairs per bin is within 3 % of the thesis's, which does not name its tokenizer.",
        "Unknown words: words of both sentences outside the encoder's vocabulary. Table 20 counts "
        "words outside GloVe's 1.7 million.",
        "STS captions: MSRvid of 2012, images of 2014 and 2015. STS other: the rest of STS "
        "2012-2016. Table 40 shows differences of two models on these.",
    ),
)
