"""Quality estimation without references: scales, agreement and detection of broken translations.

* **languages**: the constants in `LANGUAGES` (metrics/quality.py), from Tatoeba's evaluation pairs
  that are in no training file.
* **scales**: mean SIM of good translations, per language, before and after scaling, on sentences
  that were used neither for training nor for the constants: XNLI (the same sentences in all
  languages) and references of WMT 2021 to 2023.
* **agreement**: Spearman's rho. With people: STS17, track 4b (machine translations from English to
  Spanish, no references). With chrF, BLEU and SIM to references: machine translations of WMT 2021
  to 2023 into English.
* **choices**: between two machine translations of one source (WMT 2021 to 2023), the share of
  choices that agree with those of chrF, BLEU and SIM to references, in %. Chance is 50.
* **problems**: detection of broken translations, made from good ones of XNLI and WMT 2021 to 2023
  (both directions, 5 English words or more): no words, the source itself, a sentence of a third
  language, and the first 30 to 80 % of the words (characters in Chinese and Japanese). False alarms
  are problems found in the good translations, in %.

The thresholds were chosen for 1 % of false alarms, on WMT and on training text (`--parts problems
--tune`). XNLI is held out. The human scores of newstest2015 and newstest2016 cannot be used: their
files have no sources.

Quick test: --segments 100
"""

import argparse
import lzma
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common.report import Table, options, run_parts, save

from paraphrastic_hf import SimileScorer
from paraphrastic_hf.evaluation.measures.similarity import spearman
from paraphrastic_hf.metrics.matching import load_matching
from paraphrastic_hf.metrics.quality import QualityEstimator, find_problems

Pairs = list[tuple[str, str]]  # English, other language

ISO3 = {
    "ar": "ara", "cs": "ces", "de": "deu", "es": "spa", "fr": "fra", "it": "ita", "ja": "jpn",
    "ko": "kor", "nl": "nld", "pl": "pol", "pt": "por", "ru": "rus", "tr": "tur", "zh": "cmn",
}  # fmt: skip
XNLI = ("ar", "de", "es", "fr", "ru", "tr", "zh")
NEWS = ("cs", "de", "ja", "ru", "zh")
TUNING = {
    "ar": "freecodecamp", "cs": "bible", "de": "php_manual", "es": "freecodecamp",
    "fr": "canada_laws", "it": "tldr_pages", "ja": "python_docs", "ko": "freecodecamp",
    "nl": "gnome_user_docs", "pl": "python_docs", "pt": "freecodecamp", "ru": "php_manual",
    "tr": "php_manual", "zh": "php_manual",
}  # fmt: skip
NO_SPACES = ("ja", "zh")


