"""SICK, Twitter, words and phrases: files of four pairs, scores by hand.

With decreasing cosines and gold scores 4 2 3 1, ranks are 4 3 2 1 and 4 2 3 1, so Spearman's rho is
1 - 6 * 2 / 60 = 0.8.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.suites.development import GROUP, MEAN, SETS
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.word import WordTokenizer
from tests.evaluation.made_pairs import (
    ANGLES,
    Angles,
    Constant,
    Letters,
    row_of,
    write_bigrams,
    write_words,
)
from tests.evaluation.sts_files import write_lines

GOLD = [4.0, 2.0, 3.0, 1.0]
COSINES = [np.cos(float(angle)) for angle in ANGLES]
PEARSON = 100 * np.corrcoef(COSINES, GOLD)[0, 1]


def write_sick(folder: Path) -> None:
    rows = [f"{i}\t0\t{a}\t{g}\tNEUTRAL" for i, (a, g) in enumerate(zip(ANGLES, GOLD, strict=True))]
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    write_lines(folder / "sick2014" / "SICK_test_annotated.txt", [header, *rows])


def write_twitter(folder: Path) -> None:
    rows = [f"1\ttopic\t0\t{angle}\t0\ttags\ttags" for angle in ANGLES]
    write_lines(folder / "twitter" / "test.data", rows)
    write_lines(folder / "twitter" / "test.label", [f"true\t{score / 5:.4f}" for score in GOLD])


@pytest.mark.parametrize(("suite", "write"), [("sick", write_sick), ("twitter", write_twitter)])
def test_sick_and_twitter_correlate_cosines_with_gold_scores(
    suite: str, write, tmp_path: Path
) -> None:
    write(tmp_path)
    headline = evaluate(Angles(), suite, tmp_path)["headline"]
    assert headline == {"Pearson": pytest.approx(PEARSON), "Spearman": pytest.approx(80)}
    constant = evaluate(Constant(), suite, tmp_path)["headline"]
    assert constant == {"Pearson": 0, "Spearman": 0}
    with pytest.raises(DataError):
        evaluate(Angles(), suite, tmp_path / "absent")


def test_the_tuning_score_is_twice_similarity_minus_relatedness(tmp_path: Path) -> None:
    write_words(tmp_path, "WS-353-SIM", GOLD)  # 80
    write_words(tmp_path, "WS-353-REL", [1, 2, 3, 4])  # -100
    results = evaluate(Angles(), "words", tmp_path)
    assert results["headline"] == {
        "WS-S": pytest.approx(80),
        "WS-R": pytest.approx(-100),
        "2 WS-S - WS-R": pytest.approx(2 * 80 + 100),
    }
    assert len(results["skipped"]) == 11
    assert "EN-SIMLEX-999.txt" in results["skipped"]["SL999"]
    (tmp_path / "wordsim/mfaruqui_eval-word-vectors/EN-WS-353-REL.txt").unlink()
    assert list(evaluate(Angles(), "words", tmp_path)["headline"]) == ["WS-S"]


def test_an_empty_word_set_is_skipped(tmp_path: Path) -> None:
    write_words(tmp_path, "RW-STANFORD", GOLD)
    write_lines(tmp_path / "wordsim/mfaruqui_eval-word-vectors/EN-SIMLEX-999.txt", [])
    results = evaluate(Angles(), "words", tmp_path)
    assert list(results["headline"]) == ["RW"]
    assert "SL999" in results["skipped"]
    row = row_of(results, "words", "RW")
    assert set(row["scores"]) == {"pearson", "spearman"}  # no tokenizer, no unknown words


def test_the_share_of_unknown_words_counts_each_word_once(tmp_path: Path) -> None:
    folder = tmp_path / "wordsim" / "mfaruqui_eval-word-vectors"
    rows = ["cat\tdog\t5", "cat\tOwl\t1", "cat\tgnu\t2", "cat\temu\t3"]
    write_lines(folder / "EN-RW-STANFORD.txt", rows)
    tokenizer = WordTokenizer(["cat", "dog", "owl"])
    model = AveragingModel(AveragingConfig(vocab_size=5, hidden_size=4)).eval()
    row = row_of(evaluate(SentenceEncoder(model, tokenizer), "words", tmp_path), "words", "RW")
    assert row["scores"]["unknown words, %"] == pytest.approx(100 * 2 / 5)  # gnu, emu of 5 words


def test_each_rating_of_a_bigram_is_an_example(tmp_path: Path) -> None:
    ratings = [[7, 6, 7], [3, 5, 1], [4, 4, 6], [1, 2, 1]]
    for kind in ("jn", "nn", "vn"):
        write_bigrams(tmp_path, kind, ratings)
    results = evaluate(Angles(), "phrases", tmp_path)
    oracle = 100 * stats.spearmanr(np.repeat(COSINES, 3), np.ravel(ratings)).statistic
    assert results["headline"]["bigrams NN"] == pytest.approx(oracle)
    assert results["headline"]["bigrams average"] == pytest.approx(oracle)
    scores = row_of(results, "bigrams", "NN")["scores"]
    assert scores["spearman"] == pytest.approx(80)  # means 20/3, 3, 14/3, 4/3
    assert results["headline"]["bigrams average, mean ratings"] == pytest.approx(80)


def test_the_ppdb_sets_use_spearman(tmp_path: Path) -> None:
    pairs = list(zip(ANGLES, GOLD, strict=True))
    for name in ("ppdb_dev", "ppdb_test"):
        rows = [f"0|||{angle}|||{score}" for angle, score in pairs]
        write_lines(tmp_path / "ppdb_annotated" / f"{name}.txt", rows)
    rows = [f"{score}\t[NP]\t0\t{angle}\t1.0,2.0" for angle, score in pairs]
    write_lines(tmp_path / "ppdb_pavlick26k" / "ppdb-sample.tsv", rows)
    headline = evaluate(Angles(), "phrases", tmp_path)["headline"]
    names = ["Annotated-PPDB dev", "Annotated-PPDB test", "Pavlick"]
    assert headline == dict.fromkeys(names, pytest.approx(80))


def test_the_development_mean_ignores_sizes(sts_folder: Path) -> None:
    """The second set has three pairs instead of twelve, the last set another order."""
    sick, phrases = (
        sts_folder / "sick2014/SICK_trial.txt",
        sts_folder / "ppdb_annotated/ppdb_dev.txt",
    )
    lines = sick.read_text(encoding="utf-8").splitlines()
    write_lines(sick, [lines[0], lines[1], lines[8], lines[9]])
    write_lines(phrases, phrases.read_text(encoding="utf-8").splitlines()[::-1])
    results = evaluate(Letters(), "development", sts_folder)
    sizes = {name: row_of(results, GROUP, name)["size"] for name in SETS}
    assert list(sizes.values()) == [12, 3, 12]
    scores = [row_of(results, GROUP, name)["scores"]["pearson"] for name in SETS]
    assert len({round(score, 3) for score in scores}) == 2
    assert list(results["headline"]) == [*SETS, MEAN]
    assert list(results["headline"].values()) == pytest.approx([*scores, np.mean(scores)])


def test_the_development_score_needs_all_sets(sts_folder: Path) -> None:
    (sts_folder / "sick2014" / "SICK_trial.txt").unlink()
    with pytest.raises(DataError):
        evaluate(Letters(), "development", sts_folder)
