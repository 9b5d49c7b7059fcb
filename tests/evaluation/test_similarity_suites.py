"""Suites of scored pairs. Small sets have four pairs, whose scores are worked by hand.

With decreasing cosines and gold scores 4 2 3 1, ranks are 4 3 2 1 and 4 2 3 1, so Spearman's rho is
1 - 6 * 2 / 60 = 0.8.
"""

import numpy as np
import pytest
from scipy import stats

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder, evaluate, load_dataset
from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS, ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.suite import Row
from paraphrastic_hf.evaluation.suites.bins import LENGTHS, by_number
from paraphrastic_hf.evaluation.suites.development import GROUP, MEAN, SETS
from paraphrastic_hf.evaluation.suites.hard import GROUPS
from paraphrastic_hf.evaluation.suites.sts import mean_of_22
from paraphrastic_hf.evaluation.suites.words import count_unknown, unknown_share
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
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


def write_sick(folder):
    rows = [f"{i}\t0\t{a}\t{g}\tNEUTRAL" for i, (a, g) in enumerate(zip(ANGLES, GOLD, strict=True))]
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    write_lines(folder / "sick2014" / "SICK_test_annotated.txt", [header, *rows])


def write_twitter(folder):
    rows = [f"1\ttopic\t0\t{angle}\t0\ttags\ttags" for angle in ANGLES]
    write_lines(folder / "twitter" / "test.data", rows)
    write_lines(folder / "twitter" / "test.label", [f"true\t{score / 5:.4f}" for score in GOLD])


@pytest.mark.parametrize(("suite", "write"), [("sick", write_sick), ("twitter", write_twitter)])
def test_sick_and_twitter_correlate_cosines_with_gold_scores(suite, write, tmp_path):
    write(tmp_path)
    headline = evaluate(Angles(), suite, tmp_path)["headline"]
    assert headline == {"Pearson": pytest.approx(PEARSON), "Spearman": pytest.approx(80)}
    constant = evaluate(Constant(), suite, tmp_path)["headline"]
    assert constant == {"Pearson": 0, "Spearman": 0}
    with pytest.raises(DataError):
        evaluate(Angles(), suite, tmp_path / "absent")


def test_the_tuning_score_is_twice_similarity_minus_relatedness(tmp_path):
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
    assert set(row_of(results, "words", "WS-S")["scores"]) == {"pearson", "spearman"}
    write_lines(tmp_path / "wordsim/mfaruqui_eval-word-vectors/EN-SIMLEX-999.txt", [])
    assert "SL999" in evaluate(Angles(), "words", tmp_path)["skipped"]
    (tmp_path / "wordsim/mfaruqui_eval-word-vectors/EN-WS-353-REL.txt").unlink()
    assert list(evaluate(Angles(), "words", tmp_path)["headline"]) == ["WS-S"]


def test_the_share_of_unknown_words_counts_each_word_once(tmp_path):
    folder = tmp_path / "wordsim" / "mfaruqui_eval-word-vectors"
    rows = ["cat\tdog\t5", "cat\tOwl\t1", "cat\tgnu\t2", "cat\temu\t3"]
    write_lines(folder / "EN-RW-STANFORD.txt", rows)
    tokenizer = WordTokenizer(["cat", "dog", "owl"])
    model = AveragingModel(AveragingConfig(vocab_size=5, hidden_size=4)).eval()
    row = row_of(evaluate(SentenceEncoder(model, tokenizer), "words", tmp_path), "words", "RW")
    assert row["scores"]["unknown words, %"] == pytest.approx(100 * 2 / 5)  # gnu, emu of 5 words


def test_each_rating_of_a_bigram_is_an_example(tmp_path):
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


def test_the_ppdb_sets_use_spearman(tmp_path):
    pairs = list(zip(ANGLES, GOLD, strict=True))
    for name in ("ppdb_dev", "ppdb_test"):
        rows = [f"0|||{angle}|||{score}" for angle, score in pairs]
        write_lines(tmp_path / "ppdb_annotated" / f"{name}.txt", rows)
    rows = [f"{score}\t[NP]\t0\t{angle}\t1.0,2.0" for angle, score in pairs]
    write_lines(tmp_path / "ppdb_pavlick26k" / "ppdb-sample.tsv", rows)
    headline = evaluate(Angles(), "phrases", tmp_path)["headline"]
    names = ["Annotated-PPDB dev", "Annotated-PPDB test", "Pavlick"]
    assert headline == dict.fromkeys(names, pytest.approx(80))