def read(path: Path, segments: int | None = None) -> Pairs:
    """Return distinct pairs in a random order."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [tuple(line.rstrip("\n").split("\t")[:2]) for line in file]
    pairs = [(a, b) for a, b in dict.fromkeys(rows) if a.strip() and b.strip()]
    random.Random(1).shuffle(pairs)
    return pairs[:segments]


def news(args: argparse.Namespace, code: str) -> Pairs:
    return read(args.data / "train" / f"en-{code}" / "wmt21_23_refs.tsv.xz", args.segments)


def unscaled() -> SimileScorer:
    return SimileScorer("multilingual", similarity="windows", penalty="none")


def log_ratio(pairs: Pairs) -> np.ndarray:
    return np.log([(len(a) + 1) / (len(b) + 1) for a, b in pairs])


def languages(args: argparse.Namespace) -> dict[str, Any]:
    scorer, found = unscaled(), {}
    for code, name in ISO3.items():
        seen = {a.casefold() for path in (args.data / "train" / f"en-{code}").glob("*.xz")
                for a, _ in read(path)}  # fmt: skip
        stem = args.data / "eval" / "tatoeba" / "v1" / f"tatoeba.{name}-eng"
        sides = [Path(f"{stem}.{side}").read_text("utf-8").splitlines() for side in ("eng", name)]
        pairs = [(a, b) for a, b in zip(*sides, strict=True) if a.casefold() not in seen]
        english, other = map(list, zip(*pairs, strict=True))
        ratio = log_ratio(pairs)
        found[code] = {
            "sim": float(scorer.score(english, other).sim.mean()),
            "length": float(ratio.mean()),
            "spread": float(ratio.std()),
            "pairs": str(len(pairs)),
        }
    return found


def scales(args: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for source, codes in (("XNLI", XNLI), ("WMT", NEWS)):
        for code in codes:
            pairs = xnli(args, code) if source == "XNLI" else news(args, code)
            english, other = map(list, zip(*pairs, strict=True))
            estimator = QualityEstimator((code, "en"))
            shuffled = other[len(other) // 2 :] + other[: len(other) // 2]
            found[f"{source}, {code}-en"] = {
                "scaled": 100 * estimator.score(english, other).sim_score,
                "scaled, unrelated": 100 * estimator.score(english, shuffled).sim_score,
                "not scaled": 100 * unscaled().score(english, other).sim_score,
                "not scaled, unrelated": 100 * unscaled().score(english, shuffled).sim_score,
            }
    return found


def xnli(args: argparse.Namespace, code: str) -> Pairs:
    sides = []
    for name in ("en", code):
        lines = (args.data / "eval" / "xnli" / f"dev-{name}.tsv").read_text("utf-8").splitlines()
        sides.append([line.split("\t")[1] for line in lines])
    pairs = list(dict.fromkeys(zip(*sides, strict=True)))
    random.Random(1).shuffle(pairs)
    return pairs[: args.segments]


def agreement(args: argparse.Namespace) -> dict[str, Any]:
    folder = args.data / "eval" / "sts17"
    name = "track4b.es-en.txt"
    lines = (folder / "STS2017.eval.v1.1" / f"STS.input.{name}").read_text("utf-8").splitlines()
    english, spanish = zip(*(line.split("\t")[:2] for line in lines), strict=True)
    people = [float(x) for x in (folder / "STS2017.gs" / f"STS.gs.{name}").read_text().split()]
    estimate = QualityEstimator(("en", "es")).score(spanish, english)
    sentences = SimileScorer("multilingual", similarity="sentences", penalty="none")
    scores = {
        "SIM": estimate.sim,
        "SimiLE": estimate.simile,
        "SIM of sentences": sentences.score(spanish, english).sim,
    }
    rows: dict[str, dict[str, Any]] = {
        "en-es, people": {name: spearman(each, people) for name, each in scores.items()}
        | {"segments": str(len(people))}
    }
    for code, (source, reference, outputs) in machine_translations(args).items():
        output = [first for first, *_ in outputs]
        estimates = estimated(code, output, source)
        for judge, values in judged(output, reference).items():
            rows[f"{code}-en, {judge}"] = {
                name: spearman(each, values) for name, each in estimates.items()
            } | {"segments": str(len(output))}
    return rows


def choices(args: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, dict[str, Any]] = {}
    for code, (sources, references, outputs) in machine_translations(args).items():
        several = [i for i, each in enumerate(outputs) if len(each) > 1]
        source, reference = ([side[i] for i in several] for side in (sources, references))
        first, second = ([outputs[i][place] for i in several] for place in (0, 1))
        estimates = [estimated(code, output, source) for output in (first, second)]
        judges = [judged(output, reference) for output in (first, second)]
        for judge in judges[0]:
            gain = judges[1][judge] - judges[0][judge]
            rows[f"{code}-en, {judge}"] = {
                name: 100 * float(((estimates[1][name] > estimates[0][name]) == (gain > 0)).mean())
                for name in estimates[0]
            } | {"segments": str(len(several))}
    return rows


def machine_translations(
    args: argparse.Namespace,
) -> dict[str, tuple[list[str], list[str], list[list[str]]]]:
    """Return sources, references and lists of machine translations into English, by language."""
    outputs = defaultdict(list)
    with lzma.open(args.data / "train" / "en-en" / "wmt21_23_translations.tsv.xz", "rt") as file:
        for line in file:
            reference, output, kind = line.rstrip("\n").split("\t")
            if kind == "ref-mt":
                outputs[reference].append(output)
    found = {}
    for code in NEWS:
        pairs = read(args.data / "train" / f"en-{code}" / "wmt21_23_refs.tsv.xz")
        kept = [(a, b) for a, b in pairs if a in outputs][: args.segments]
        references, sources = map(list, zip(*kept, strict=True))
        found[code] = sources, references, [outputs[each] for each in references]
    return found


def estimated(code: str, outputs: list[str], sources: list[str]) -> dict[str, np.ndarray]:
    estimate = QualityEstimator((code, "en")).score(outputs, sources)
    sentences = SimileScorer("multilingual", similarity="sentences", penalty="none")
    return {
        "SIM": estimate.sim,
        "SimiLE": estimate.simile,
        "SIM of sentences": sentences.score(outputs, sources).sim,
    }


def judged(outputs: list[str], references: list[str]) -> dict[str, np.ndarray]:
    lists = [[each] for each in references]
    return {
        "chrF": load_matching("chrF")(outputs, lists),
        "BLEU": load_matching("BLEU")(outputs, lists),
        "SIM to references": SimileScorer().score(outputs, references).sim,
    }


def broken(pairs: Pairs, target: str, foreign: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield problems, and translations that have them. Pairs are source and translation."""
    generator = random.Random(2)
    yield "empty", ["" if i % 2 else "..." for i in range(len(pairs))]
    yield "untranslated", [source for source, _ in pairs]
    yield "wrong language", [foreign[i % len(foreign)] for i in range(len(pairs))]
    cut = []
    for _, text in pairs:
        space = "" if target in NO_SPACES else " "
        units = list(text) if not space else text.split()
        kept = max(1, int(len(units) * generator.uniform(0.3, 0.8)))
        cut.append(space.join(units[:kept]))
    yield "truncated", cut


