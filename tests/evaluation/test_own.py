from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import evaluate, evaluate_pairs
from paraphrastic_hf.corpora.readers.sts_files import read_sts17
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.judged import Ranked, best_threshold
from paraphrastic_hf.evaluation.own import retrieval_scores
from paraphrastic_hf.metrics.resampling import drawn_examples, resampled_scores
from tests.evaluation.made_pairs import Angles, Constant, Letters, Vowels

ROWS = [("a cat", "the cat"), ("a dog", "the dog"), ("red", "read"), ("tea", "tee"), ("hi", "high")]


def slow_average_precision(cosines, labels):
    """Average the precision at each positive pair, where pairs of equal cosine share one
    threshold."""
    found = [
        labels[cosines >= cosine].mean()
        for cosine, label in zip(cosines, labels, strict=True)
        if label
    ]
    return 100 * float(np.mean(found)) if found else 0.0


def slow_accuracy(cosines, labels):
    return 100 * max(((cosines >= t) == labels).mean() for t in [*cosines, 2.0])


@pytest.mark.parametrize("measure", ["average precision", "accuracy"])
def test_label_measures_equal_a_slow_loop_in_every_resample(measure):
    random = np.random.default_rng(1)
    cosines = random.integers(0, 8, 20) / 8  # many ties
    labels = (random.random(20) < 0.4).astype(float)
    slow = slow_average_precision if measure == "average precision" else slow_accuracy
    ranked = Ranked("", "", measure, cosines, labels)
    assert ranked.score == pytest.approx(slow(cosines, labels))
    (drawn,) = drawn_examples(20, 30, seed=2)
    expected = [slow(cosines[each], labels[each]) for each in drawn]
    assert resampled_scores(ranked, samples=30, seed=2) == pytest.approx(expected)


def test_the_best_threshold_gives_the_best_accuracy():
    random = np.random.default_rng(3)
    for _ in range(20):
        cosines, labels = random.integers(-4, 4, 9) / 4, random.integers(0, 2, 9)
        ranked = Ranked("", "", "accuracy", cosines, labels)
        found = ((cosines >= best_threshold(ranked)) == labels).mean()
        assert 100 * found == pytest.approx(ranked.score) or best_threshold(ranked) == 1


def test_retrieval_scores_by_hand():
    """The answers are at angles 0.1, 0.2 ... 1.2 from the query. Its own have ranks 2, 3 and 12. A
    constant encoder finds one answer."""
    near = [f"{n / 10}" for n in range(1, 13)]
    first = ["0.0"] * 3 + ["3"] * 9
    second = [near[1], near[2], near[11], near[0], *near[3:11]]
    scores = retrieval_scores(Angles().encode, first, second)
    gain, most = 1 / np.log2(3) + 1 / np.log2(4), 1 + 1 / np.log2(3) + 1 / np.log2(4)
    expected = {"accuracy@1": 0, "accuracy@5": 1, "MRR@10": 1 / 2, "nDCG@10": gain / most}
    assert {key: value[0] for key, value in scores.items()} == pytest.approx(expected)
    headline = evaluate_pairs(Constant(), [(f"q{n}", f"a{n}") for n in range(20)])["headline"]
    assert (headline["accuracy@1"], headline["accuracy@5"]) == (5, 25)


def test_own_pairs_score_like_the_suites(sts_folder, retrieval_folder):
    (pairs,) = read_sts17(sts_folder, ["en-en"])
    rows = zip(pairs.first, pairs.second, pairs.scores, strict=True)
    of_suite = evaluate(Letters(), "sts17", sts_folder)["rows"]
    expected = next(row["scores"] for row in of_suite if row["name"] == "en-en")
    assert evaluate_pairs(Letters(), rows)["headline"] == pytest.approx(expected)
    stem = retrieval_folder / "tatoeba" / "v1" / "tatoeba.deu-eng"
    sides = [Path(f"{stem}.{side}").read_text().splitlines() for side in ("deu", "eng")]
    expected = evaluate(Vowels(), "tatoeba", retrieval_folder)["rows"][0]["scores"]["xx-en"]
    assert 0 < expected < 100
    found = evaluate_pairs(Vowels(), zip(*sides, strict=True))["headline"]["accuracy@1"]
    assert found == pytest.approx(expected)


def test_the_values_of_rows_select_the_measures():
    def figures(*values):
        rows = [(*pair, value) for pair, value in zip(ROWS, values, strict=True)]
        return list(evaluate_pairs(Letters(), rows, samples=5)["headline"])

    assert figures(1, 2, 3, 4, 5) == ["pearson", "spearman"]
    assert figures("0", 1, 1.0, "1", 0) == ["average precision", "accuracy"]
    assert "accuracy@1" in evaluate_pairs(Letters(), ROWS, samples=5)["headline"]
    for bad in ("entailment", "nan", None):
        with pytest.raises(DataError, match=repr(bad)):
            figures(1, 2, bad, 4, 5)
    for rows in ([*ROWS, ("a", "b", 1)], [], [("alone",)]):
        with pytest.raises(DataError):
            evaluate_pairs(Letters(), rows)