def test_the_development_mean_ignores_sizes(sts_folder):
    """The second set has three pairs instead of twelve, the last set another order."""
    sick, phrases = (
        sts_folder / "sick2014/SICK_trial.txt",
        sts_folder / "ppdb_annotated/ppdb_dev.txt",
    )
    lines = sick.read_text().splitlines()
    write_lines(sick, [lines[0], lines[1], lines[8], lines[9]])
    write_lines(phrases, phrases.read_text().splitlines()[::-1])
    results = evaluate(Letters(), "development", sts_folder)
    sizes = {name: row_of(results, GROUP, name)["size"] for name in SETS}
    assert list(sizes.values()) == [12, 3, 12]
    scores = [row_of(results, GROUP, name)["scores"]["pearson"] for name in SETS]
    assert len({round(score, 3) for score in scores}) == 2
    assert list(results["headline"]) == [*SETS, MEAN]
    assert list(results["headline"].values()) == pytest.approx([*scores, np.mean(scores)])
    sick.unlink()  # all sets are needed
    with pytest.raises(DataError):
        evaluate(Letters(), "development", sts_folder)


TABLE_21 = (71, 216, 572, 1097, 1356, 1266, 1010, 3143, 1559, 1818)  # pairs of each length


@pytest.fixture
def hard_folder(sts_folder):
    """STS files with 400 pairs of ten random words, with varied overlap and gold scores."""
    random = np.random.default_rng(0)
    lines, gold = [], []
    for i in range(400):
        words = ["".join(random.choice(list("abcdefgh"), 4)) for _ in range(10)]
        changed = [w if random.random() < (i % 11) / 10 else w[::-1] + "i" for w in words]
        lines.append(f"{' '.join(words)}\t{' '.join([*changed, 'not'][: 10 + i % 2])}")
        if i % 4 == 0:
            lines[-1] = f"{words[0]}\t{' '.join(words[1:])}"
        gold.append(round(random.uniform(0, 5), 1))
    write_lines(sts_folder / "sts12" / "STS.input.MSRpar.txt", lines)
    write_lines(sts_folder / "sts12" / "STS.gs.MSRpar.txt", gold)
    return sts_folder


class Words(Letters):
    """Counts of letters, with a vocabulary of words."""

    tokenizer = WordTokenizer(["a", "the", "."])


def test_bins_may_overlap():
    pairs = ScoredPairs("x", "2012", list("abcd"), list("efgh"), [1, 2, 3, 4])
    bins = {"0": (0, 0), "1-2": (1, 2), "9": (9, 9), "2+": (2, 100)}
    found = by_number(pairs, [2, 0, 1, 7], bins, "length")
    assert [(each.name, each.first, each.second, each.scores) for each in found] == [
        ("0", ["b"], ["f"], [2]),
        ("1-2", ["a", "c"], ["e", "g"], [1, 3]),
        ("2+", ["a", "d"], ["e", "h"], [1, 4]),
    ]


def test_the_bins_of_table_21_cover_every_pair(sts_folder):
    rows = evaluate(Letters(), "sts-bins", sts_folder)["rows"]
    sizes = {row["name"]: row["size"] for row in rows if row["group"] == "length"}
    whole = sum(size for name, size in sizes.items() if name != "10+")
    assert whole == 20 * 12  # without 2016
    assert sizes.get("10+", 0) == sum(
        sizes.get(name, 0) for name in ("10", "11-15", "16-20", "21+")
    )


def test_unknown_words_are_not_in_the_vocabulary():
    """To character n-grams, a word is known if one of its n-grams is."""
    kept, ngrams = Words(), Words()
    kept.tokenizer = WordTokenizer(["a", "the", "."], keep_unknown=True)
    ngrams.tokenizer = CharNgramTokenizer(ngrams=["cat"])
    for encoder in (Words(), kept):
        texts = ["The cat, the owl.", "a", "", "THE."]
        assert count_unknown(encoder, texts) == [3, 0, 0, 0]  # cat , owl
        assert unknown_share(encoder, ["a", "cat"]) == 50
    assert unknown_share(ngrams, ["cat", "cats", "dog", "cat"]) == pytest.approx(100 / 3)


def test_unknown_word_bins_use_the_encoders_vocabulary(sts_folder):
    results = evaluate(Words(), "sts-bins", sts_folder)
    sizes = {r["name"]: r["size"] for r in results["rows"] if r["group"] == "unknown words"}
    assert sizes["0+"] == sizes["1+"] == 20 * 12
    assert "unknown words 0" not in results["headline"]
    assert "unknown words" not in results["skipped"]


@pytest.mark.parametrize("tokenizer", [None, CharNgramTokenizer(ngrams=["abc"])])
def test_unknown_word_bins_need_a_word_tokenizer(tokenizer, sts_folder):
    encoder = Letters()
    if tokenizer is not None:
        encoder.tokenizer = tokenizer
    results = evaluate(encoder, "sts-bins", sts_folder)
    assert "unknown words" not in results["skipped"]
    assert type(tokenizer).__name__ in results["not_applicable"]["unknown words"]


