"""Scored sentence pairs: STS 2012-2016, STS Benchmark and STS 2017, from the official files.

`data_dir` is a folder that holds `sts12` ... `sts17` and `stsbenchmark`, each as the organisers
packed it. Unscored pairs (an empty line in a gold file) are skipped, keeping the alignment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paraphrastic_hf.errors import DataError

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
    """The 25 datasets of STS 2012-2016 (thesis, 2.1.1.1); 24 where STS13 SMT is not at hand.

    Raises:
        DataError: A file is missing, or input and gold do not align.
    """
    found = []
    for year, names in STS_DATASETS.items():
        for name in names:
            pairs = _read_sts_dataset(Path(data_dir), year, name)
            if pairs is not None:
                found.append(pairs)
    return found


def read_sts17(
    data_dir: str | Path, tracks: Iterable[str] = tuple(STS17_TRACKS)
) -> list[ScoredPairs]:
    """Tracks of STS 2017 (thesis, 2.1.1.2), 250 pairs each; `en-en` is a development set.

    Raises:
        DataError: A file is missing, or a track has fewer inputs than scores.
    """
    root = Path(data_dir) / "sts17"
    found = []
    for track in tracks:
        stem = f"{STS17_TRACKS[track]}.txt"
        inputs = _lines(_find(root, f"STS.input.{stem}"))
        gold = _lines(_find(root, f"STS.gs.{stem}"))
        # Track 6 ships 500 inputs for 250 scores, which are those of the first 250.
        found.append(_align(track, "STS17", inputs[: len(gold)], gold))
    return found


def read_stsb(data_dir: str | Path, split: str) -> ScoredPairs:
    """`dev` or `test` of the STS Benchmark; tab-separated, unquoted.

    Raises:
        DataError: The file is missing or a row is short.
    """
    path = _find(Path(data_dir) / "stsbenchmark", f"sts-{split}.csv")
    rows = [line.split("\t") for line in _lines(path) if line]
    if any(len(row) < 7 for row in rows):
        raise DataError(
            f"{path} has a row of fewer than 7 columns; take the official Stsbenchmark.tar.gz"
        )
    return _align(split, "STS-B", ["\t".join(row[5:7]) for row in rows], [row[4] for row in rows])


def _read_sts_dataset(data_dir: Path, year: str, name: str) -> ScoredPairs | None:
    root = data_dir / f"sts{year[2:]}"
    prefix = "STS2016" if year == "2016" else "STS"
    try:
        inputs = _lines(_find(root, f"{prefix}.input.{name}.txt"))
        gold = _lines(_find(root, f"{prefix}.gs.{name}.txt"))
    except DataError:
        if (year, name) in OPTIONAL:
            return None
        raise
    return _align(name, year, inputs, gold)


def _find(root: Path, name: str) -> Path:
    """A file in `root`, in its folder of untokenised originals, or in any other folder but
    `train`."""
    places = [root / name, root / "original" / name, *sorted(root.glob(f"*/{name}"))]
    for path in places:
        if path.is_file() and path.parent.name != "train":
            return path
    raise DataError(
        f"{name} is not in {root} or a folder of it; --data-dir must hold the official files"
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def _align(name: str, group: str, inputs: list[str], gold: list[str]) -> ScoredPairs:
    if len(inputs) != len(gold):
        raise DataError(
            f"{group} {name} has {len(inputs)} inputs and {len(gold)} gold lines; they must align"
        )
    first, second, scores = [], [], []
    for number, (line, score) in enumerate(zip(inputs, gold, strict=True), 1):
        sides = line.split("\t")
        if not score.strip():
            continue
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if len(sides) < 2 or not math.isfinite(value):
            raise DataError(
                f"{group} {name} line {number} is no scored pair: {line[:80]!r} with {score!r}"
            )
        first.append(sides[0])
        second.append(sides[1])
        scores.append(value)
    return ScoredPairs(name, group, first, second, scores)
