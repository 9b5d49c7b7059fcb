"""Scored sentence pairs: STS 2012-2016, STS Benchmark and STS 2017, from the official files.

`data_dir` is a folder that holds `sts12` ... `sts17` and `stsbenchmark`, each as the organizers
packed it. Unscored pairs (an empty line in a gold file) are skipped, keeping the alignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from paraphrastic_hf.errors import DataError, MissingFileError, counted
from paraphrastic_hf.io.lines import number_in, table_rows, text_lines

STS_DATASETS: dict[str, tuple[str, ...]] = {
    "2012": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "2013": ("FNWN", "OnWN", "SMT", "headlines"),
    "2014": ("OnWN", "deft-forum", "deft-news", "headlines", "images", "tweet-news"),
    "2015": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "2016": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
STS17_TRACKS: dict[str, str] = {
    "ar-ar": "track1.ar-ar",
    "ar-en": "track2.ar-en",
    "es-es": "track3.es-es",
    "es-en": "track4a.es-en",
    "es-en-wmt": "track4b.es-en",
    "en-en": "track5.en-en",
    "tr-en": "track6.tr-en",
}
STSB_SPLITS = ("dev", "test")
OPTIONAL = {("2013", "SMT")}  # LDC text, not everyone may have it


@dataclass(frozen=True)
class ScoredPairs:
    """One similarity dataset.

    Attributes:
        name: Such as `MSRpar` or `dev`.
        group: What it is averaged with: a year, `STS-B` or `STS17`.
        first: One side of the pairs.
        second: The other side.
        scores: Human scores, 0 (different topics) to 5 (equivalent).
    """

    name: str
    group: str
    first: list[str]
    second: list[str]
    scores: list[float]

    def __len__(self) -> int:
        return len(self.scores)


def read_sts(data_dir: str | Path) -> list[ScoredPairs]:
    """The 25 datasets of STS 2012-2016 (thesis, 2.1.1.1); 24 where STS13 SMT is not at hand."""
    return [pairs for year in STS_DATASETS for pairs in read_sts_year(data_dir, year)]


def read_sts_year(data_dir: str | Path, year: str) -> list[ScoredPairs]:
    """The datasets of one year, `2012` to `2016`."""
    roots = [Path(data_dir) / f"sts{year[2:]}"]
    found = (read_sts_dataset(roots, year, name) for name in STS_DATASETS[year])
    return [pairs for pairs in found if pairs is not None]


def read_sts17(
    data_dir: str | Path, tracks: Iterable[str] = tuple(STS17_TRACKS)
) -> list[ScoredPairs]:
    """Tracks of STS 2017 (thesis, 2.1.1.2), 250 pairs each; `en-en` is a development set."""
    roots = [Path(data_dir) / "sts17"]
    stems = {track: f"{STS17_TRACKS[track]}.txt" for track in tracks}
    return [
        read_track(track, _find(roots, f"STS.input.{stem}"), _find(roots, f"STS.gs.{stem}"))
        for track, stem in stems.items()
    ]


def read_track(track: str, inputs: Path, gold: Path) -> ScoredPairs:
    """One track of STS 2017 from its two files.

    Track 6 ships 500 inputs for 250 scores, which are those of the first 250.
    """
    lines, scores = _lines(inputs), _lines(gold)
    if track == "tr-en":
        lines = lines[: len(scores)]
    return _align(track, "STS17", (inputs, lines), (gold, scores))


def read_stsb(data_dir: str | Path, split: str) -> ScoredPairs:
    """`dev` or `test` of the STS Benchmark; tab-separated, unquoted."""
    path = _find([Path(data_dir) / "stsbenchmark"], f"sts-{split}.csv")
    pairs = ScoredPairs(split, "STS-B", [], [], [])
    for number, row in table_rows(path, 7):
        pairs.first.append(row[5])
        pairs.second.append(row[6])
        pairs.scores.append(number_in(row[4], f"{path}:{number}", low=0, high=5))
    return pairs


def read_sts_dataset(roots: Sequence[Path], year: str, name: str) -> ScoredPairs | None:
    """One dataset of a year; None for STS13 SMT where it is not at hand.

    Args:
        year: Such as `2012`.
        name: Such as `MSRpar`.
    """
    prefixes = ("STS2016", "STS") if year == "2016" else ("STS",)
    try:
        inputs = _find(roots, *(f"{prefix}.input.{name}.txt" for prefix in prefixes))
        gold = _find(roots, *(f"{prefix}.gs.{name}.txt" for prefix in prefixes))
    except DataError:
        if (year, name) in OPTIONAL:
            return None
        raise
    return _align(name, year, (inputs, _lines(inputs)), (gold, _lines(gold)))


def read_sts_train(roots: Sequence[Path]) -> Iterator[ScoredPairs]:
    """The training sets of STS 2012: MSRpar, MSRvid and SMTeuroparl."""
    for name in ("MSRpar", "MSRvid", "SMTeuroparl"):
        inputs = _find(roots, f"STS.input.{name}.txt", train=True)
        gold = _find(roots, f"STS.gs.{name}.txt", train=True)
        yield _align(name, "2012 train", (inputs, _lines(inputs)), (gold, _lines(gold)))


def _find(roots: Sequence[Path], *names: str, train: bool = False) -> Path:
    """A file in a root, in its folder of untokenized originals, or up to three folders deeper;
    of the training set or not."""
    for root, name in product(roots, names):
        deeper = [path for depth in range(1, 4) for path in sorted(root.glob("*/" * depth + name))]
        for path in [root / name, root / "original" / name, *deeper]:
            inner = (root.name, *path.relative_to(root).parts[:-1])
            if path.is_file() and train == any("train" in part for part in inner):
                return path
    raise MissingFileError(
        f"{' or '.join(names)} is not in {' or '.join(map(str, roots))} or a folder of it; the "
        "data folder must hold the official files"
    )


def _lines(path: Path) -> list[str]:
    return [line for _, line in text_lines(path)]


def _align(
    name: str, group: str, inputs: tuple[Path, list[str]], gold: tuple[Path, list[str]]
) -> ScoredPairs:
    """Pairs and scores of the same lines of two files."""
    if len(inputs[1]) != len(gold[1]):
        raise DataError(
            f"{group} {name}: {inputs[0]} has {counted(len(inputs[1]), 'line')} and {gold[0]} has "
            f"{len(gold[1])}; they must align, an empty score where there is none"
        )
    first, second, scores = [], [], []
    for number, (line, score) in enumerate(zip(inputs[1], gold[1], strict=True), 1):
        sides = line.split("\t")
        if not score.strip():
            continue
        if len(sides) < 2:
            raise DataError(
                f"{inputs[0]}:{number} is no pair of sentences with a tab between: {line[:80]!r}"
            )
        first.append(sides[0])
        second.append(sides[1])
        scores.append(number_in(score, f"{gold[0]}:{number}", low=0, high=5))
    return ScoredPairs(name, group, first, second, scores)