def test_captions_are_selected_by_genre(sts_folder):
    assert "STS-B captions" in evaluate(Letters(), "sts-bins", sts_folder)["skipped"]  # no genres
    genres = ["main-captions"] * 3 + ["main-news"] * 2 + ["main-forums"]
    rows = [f"{each}\tf\t2012\t{i}\t{i % 4}\tcat {i}\tcab {i * i}" for i, each in enumerate(genres)]
    write_lines(sts_folder / "stsbenchmark" / "sts-test.csv", rows)
    results = evaluate(Letters(), "sts-bins", sts_folder)
    sizes = [row_of(results, "STS-B test", n)["size"] for n in ("all", "captions", "no captions")]
    assert sizes == [6, 3, 3]
    captions = [row["name"] for row in results["rows"] if row["group"] == "captions"]
    assert captions == ["2012 MSRvid", "2014 images", "2015 images"]
    assert sum(row["group"] == "other datasets" for row in results["rows"]) == 22


def test_hard_sts_is_the_correlation_over_each_split(hard_folder):
    results = evaluate(Letters(), "sts-hard", hard_folder)
    assert len(results["rows"]) == 10
    for row in results["rows"]:
        config = GROUPS[row["group"]][row["name"]]
        pairs = list(load_dataset("hard_sts", config, "test", data_dir=hard_folder, streaming=True))
        vectors = [
            Letters().encode([p[side] for p in pairs]) for side in ("sentence1", "sentence2")
        ]
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in vectors]
        gold = [p["score"] for p in pairs]
        assert row["size"] == len(pairs)
        expected = 100 * np.corrcoef((unit[0] * unit[1]).sum(1), gold)[0, 1] if np.ptp(gold) else 0
        assert row["scores"]["pearson"] == pytest.approx(expected)
    headline = results["headline"]
    assert headline["Hard average"] == (headline["Hard+"] + headline["Hard-"]) / 2
    (hard_folder / "sts14" / "STS.gs.images.txt").unlink()  # every year is needed
    with pytest.raises(DataError):
        evaluate(Letters(), "sts-hard", hard_folder)


@pytest.mark.parametrize("suite", SUITES)
def test_published_figures_use_the_headlines_names(suite):
    names = set(SUITES[suite].headline([]))
    if suite in ("wmt-da", "sts-metrics", "bucc"):
        pytest.skip("its headline depends on the tasks that ran")
    for paper, figures in SUITES[suite].papers.items():
        assert set(figures) <= names, paper


@pytest.mark.slow
def test_the_bins_of_the_official_files_match_table_21(official):
    datasets = SUITES["sts-bins"].tasks["length"].datasets(official)
    found = {pairs.name: len(pairs) for pairs in datasets}
    names = [name for name in LENGTHS if name != "10+"]
    assert sum(found[name] for name in names) == 12_108
    for name, published in zip(names, TABLE_21, strict=True):
        assert found[name] == pytest.approx(published, rel=0.03)


def test_the_mean_of_22_datasets_names_missing_ones():
    """STS 2012-2015 score 1 to 20, SICK 50, Twitter 60."""
    places = [(year, name) for year, names in STS_DATASETS.items() for name in names]
    of_sts = [Row(*place, 9, {"pearson": score + 1.0}) for score, place in enumerate(places)]
    sick = Row("SICK", "test", 9, {"pearson": 50.0})
    twitter = Row("Twitter", "test", 9, {"pearson": 60.0})
    no_smt = [row for row in of_sts if row.name != "SMT"]
    for rows, expected in (
        ([*of_sts, sick, twitter], {"22 datasets": (210 + 50 + 60) / 22}),
        ([*of_sts, sick], {"21 datasets, no Twitter": 260 / 21}),
        ([*no_smt, sick], {"20 datasets, no Twitter nor SMT": None}),
        ([*of_sts, twitter], {}),
    ):
        found = {name: mean for name, mean in mean_of_22(rows).items() if not np.isnan(mean)}
        assert list(found) == list(expected)
        assert None in expected.values() or found == pytest.approx(expected)


def test_the_suite_averages_the_datasets_in_the_folder(sts_folder):
    assert not [
        key for key in evaluate(Letters(), "sts", sts_folder)["headline"] if "datasets" in key
    ]
    write_sick(sts_folder)
    without = evaluate(Letters(), "sts", sts_folder)
    assert "21 datasets, no Twitter" in without["headline"]
    assert not without["skipped"]
    figures = {name: row for name, row in without["papers"].items() if "datasets" in str(row)}
    assert figures["thesis CHARAGRAM-PHRASE (Table 16)"][
        "21 datasets, no Twitter"
    ] == pytest.approx((22 * 68.7 - 53.6) / 21)
    write_twitter(sts_folder)
    assert "22 datasets" in evaluate(Letters(), "sts", sts_folder)["headline"]


def test_a_damaged_file_is_not_treated_as_missing(sts_folder):
    write_sick(sts_folder)
    path = sts_folder / "sick2014" / "SICK_test_annotated.txt"
    path.write_text(path.read_text().replace("4.0", "four"))
    assert "four" in evaluate(Letters(), "sts", sts_folder)["skipped"]["SICK and Twitter"]
