import numpy as np
import pytest

from paraphrastic_hf import evaluate
from paraphrastic_hf.evaluation.report import markdown, write_report
from paraphrastic_hf.evaluation.suites.retrieval import (
    TRAINED,
    ZERO_SHOT,
    best_threshold,
    bucc_scores,
    f1_score,
    tatoeba_scores,
)
from paraphrastic_hf.mining.bitext import Pairs
from tests.evaluation.made_pairs import Letters


def test_tatoeba_by_hand():
    """Rows 0 and 1 find themselves, row 2 finds English 1, row 3 is zero and finds nothing.

    English 1 is found twice, so its F1 is 2 * 1 * 0.5 / 1.5. In the other direction English 2 is
    wrong and English 3 finds row 0.
    """
    foreign = np.array([[1, 0, 0], [0, 1, 0], [0, 0.9, 0.1], [0, 0, 0]])
    english = np.array([[1, 0, 0], [0, 1, 0], [0.1, 0, -1], [1, 0, 0.1]])
    scores = tatoeba_scores(foreign, english)
    assert scores["xx-en"] == 50
    assert scores["en-xx"] == 50
    assert scores["accuracy"] == 50
    assert scores["MTEB F1"] == pytest.approx(100 * (1 + 2 / 3) / 4)


def test_the_best_threshold_by_hand():
    """F1 after each pair, with 4 gold pairs: 2/5, 2/6, 4/7, 6/8, 6/9. The fourth is best."""
    score = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    is_gold = np.array([True, False, True, True, False])
    threshold = best_threshold(score, is_gold, 4)
    assert threshold == pytest.approx(0.55)
    assert f1_score(score, is_gold, 4, threshold) == pytest.approx([75, 75, 75])
    assert best_threshold(score, ~is_gold & is_gold, 4) == np.inf
    assert best_threshold(score[:0], is_gold[:0], 4) == np.inf
    together = np.array([0.9, 0.5, 0.5]), np.array([True, True, False])
    assert best_threshold(*together, 1) == pytest.approx(0.7)


def test_each_half_uses_the_threshold_of_the_other():
    """Even sources are best at 0.45, odd ones at 0.65. At 0.65 even sources lose source 2. At
    0.45 odd sources gain source 3, which is wrong."""
    pairs = Pairs(
        np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], np.float32),
        np.array([0, 1, 5, 3, 2, 4]),
        np.array([0, 1, 5, 9, 2, 9]),
    )
    gold = {0: 0, 2: 2, 1: 1, 5: 5}
    scores = bucc_scores(pairs, gold)
    even = 200 * 1 / (1 + 2)  # above 0.65: source 0
    odd = 200 * 2 / (3 + 2)  # above 0.45: sources 1, 5, 3
    assert scores["F1"] == pytest.approx((even + odd) / 2)
    assert scores["best F1"] == pytest.approx(200 * 4 / (5 + 4))


def test_every_language_in_the_folder_is_scored(retrieval_folder, tmp_path):
    results = evaluate(Letters(), "tatoeba", retrieval_folder)
    assert [row["name"] for row in results["rows"]] == ["deu", "spa"]
    assert results["headline"]["all languages"] == 100
    assert not {TRAINED, ZERO_SHOT} & set(results["headline"])  # no average over fewer languages
    assert write_report(results, tmp_path / "report")[2].exists()


def test_bucc_scores_mined_bitext(retrieval_folder):
    results = evaluate(Letters(), "bucc", retrieval_folder)
    assert list(results["headline"]) == ["zh-en cosine", "zh-en distance", "zh-en ratio"]
    assert results["headline"]["zh-en cosine"] == 100
    assert list(results["skipped"]) == ["de-en", "fr-en", "ru-en"]
    table = markdown(results)
    assert "| LASER (Table 57) |" not in table  # it has other languages
    assert "LASER 87.6" in table
