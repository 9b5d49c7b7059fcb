"""Nearest sentences in Tatoeba, and bitext mining in BUCC (thesis, 5.2.4, 5.13.2)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import MissingFileError
from paraphrastic_hf.evaluation.measures.judged import Judged, JudgedTask
from paraphrastic_hf.evaluation.suite import Row, Suite, mean_of
from paraphrastic_hf.mining.bitext import Pairs, mine
from paraphrastic_hf.mining.neighbors import nearest
from paraphrastic_hf.mining.vectors import UnitRows

TRAINED = "ar es tr"
ZERO_SHOT = "zero-shot gl az"
THESIS_GROUPS = {TRAINED: ("ara", "spa", "tur"), ZERO_SHOT: ("glg", "aze")}
BUCC_SCORES = ("cosine", "distance", "ratio")


def tatoeba_scores(foreign: np.ndarray, english: np.ndarray) -> dict[str, float]:
    """Score how often the nearest sentence by cosine is the translation.

    Row i of `english` is the translation of row i of `foreign`. A zero vector finds nothing. Among
    equally near sentences the first one counts. Figures are x 100. `xx-en` is the accuracy of
    finding English translations, `en-xx` the reverse, and `accuracy` their mean. `MTEB F1` is the
    F1 of xx-en with each English sentence as a class, averaged over the classes.
    """
    number = len(foreign)
    found = nearest_sentences(foreign, english)
    is_right = found == np.arange(number)
    there, back = (100 * float(right.mean()) for right in is_right)
    asked = np.bincount(found[0][found[0] >= 0], minlength=number)
    f1 = 100 * float(np.mean(is_right[0] * 2 / (1 + np.maximum(asked, 1))))
    return {"xx-en": there, "en-xx": back, "accuracy": (there + back) / 2, "MTEB F1": f1}


def nearest_sentences(foreign: np.ndarray, english: np.ndarray) -> np.ndarray:
    """Find the nearest English sentence of each foreign one by cosine, and the reverse.

    Return indices of English, then of foreign sentences, (2, sentences). A zero vector gets -1.
    """
    sides = UnitRows(foreign, name="foreign"), UnitRows(english, name="English")
    found = np.full((2, len(foreign)), -1)
    for best, own, other, near in zip(found, sides, sides[::-1], nearest(*sides, 1), strict=True):
        if near.ids.shape[1]:
            best[own.rows] = other.rows[near.ids[:, 0]]
    return found


def _tatoeba(encoder: Any, data_dir: Path) -> list[Row]:
    return [
        Row(group, language, len(vectors[0]), tatoeba_scores(*vectors))
        for group, language, vectors in _encoded(encoder, data_dir)
    ]


def _tatoeba_judged(encoder: Any, data_dir: Path) -> list[Judged]:
    return [
        judged_translations(group, language, *vectors)
        for group, language, vectors in _encoded(encoder, data_dir)
    ]


def judged_translations(group: str, name: str, foreign: np.ndarray, english: np.ndarray) -> Judged:
    """Return whether each translation was found. Each of the two directions counts half."""
    found = nearest_sentences(foreign, english)
    right = (found == np.arange(found.shape[1])).mean(0, keepdims=True)
    return Judged(group, name, "accuracy", right, np.ones_like(right))


def _encoded(encoder: Any, data_dir: Path) -> Iterator[tuple[str, str, list[np.ndarray]]]:
    groups = {language: group for group, names in THESIS_GROUPS.items() for language in names}
    is_found, missing = False, None
    for language in find_source("tatoeba").configs:
        try:
            data = load_dataset(
                "tatoeba", language, data_dir=data_dir, streaming=True, split="test"
            )
            pairs = [(row[language], row["eng"]) for row in data]
        except MissingFileError as error:
            missing = error
            continue
        vectors = [
            checked_vectors(encoder.encode(list(side)), len(pairs))
            for side in zip(*pairs, strict=True)
        ]
        is_found = True
        yield groups.get(language, "others"), language, vectors
    if missing is not None and not is_found:
        raise missing


def _tatoeba_headline(rows: Sequence[Row]) -> dict[str, float]:
    complete = {
        group: mean_of(rows, "accuracy", group)
        for group, names in THESIS_GROUPS.items()
        if sum(row.group == group for row in rows) == len(names)
    }
    return {
        **{group: complete.get(group, float("nan")) for group in THESIS_GROUPS},
        "all languages": mean_of(rows, "accuracy"),
        "all, xx-en": mean_of(rows, "xx-en"),
        "all, en-xx": mean_of(rows, "en-xx"),
        "all, MTEB F1": mean_of(rows, "MTEB F1"),
    }


def best_threshold(score: np.ndarray, is_gold: np.ndarray, gold: int) -> float:
    """Return the threshold at which mined pairs have the highest F1.

    It is midway between the lowest accepted score and the next lower score, or infinity if no gold
    pair was mined. `score` and `is_gold` are (pairs,). `gold` counts all gold pairs.
    """
    order = np.argsort(-score, kind="stable")
    score, hits = score[order], np.cumsum(is_gold[order])
    if not len(score) or not hits[-1]:
        return float("inf")
    f1 = 2 * hits / (np.arange(1, len(score) + 1) + gold)
    is_last = np.append(score[1:] < score[:-1], True)  # equal scores share a threshold
    best = int(np.argmax(np.where(is_last, f1, -1)))
    if best + 1 == len(score):
        return float(score[best])
    return float((np.float64(score[best]) + score[best + 1]) / 2)


def f1_score(score: np.ndarray, is_gold: np.ndarray, gold: int, threshold: float) -> list[float]:
    """Return F1, precision and recall x 100 of the mined pairs that reach a threshold."""
    taken = score >= threshold
    hits, mined = int(is_gold[taken].sum()), int(taken.sum())
    f1 = 200 * hits / (mined + gold) if gold else 0.0
    return [f1, 100 * hits / mined if mined else 0.0, 100 * hits / gold if gold else 0.0]


def bucc_scores(pairs: Pairs, gold: dict[int, int]) -> dict[str, float]:
    """Score mined pairs, with the threshold tuned on half of the source sentences.

    The two halves are the even and the odd source indices. The threshold tuned on one half is
    applied to the other, and the two results are averaged. `best F1` tunes the threshold on all
    sources. Figures are x 100.
    """
    mined = zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)
    is_gold = np.array([gold.get(source) == target for source, target in mined], bool)
    halves = []
    for half in (0, 1):
        chosen = pairs.source % 2 == half
        count = sum(source % 2 == half for source in gold)
        halves.append((pairs.score[chosen], is_gold[chosen], count))
    results = [f1_score(*test, best_threshold(*train)) for train, test in (halves, halves[::-1])]
    means = dict(zip(("F1", "precision", "recall"), np.mean(results, 0).tolist(), strict=True))
    everything = pairs.score, is_gold, len(gold)
    return means | {"best F1": f1_score(*everything, best_threshold(*everything))[0]}


def bucc_judged(group: str, name: str, pairs: Pairs, gold: dict[int, int], sources: int) -> Judged:
    """Return the contribution of each source sentence to the `F1` of `bucc_scores`.

    The pairs must be mined without a threshold, with at most one pair per source.
    """
    wanted = np.full(sources, -1)
    wanted[list(gold)] = list(gold.values())
    score, target = np.full(sources, -np.inf), np.full(sources, -1)
    score[pairs.source], target[pairs.source] = pairs.score, pairs.target
    is_mined, is_gold = target >= 0, wanted >= 0
    gained, possible = np.zeros((2, sources)), np.zeros((2, sources))
    for half in (0, 1):
        own = np.arange(sources) % 2 == half
        other = is_mined & ~own
        is_right = wanted[other] == target[other]
        threshold = best_threshold(score[other], is_right, int(is_gold[~own].sum()))
        taken = own & is_mined & (score >= threshold)
        gained[half] = 2 * (taken & (wanted == target))
        possible[half] = 1.0 * taken + (own & is_gold)
    return Judged(group, name, "F1", gained, possible)


def _bucc(config: str) -> JudgedTask:
    def mined(encoder: Any, data_dir: Path) -> tuple[dict[str, Pairs], dict[int, int], int]:
        """Return the mined pairs by kind of score, the gold pairs, and the number of sources."""
        first, second = config.split("-")
        vectors, numbers = [], []
        for split, language in (("source", first), ("target", second)):
            data = load_dataset("bucc", config, data_dir=data_dir, streaming=True, split=split)
            texts, ids = zip(*((row[language], row["id"]) for row in data), strict=True)
            vectors.append(checked_vectors(encoder.encode(list(texts)), len(texts)))
            numbers.append({key: number for number, key in enumerate(ids)})
        data = load_dataset("bucc", config, data_dir=data_dir, streaming=True, split="gold")
        keys = (row["id"].split(" ") for row in data)
        gold = {numbers[0][source]: numbers[1][target] for source, target in keys}
        pairs = {score: mine(*vectors, score=score) for score in BUCC_SCORES}
        return pairs, gold, len(numbers[0])

    def rows(encoder: Any, data_dir: Path) -> list[Row]:
        found, gold, _ = mined(encoder, data_dir)
        return [
            Row(config, name, len(gold), bucc_scores(pairs, gold)) for name, pairs in found.items()
        ]

    def judged(encoder: Any, data_dir: Path) -> list[Judged]:
        found, gold, sources = mined(encoder, data_dir)
        return [bucc_judged(config, name, pairs, gold, sources) for name, pairs in found.items()]

    return JudgedTask(judged=judged, rows=rows)


def _paper(trained: float, zero_shot: float) -> dict[str, float]:
    return {TRAINED: trained, ZERO_SHOT: zero_shot}


TATOEBA = Suite(
    "Tatoeba: whether the nearest of up to 1,000 sentences is the translation (5.13.2)",
    "Accuracy x 100",
    {"languages": JudgedTask(judged=_tatoeba_judged, rows=_tatoeba)},
    _tatoeba_headline,
    {
        "LASER (Table 56)": _paper(95.8, 80.8),
        "thesis Multiling. Trans. (Table 56)": _paper(88.2, 37.7),
        "thesis MGT (Table 56)": _paper(95.4, 53.8),
    },
    notes=(
        "Accuracy: mean of xx-en and en-xx. MTEB F1: F1 x 100 of xx-en with each English sentence "
        "as a class.",
        "Zero-shot refers to the thesis's models, trained on Spanish and Turkish but not on "
        "Galician and Azerbaijani.",
        "All languages: mean over those in the data folder, at most 112.",
        "The packaged models were trained on other pairs of Tatoeba, english on French, German and "
        "Spanish. In six languages checked, multilingual saw no foreign test sentence, and 0.4 % "
        "(Turkish) to 28 % (Chinese) of the English ones.",
    ),
)

BUCC = Suite(
    "BUCC 2018: mining translations from two sets of sentences (5.2.4, 5.13.2)",
    "F1 x 100",
    {name: _bucc(name) for name in find_source("bucc").configs},
    lambda rows: {f"{row.group} {row.name}": row.scores["F1"] for row in rows},
    {
        "thesis SP 40k, cosine (Table 44)": {"fr-en cosine": 76.8, "de-en cosine": 77.5},
        "LASER (Table 57)": {"fr-en ratio": 87.6, "de-en ratio": 91.24, "ru-en ratio": 90.03},
        "thesis MGT (Table 57)": {"fr-en ratio": 86.95, "de-en ratio": 90.3, "ru-en ratio": 89.0},
    },
    notes=(
        "The threshold is tuned on every other source sentence and tested on the rest, then the "
        "other way round; the mean is reported.",
        "Candidates: union of both directions, k = 4; one-to-one by competitive linking.",
        "The papers report fr-en, de-en and ru-en on the whole training sets: SP (40k) 76.8, 77.5 "
        "(Table 44); MGT 87.0, 90.3, 89.0; LASER 87.6, 91.2, 90.0 (Table 57).",
        "zh-en is XTREME's small pack: 8,624 against 13,589 sentences, 257 pairs.",
    ),
)
