"""Quality and speed of the steps of `corpus make` that filter by meaning.

* `scores`: share of true pairs that `cross_lingual_score` keeps, and of wrong pairs that it keeps.
  True pairs are news of WMT and sentences of XNLI, on which `multilingual` was not trained. Wrong
  pairs have the translation of the next sentence (`next`), of the most similar other sentence by
  `english` (`similar`), or half of their own translation (`half`). A fifth of the rows is wrong.
* `duplicates`: share of paraphrases (MRPC, STS-B 4 to 5) that `semantic_duplicates` drops, and of
  other pairs (MRPC negatives, STS-B 0 to 3).
* `exclusion`: STS-B test sentences, altered, are planted in a corpus. Reports the share that
  `exclude` drops, and of the corpus's own rows.
* `translations`: translations of XNLI sentences are planted. Reports the share that `exclude` drops
  with the model `multilingual`.
* `speed`: rows per processor second of one thread.

Quick test: --pairs 200 --rows 2000
"""

import argparse
import lzma
import random
import tarfile
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from common.report import Table, options, run_parts, save
from common.timing import timed

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.pipelines.steps.base import Row
from paraphrastic_hf.pipelines.steps.registry import make_step

NEWS, XNLI = ("cs", "de", "ja", "ru", "zh"), ("ar", "de", "es", "fr", "ru", "tr", "zh")
MARGINS = {"none": (0.3, 0.4, 0.5), "ratio": (1.0, 1.05, 1.1, 1.2), "distance": (0.0, 0.05, 0.1)}
CORPUS = Path("train/en-de/tatoeba.tsv.xz")
WRONG = 0.2  # share of wrong rows
BOUNDS = (0.7, 0.8, 0.85, 0.9, 0.95)
BLOCK = 2000
processor_seconds = partial(timed, clock=time.process_time)