def problems(args: argparse.Namespace) -> dict[str, Any]:
    if args.tune:
        return detection("training", {
            code: read(args.data / "train" / f"en-{code}" / f"{name}.tsv.xz", args.segments)
            for code, name in TUNING.items()
        })  # fmt: skip
    found = detection("XNLI", {code: xnli(args, code) for code in XNLI})
    return found | detection("WMT", {code: news(args, code) for code in NEWS})


def detection(name: str, texts: dict[str, Pairs]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, (code, own) in enumerate(texts.items()):
        pairs = [(a, b) for a, b in own if len(a.split()) >= 5]
        another = list(texts)[number - 1]
        for source, target in ((code, "en"), ("en", code)):
            into = target == "en"
            rows = [(b, a) if into else (a, b) for a, b in pairs]
            good = find_problems([b for _, b in rows], [a for a, _ in rows], (source, target))
            foreign = [b for _, b in texts[another]]
            row: dict[str, Any] = {"false alarms": 100 * sum(map(bool, good)) / len(rows)}
            for problem, outputs in broken(rows, target, foreign):
                seen = find_problems(outputs, [a for a, _ in rows], (source, target))
                row[problem] = 100 * seen.count(problem) / len(rows)
            found[f"{name}, {source}-{target}"] = row | {"segments": str(len(rows))}
    return found


def main() -> None:
    parts = {
        "languages": languages,
        "scales": scales,
        "agreement": agreement,
        "choices": choices,
        "problems": problems,
    }
    parser = options(__doc__, threads=None, parts=parts, data=True)
    parser.add_argument("--segments", type=int, default=1000, help="segments of each file")
    parser.add_argument("--tune", action="store_true", help="measure problems on training text")
    args = parser.parse_args()
    results = run_parts(args, parts, "py3langid", "sacrebleu")
    tables = (
        Table(part, results[part], ".3f" if part == "languages" else ".1f") for part in args.parts
    )
    save(args, results, *tables)


if __name__ == "__main__":
    main()
