"""Precision and recall of `paraphrastic mine` by threshold: the table of `docs/guides/mine.md`.

The threshold is chosen on development data. BUCC 2018 zh-en (XTREME's set, 8,624 and 13,589
sentences, 257 pairs) only tests it. The development sets are ru-en and zh-en. 3 % of the sentences
of a side are premises of XNLI dev whose translation is on the other side. The other premises, and
news of WMT 2021 to 2023, are on one side only. The model was trained on the news but not on XNLI.
Figures are means over three seeds and both languages. A mined pair that is not a known one counts
as wrong.
"""

import random
from collections import Counter
from pathlib import Path

import numpy as np
from common.report import Table, options, save, settings

from paraphrastic_hf import SentenceEncoder, load_dataset, mine
from paraphrastic_hf.evaluation.suites.retrieval import f1_score
from paraphrastic_hf.io.lines import text_lines

COLUMNS = ("pairs", "precision", "recall", "F1")
THRESHOLDS = np.arange(1.05, 1.55, 0.05)
Sides = tuple[list[str], list[str]]


def rows_of(path: Path) -> list[list[str]]:
    """Return the columns of each line."""
    return [line.split("\t") for _, line in text_lines(path)]


def development_set(data: Path, language: str, seed: int) -> tuple[Sides, dict[int, int]]:
    """Return about 4,000 sentences per side, and the places of the pairs."""
    choice = random.Random(seed)
    premises = [
        (theirs[0], english[0])
        for theirs, english in zip(
            *(rows_of(data / f"eval/xnli/dev-{each}.tsv")[::3] for each in (language, "en")),
            strict=True,
        )
    ]
    choice.shuffle(premises)
    rows = {(b, a) for a, b, *_ in rows_of(data / f"train/en-{language}/wmt21_23_refs.tsv.xz")}
    often = [Counter(side) for side in zip(*rows, strict=True)]
    news = sorted(row for row in rows if all(often[i][row[i]] == 1 for i in (0, 1)))
    choice.shuffle(news)
    news = news[:8000]
    half = len(news) // 2
    pairs = int(0.03 * (half + len(premises) / 2))
    middle = pairs + (len(premises) - pairs) // 2
    source = [row[0] for row in premises[:middle] + news[:half]]
    target = [row[1] for row in premises[:pairs] + premises[middle:] + news[half:]]
    return (source, target), {place: place for place in range(pairs)}


def bucc(data: Path) -> tuple[Sides, dict[int, int]]:
    """Return BUCC zh-en, and the places of its pairs."""
    sides, numbers = [], []
    for split, language in (("source", "zh"), ("target", "en")):
        rows = load_dataset("bucc", "zh-en", data_dir=data, streaming=True, split=split)
        texts, ids = zip(*((row[language], row["id"]) for row in rows), strict=True)
        sides.append(list(texts))
        numbers.append({key: number for number, key in enumerate(ids)})
    rows = load_dataset("bucc", "zh-en", data_dir=data, streaming=True, split="gold")
    keys = (row["id"].split(" ") for row in rows)
    return (sides[0], sides[1]), {numbers[0][a]: numbers[1][b] for a, b in keys}


def figures(encoder: SentenceEncoder, sides: Sides, gold: dict[int, int]) -> np.ndarray:
    """Return pairs, precision, recall and F1 at each threshold, (thresholds, 4)."""
    pairs = mine(*(encoder.encode(side) for side in sides))
    places = zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)
    is_gold = np.array([gold.get(source) == target for source, target in places])
    found = []
    for threshold in THRESHOLDS:
        f1, precision, recall = f1_score(pairs.score, is_gold, len(gold), threshold - 1e-9)
        found.append([int((pairs.score >= threshold - 1e-9).sum()), precision, recall, f1])
    return np.array(found)


def main() -> None:
    args = options(__doc__, threads=None, data=True).parse_args()
    encoder = SentenceEncoder.from_pretrained("multilingual")
    tried = [(language, seed) for language in ("ru", "zh") for seed in (1, 2, 3)]
    dev = np.mean([figures(encoder, *development_set(args.data, *each)) for each in tried], 0)
    test = figures(encoder, *bucc(args.data))
    columns = [f"{name}, {at}" for at in ("dev", "BUCC") for name in COLUMNS]
    rows = {
        f"{threshold:.2f}": dict(zip(columns, row.tolist(), strict=True))
        for threshold, row in zip(THRESHOLDS, np.hstack([dev, test]), strict=True)
    }
    save(args, {"settings": settings(args), "measured": rows}, Table("threshold", rows, ",.1f"))


if __name__ == "__main__":
    main()