def rows_of(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    return [{"reference": a, "translation": b} for a, b in pairs]


def scored(name: str, rows: list[Row], **settings: Any) -> np.ndarray:
    """Score rows in blocks, as `corpus make` does. A missing score becomes NaN."""
    step = make_step(name, settings)
    blocks = (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return np.array([score for block in blocks for score in step.score(block)], np.float64)


def read_pairs(path: Path, most: int) -> list[tuple[str, str]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return list(islice(((row[0], row[1]) for row in rows if all(row[:2])), most))


def half(text: str) -> str:
    """Return the first half of a text, in words if it has spaces."""
    words = text.split()
    if len(words) > 3:
        return " ".join(words[: len(words) // 2])
    return text[: max(1, len(text) // 2)]


def most_similar(english: list[str], other: list[str]) -> np.ndarray:
    """Return the index of the pair with the most similar, but different, English and other side."""
    encoder = SentenceEncoder.from_pretrained("english", num_threads=1)
    vectors = encoder.encode(english, normalize_embeddings=True)
    cosines = vectors @ vectors.T
    for side in (english, other):
        cosines[np.equal.outer(*[np.array([text.lower() for text in side])] * 2)] = -1
    return cosines.argmax(1)


def read_xnli(data: Path, code: str) -> list[tuple[str, str]]:
    """Return the distinct premises and hypotheses of the development set, in English and `code`."""
    sides = [
        [
            line.split("\t")[:2]
            for line in (data / f"dev-{each}.tsv").read_text("utf-8").splitlines()
        ]
        for each in ("en", code)
    ]
    pairs = (
        (a, b)
        for first, second in zip(*sides, strict=True)
        for a, b in zip(first, second, strict=True)
    )
    return list(dict.fromkeys(pairs))


def measure_scores(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    sets = {
        f"news en-{code}": read_pairs(
            args.data / f"train/en-{code}/wmt21_23_refs.tsv.xz", args.pairs
        )
        for code in NEWS
    }
    sets |= {f"XNLI en-{c}": read_xnli(args.data / "eval/xnli", c)[: args.pairs] for c in XNLI}
    for name, pairs in sets.items():
        english, other = (list(side) for side in zip(*pairs, strict=True))
        wrong = {
            "next": [*other[1:], other[0]],
            "similar": [other[place] for place in most_similar(english, other)],
            "half": list(map(half, other)),
        }
        for margin in MARGINS:
            scores = {kind: score_mixed(english, other, w, margin) for kind, w in wrong.items()}
            for bound in MARGINS[margin]:
                kept = {kind: [(v >= bound).mean() for v in each] for kind, each in scores.items()}
                row = {"true": 100 * float(np.mean([true for true, _ in kept.values()]))}
                row |= {kind: 100 * float(share) for kind, (_, share) in kept.items()}
                found[f"{name}, {margin}, {bound}"] = row
    for margin, bounds in MARGINS.items():
        for bound in bounds:
            rows = [row for key, row in found.items() if key.endswith(f", {margin}, {bound}")]
            mean = {kind: float(np.mean([row[kind] for row in rows])) for kind in rows[0]}
            found[f"mean, {margin}, {bound}"] = mean
    return found


def score_mixed(
    english: list[str], other: list[str], wrong: list[str], margin: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the true and of the wrong pairs, of which every fifth row is one."""
    is_wrong = np.random.default_rng(1).random(len(other)) < WRONG
    mixed = [w if bad else o for o, w, bad in zip(other, wrong, is_wrong, strict=True)]
    rows = rows_of(zip(english, mixed, strict=True))
    scores = scored("cross_lingual_score", rows, margin=margin)
    return scores[~is_wrong], scores[is_wrong]


def read_mrpc(data: Path) -> list[tuple[str, str, bool]]:
    with tarfile.open(data / "eval" / "senteval_transfer.tar.xz") as archive:
        name = "senteval_transfer/MRPC/msr_paraphrase_train.txt"
        text = archive.extractfile(name).read().decode("utf-8-sig")  # type: ignore[union-attr]
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    return [(row[3], row[4], row[0] == "1") for row in rows]


def read_stsb(data: Path, split: str) -> list[tuple[str, str, float]]:
    text = (data / "eval" / "stsbenchmark" / f"sts-{split}.csv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return [(row[5], row[6], float(row[4])) for row in rows]


def measure_duplicates(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    graded = read_stsb(args.data, "train")
    sets = {
        "MRPC": read_mrpc(args.data),
        "STS-B": [(a, b, s >= 4) for a, b, s in graded if s >= 4 or s <= 3],
    }
    found: dict[str, dict[str, float]] = {}
    for name, every in sets.items():
        pairs = [pair for pair in every if pair[0].lower() != pair[1].lower()]
        is_same = np.array([same for *_, same in pairs])
        first, second = ([{"reference": pair[side]} for pair in pairs] for side in (0, 1))
        for model in ("english", "multilingual"):
            step = make_step("semantic_duplicates", {"model": model})
            cosines = (step.vectors(first) * step.vectors(second)).sum(1)  # type: ignore[attr-defined]
            for bound in BOUNDS:
                found[f"{name}, {model}, {bound}"] = shares(cosines > bound, is_same)
        near = [
            make_step("near_duplicates", {"of": "reference"}).score(rows)[1]
            for rows in zip(first, second, strict=True)
        ]
        found[f"{name}, near_duplicates, 0.8"] = shares(np.array(near) > 0.8, is_same)
    return found


def shares(is_dropped: np.ndarray, is_same: np.ndarray) -> dict[str, float]:
    """Return the shares of paraphrases and of other pairs that are dropped, in percent."""
    return {
        "paraphrases": 100 * float(is_dropped[is_same].mean()),
        "others": 100 * float(is_dropped[~is_same].mean()),
    }


def altered(text: str, how: str, choice: random.Random) -> str:
    words = text.split()
    if how == "case and marks":
        return " ".join(text.upper().replace(",", " ").rstrip(".!?").split())
    place = choice.randrange(len(words) - 1)
    if how == "a word less":
        del words[place]
    elif how == "two words swapped":
        words[place], words[place + 1] = words[place + 1], words[place]
    elif how == "a letter less":
        longest = max(range(len(words)), key=lambda number: len(words[number]))
        words[longest] = words[longest][:1] + words[longest][2:]
    return " ".join(words)


ALTERATIONS = ("case and marks", "a word less", "two words swapped", "a letter less")


def measure_exclusion(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    choice = random.Random(1)
    graded = read_stsb(args.data, "test")
    test = [text for text in dict.fromkeys(a for a, *_ in graded) if len(text.split()) >= 4]
    paraphrases = [b for a, b, score in graded if score >= 4 and a.lower() != b.lower()]
    of_paraphrases = [a for a, b, score in graded if score >= 4 and a.lower() != b.lower()]
    corpora = {
        "own rows": [a for a, _ in read_pairs(args.data / CORPUS, args.rows)],
        **{how: [altered(text, how, choice) for text in test] for how in ALTERATIONS},
        "paraphrases (STS 4 to 5)": paraphrases,
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.txt"
        path.write_text("\n".join([*test, *of_paraphrases]), encoding="utf-8")
        for model in ("english", "multilingual"):
            settings = {"paths": [str(path)], "of": "reference", "model": model}
            for kind, texts in corpora.items():
                scores = scored("exclude", [{"reference": text} for text in texts], **settings)
                row = {f"above {b}": 100 * float((scores > b).mean()) for b in BOUNDS}
                found[f"{kind}, {model}"] = row | {"texts": len(texts)}
    return found


def measure_translations(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for code in XNLI:
            pairs = read_xnli(args.data / "eval/xnli", code)[: args.pairs]
            path = Path(folder) / f"{code}.txt"
            path.write_text("\n".join(english for english, _ in pairs), encoding="utf-8")
            settings = {"paths": [str(path)], "of": "reference", "model": "multilingual"}
            scores = scored("exclude", [{"reference": other} for _, other in pairs], **settings)
            found[code] = {f"above {b}": 100 * float((scores > b).mean()) for b in BOUNDS}
    return found


def measure_speed(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    rows = rows_of(read_pairs(args.data / CORPUS, args.rows))
    news = rows_of(read_pairs(args.data / "train/en-de/wmt21_23_refs.tsv.xz", args.rows))
    found = {}
    for name, some, settings in (
        ("cross_lingual_score", rows, {}),
        ("cross_lingual_score, news", news, {}),
        ("cross_lingual_score, ratio", rows, {"margin": "ratio"}),
        ("semantic_duplicates", rows, {}),
        ("exclude", rows, {"paths": [str(args.data / "eval" / "stsbenchmark")]}),
    ):
        step = name.split(",")[0]
        scored(step, some[:BLOCK], **settings)  # loads the model
        seconds, _ = processor_seconds(partial(scored, step, some, **settings))
        found[name] = {"rows/s": len(some) / seconds, "rows": len(some)}
    return found


def main() -> None:
    measures = {
        "scores": measure_scores,
        "duplicates": measure_duplicates,
        "exclusion": measure_exclusion,
        "translations": measure_translations,
        "speed": measure_speed,
    }
    parser = options(__doc__, threads=None, data=True, parts=measures)
    parser.add_argument("--pairs", type=int, default=3000, help="news pairs of each language")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the corpus (Tatoeba)")
    args = parser.parse_args()
    results = run_parts(args, measures)
    tables = [Table(name, results[name], ".1f") for name in args.parts]
    save(args, results, *tables)


if __name__ == "__main__":
    main()
