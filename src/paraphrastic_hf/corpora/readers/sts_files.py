"""Readers of the official files of STS 2012-2017 and the STS Benchmark.

`data_dir` holds the organizers' folders `sts12` to `sts17` and `stsbenchmark`. Pairs without a
score (an empty line in a gold file) are skipped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.layouts import read_table
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import DataError, MissingFileError, counted
from paraphrastic_hf.io.lines import number_in, text_lines

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
OPTIONAL = {("2013", "SMT")}  # licensed text of the LDC


@dataclass(frozen=True)
class ScoredPairs:
    """One similarity dataset, such as `MSRpar` or `dev`, with scores from 0 (different topics) to 5
    (equivalent). Datasets of one `group` are averaged: a year, `STS-B` or `STS17`.
    """

    name: str
    group: str
    first: list[str]
    second: list[str]
    scores: list[float]

    def __len__(self) -> int:
        return len(self.scores)


def read_sts(data_dir: str | Path) -> list[ScoredPairs]:
    """Read STS 2012-2016 (thesis, 2.1.1.1): 25 datasets, or 24 if SMT of 2013 is missing."""
    return [pairs for year in STS_DATASETS for pairs in read_sts_year(data_dir, year)]


def read_sts_year(data_dir: str | Path, year: str) -> list[ScoredPairs]:
    roots = [Path(data_dir) / f"sts{year[2:]}"]
    found = (read_sts_dataset(roots, year, name) for name in STS_DATASETS[year])
    return [pairs for pairs in found if pairs is not None]


def read_sts17(
    data_dir: str | Path, tracks: Iterable[str] = tuple(STS17_TRACKS)
) -> list[ScoredPairs]:
    """Read tracks of STS 2017 (thesis, 2.1.1.2), 250 pairs each."""
    roots = [Path(data_dir) / "sts17"]
    stems = {track: f"{STS17_TRACKS[track]}.txt" for track in tracks}
    return [
        read_track(track, _find(roots, f"STS.input.{stem}"), _find(roots, f"STS.gs.{stem}"))
        for track, stem in stems.items()
    ]


def read_track(track: str, inputs: Path, gold: Path) -> ScoredPairs:
    """Read one track of STS 2017. Track 6 has 500 inputs but only 250 scores."""
    return _align(track, "STS17", inputs, gold, may_have_more=track == "tr-en")


def read_stsb(data_dir: str | Path, split: str) -> ScoredPairs:
    """Read `dev` or `test` of the STS Benchmark."""
    source, folder = SOURCES["stsb"], Folder("stsb", (Path(data_dir) / "stsbenchmark",))
    rows = list(read_table(source, folder, "default", split))
    columns = ([row[name] for row in rows] for name in ("sentence1", "sentence2", "score"))
    return ScoredPairs(split, "STS-B", *columns)


def read_sts_dataset(roots: Sequence[Path], year: str, name: str) -> ScoredPairs | None:
    """Read one dataset of a year, such as `MSRpar` of `2012`. Return None if SMT is missing."""
    prefixes = ("STS2016", "STS") if year == "2016" else ("STS",)
    try:
        inputs, gold = (
            _find(roots, *(f"{prefix}.{kind}.{name}.txt" for prefix in prefixes))
            for kind in ("input", "gs")
        )
    except DataError:
        if (year, name) in OPTIONAL:
            return None
        raise
    return _align(name, year, inputs, gold)


def read_sts_train(roots: Sequence[Path]) -> Iterator[ScoredPairs]:
    """Read the training sets of STS 2012: MSRpar, MSRvid and SMTeuroparl."""
    for name in ("MSRpar", "MSRvid", "SMTeuroparl"):
        files = (_find(roots, f"STS.{kind}.{name}.txt", train=True) for kind in ("input", "gs"))
        yield _align(name, "2012 train", *files)


def _find(roots: Sequence[Path], *names: str, train: bool = False) -> Path:
    """Find a file in a root, in its folder `original` (untokenized), or up to three folders deep.

    With `train`, only files below a folder whose name contains "train" are found. Without it, such
    files are ignored.
    """
    for root, name in product(roots, names):
        deeper = [path for depth in range(1, 4) for path in sorted(root.glob("*/" * depth + name))]
        for path in [root / name, root / "original" / name, *deeper]:
            inner = (root.name, *path.relative_to(root).parts[:-1])
            if path.is_file() and train == any("train" in part for part in inner):
                return path
    raise MissingFileError(
        f"No {' or '.join(names)} in {' or '.join(map(str, roots))}. Give the official folder"
    )


def _align(
    name: str, group: str, inputs: Path, gold: Path, *, may_have_more: bool = False
) -> ScoredPairs:
    """Read pairs and scores. With `may_have_more`, pairs after the last score are left out."""
    lines, scored = ([line for _, line in text_lines(path)] for path in (inputs, gold))
    if may_have_more:
        lines = lines[: len(scored)]
    if len(lines) != len(scored):
        raise DataError(
            f"{group} {name}: {inputs} has {counted(len(lines), 'line')}, but {gold} has "
            f"{len(scored)}. They must align, with an empty line for a missing score"
        )
    found = ScoredPairs(name, group, [], [], [])
    for number, (line, score) in enumerate(zip(lines, scored, strict=True), 1):
        if not score.strip():
            continue
        first, tab, rest = line.partition("\t")
        if not tab:
            raise DataError(
                f"{inputs}:{number} must be two sentences with a tab between: {line[:60]!r}"
            )
        found.first.append(first)
        found.second.append(rest.split("\t")[0])
        found.scores.append(number_in(score, f"{gold}:{number}", low=0, high=5))
    return found
