from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.evaluation.measures.judged import Judged, judged_p_value
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.significance import compare_encoders
from paraphrastic_hf.evaluation.suites.retrieval import bucc_judged, bucc_scores
from paraphrastic_hf.mining.bitext import Pairs
from tests.evaluation.made_pairs import Letters, Vowels


def accuracy(*right: float) -> Judged:
    hits = np.array([right], float)
    return Judged("", "", "accuracy", hits, np.ones_like(hits))


def test_a_score_is_the_gain_over_the_possible_gain_by_part() -> None:
    assert accuracy(1, 0, 0.5, 0.5).score == 50
    gained = np.array([[2, 0, 0, 0], [0, 0, 2, 0]])
    possible = np.array([[2, 1, 0, 0], [0, 0, 2, 2]])
    judged = Judged("", "", "F1", gained, possible)
    assert judged.score == pytest.approx(100 * (2 / 3 + 2 / 4) / 2)
    nothing = Judged("", "", "F1", gained, np.stack([possible[0], np.zeros(4)]))
    assert nothing.score == pytest.approx(100 * (2 / 3 + 0) / 2)


def test_the_p_value_equals_the_share_of_exchanges_with_as_large_a_difference() -> None:
    """Oracle: all exchanges of the results of two encoders, for an F1 with two parts."""
    random = np.random.default_rng(3)
    possible = random.integers(0, 3, size=(2, 2, 8))
    gained = np.minimum(possible, random.integers(0, 3, size=(2, 2, 8)))
    sides = [Judged("", "", "F1", *each) for each in zip(gained, possible, strict=True)]
    differences = []
    for exchanged in product((True, False), repeat=8):
        pair = []
        for one, other in ((0, 1), (1, 0)):
            parts = [np.where(exchanged, x[one], x[other]) for x in (gained, possible)]
            pair.append(Judged("", "", "F1", *parts).score)
        differences.append(abs(pair[0] - pair[1]))
    expected = np.mean(np.array(differences) >= differences[0] - 1e-9)
    assert 0.01 < expected < 0.9
    assert judged_p_value(*sides) == expected
    assert judged_p_value(*sides[::-1]) == expected


@pytest.mark.parametrize("seed", range(20))
def test_f1_by_source_sentence_equals_the_f1_of_bucc(seed: int) -> None:
    random = np.random.default_rng(seed)
    sources, targets, mined = 30, 40, int(random.integers(0, 25))
    pairs = Pairs(
        random.integers(0, 8, mined).astype(np.float32),  # with many ties
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
def test_compared_scores_equal_those_of_evaluate(
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
        assert 0 < each.permutation <= 1
    same, _ = compare_encoders(Letters(), Letters(), suite, retrieval_folder, samples=9)
    assert {each.permutation for each in same} == {1.0}
