"""Accuracies and F1 of two encoders compared example by example: by hand, by brute force, and end
to end beside what `evaluate` says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.evaluation.judged import Judged, paired_bootstrap
from paraphrastic_hf.evaluation.retrieval import bucc_judged, bucc_scores
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.significance import compare_encoders
from paraphrastic_hf.metrics.bootstrap import drawn_counts
from paraphrastic_hf.mining.bitext import Pairs
from tests.evaluation.test_retrieval import Letters


class Vowels(Letters):
    """Counts of two vowels: what Letters sees, and less."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return super().encode(texts)[:, [0, 4]]


def accuracy(*right: float) -> Judged:
    hits = np.array([right], float)
    return Judged("", "", "accuracy", hits, np.ones_like(hits))


def p_value(first: Judged, second: Judged, samples: int = 1000, seed: int = 1) -> float:
    return paired_bootstrap(first, second, samples=samples, seed=seed)[1]


def test_a_score_is_what_was_gained_of_what_there_was_by_parts() -> None:
    assert accuracy(1, 0, 0.5, 0.5).score == 50
    gained = np.array([[2, 0, 0, 0], [0, 0, 2, 0]])
    possible = np.array([[2, 1, 0, 0], [0, 0, 2, 2]])
    judged = Judged("", "", "F1", gained, possible)
    assert judged.score == pytest.approx(100 * (2 / 3 + 2 / 4) / 2)
    counts = np.array([[0, 0, 3, 1], [0, 0, 0, 4]])  # in the second there is nothing of one part
    assert judged.resampled(counts).tolist() == pytest.approx([100 * (0 + 6 / 8) / 2, 0])


def test_the_p_value_is_the_share_of_resamples_in_which_the_better_is_not() -> None:
    random = np.random.default_rng(3)
    first, second = (accuracy(*(random.random(40) < share)) for share in (0.6, 0.5))
    lost = 0
    for counts in drawn_counts(40, 500, seed=7):
        for count in counts:
            drawn = np.repeat(np.arange(40), count)
            a, b = (each.gained[0, drawn].mean() for each in (first, second))
            lost += (a - b) * np.sign(first.score - second.score) <= 1e-12
    expected = (lost + 1) / 501
    assert 0.01 < expected < 0.9  # so that it says something
    assert p_value(first, second, samples=500, seed=7) == expected
    assert p_value(second, first, samples=500, seed=7) == expected


def test_what_no_test_can_tell_apart() -> None:
    assert p_value(accuracy(1, 0, 1, 0, 1), accuracy(0, 1, 1, 1, 0)) == 1
    assert np.isnan(p_value(accuracy(1, 1, 1, 1), accuracy(0, 0, 0, 0)))
    with pytest.raises(ValueError, match="of 1 and 2 examples"):
        p_value(accuracy(1), accuracy(1, 0))
    with pytest.raises(ValueError, match="samples must be 1 or more, got 0"):
        p_value(accuracy(1), accuracy(1), samples=0)


@pytest.mark.parametrize("seed", range(20))
def test_f1_by_source_sentence_is_the_f1_of_bucc(seed: int) -> None:
    random = np.random.default_rng(seed)
    sources, targets, mined = 30, 40, int(random.integers(0, 25))
    pairs = Pairs(
        random.integers(0, 8, mined).astype(np.float32),  # many are equal
        random.permutation(sources)[:mined],
        random.permutation(targets)[:mined],
    )
    right = dict(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    gold = {s: t for s, t in right.items() if random.random() < 0.5}
    gold |= {int(s): 39 for s in random.permutation(sources)[:6] if s not in right}
    judged = bucc_judged("zh-en", "cosine", pairs, gold, sources)
    assert judged.score == pytest.approx(bucc_scores(pairs, gold)["F1"])


@pytest.mark.parametrize(
    ("suite", "measure", "datasets"), [("tatoeba", "accuracy", 2), ("bucc", "F1", 3)]
)
def test_scores_are_those_of_evaluate(
    suite: str, measure: str, datasets: int, retrieval_folder: Path
) -> None:
    differences, skipped = compare_encoders(
        Letters(), Vowels(), suite, retrieval_folder, samples=99
    )
    rows = [evaluate(each, suite, retrieval_folder)["rows"] for each in (Letters(), Vowels())]
    assert len(differences) == datasets
    assert list(skipped) == ([] if suite == "tatoeba" else ["de-en", "fr-en", "ru-en"])
    for each, first, second in zip(differences, *rows, strict=True):
        assert (each.group, each.name) == (first["group"], first["name"])
        assert each.measure == measure
        assert each.first == pytest.approx(first["scores"][measure])
        assert each.second == pytest.approx(second["scores"][measure])
        assert np.isnan(each.steiger)
        assert each.first > each.second
        assert 0.01 <= each.bootstrap <= 1
    same, _ = compare_encoders(Letters(), Letters(), suite, retrieval_folder, samples=9)
    assert {each.bootstrap for each in same} == {1.0}
