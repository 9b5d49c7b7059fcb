"""Analyses of pairs: fit, errors, negatives, under-training."""

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.analyses.errors import errors, judged
from paraphrastic_hf.analyses.fit import fit, fit_of
from paraphrastic_hf.analyses.negatives import negatives, negatives_of
from paraphrastic_hf.analyses.under_training import PERCENTILE, rare_share, under_training
from paraphrastic_hf.analyses.weighting import token_counts
from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS, ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import Degrees


def test_the_fit_of_two_pairs_by_hand():
    """Sides 0 and 10, 90 and 60: the negative of 0 and 10 is 60, and of 90 and 60 it is 10."""
    found = fit_of(Degrees(), [("0", "10"), ("90", "60")])
    cos = {degree: np.cos(np.radians(degree)) for degree in (10, 30, 50, 60, 80)}
    first = 2 * cos[10] - cos[60] - cos[50]
    second = 2 * cos[30] - cos[80] - cos[50]
    assert found.statistic == pytest.approx((first + second) / 2)
    assert (found.pairs, found.positive) == (2, pytest.approx((cos[10] + cos[30]) / 2))


def test_equal_sentences_are_no_negatives():
    """The first pair's `0` also is a side of the second pair, which leaves only 10."""
    found = fit_of(Degrees(), [("0", "10"), ("0", "90")])
    cos = {degree: np.cos(np.radians(degree)) for degree in (0, 10, 80, 90)}
    negatives = [cos[90], cos[80], cos[10], cos[80]]
    assert found.negative == pytest.approx(np.mean(negatives))


def test_negatives_come_from_the_same_batch():
    pairs = [("0", "10"), ("90", "60"), ("11", "12"), ("170", "180")]
    near, far = fit_of(Degrees(), pairs, batch_size=4), fit_of(Degrees(), pairs, batch_size=2)
    assert near.negative > far.negative
    assert near.positive == pytest.approx(far.positive)


def test_pairs_without_negatives_are_refused():
    for pairs in ([("0", "10")], [("0", "10"), ("10", "0")]):
        with pytest.raises(DataError):
            fit_of(Degrees(), pairs)
    (table,) = fit({"ours": Degrees()}, [("0", "10"), ("90", "60")]).tables
    assert [row[0] for row in table.rows[:2]] == ["ours", "thesis PARAGRAM-PHRASE"]
    assert table.rows[1][-1] == 0.7535


@pytest.mark.parametrize("keep_unknown", [True, False])
def test_unknown_and_rarely_trained_words_are_rare(keep_unknown):
    """Two of six words, `the` and `cat`, are frequent in training."""
    training = ["the cat"] * 3 + ["a dog"]
    tokenizer = WordTokenizer.train(training, vocab_size=10, keep_unknown=keep_unknown)
    counts = token_counts(tokenizer, training)
    share = rare_share(counts, tokenizer, ["the cat saw a", "dog", "zebra"], rarely=3)
    assert share == pytest.approx(100 * 4 / 6)


def test_weak_scores_with_rare_words_correlate_negatively():
    """Each dataset has more untrained words than the one before, and a higher percentile."""
    training = [f"w{i} w{i + 1}" for i in range(40)] * 60
    tokenizer = WordTokenizer.train(training, vocab_size=100)
    table = np.random.default_rng(0).standard_normal((tokenizer.vocab_size, 16))
    encoder = SentenceEncoder.from_table(table.astype(np.float32), tokenizer)
    places = sorted(PERCENTILE, key=PERCENTILE.__getitem__)
    datasets = []
    for rank, (group, name) in enumerate(places):
        first = [f"w{i} {'zebra ' * rank}" for i in range(1, 11)]
        second = [f"w{i if i % 2 else i + 9}" for i in range(1, 11)]
        datasets.append(
            ScoredPairs(name, group, first, second, [5.0 * (i % 2) for i in range(1, 11)])
        )
    analysis = under_training(encoder, token_counts(tokenizer, training), datasets, name="model")
    (row, thesis), rows = analysis.tables[0].rows, analysis.tables[1].rows
    assert row[:2] == ["model", len(PERCENTILE)]
    assert thesis[2] == -45.1
    assert row[2] < -99  # two datasets share a percentile
    assert [each[2] for each in rows] == sorted(each[2] for each in rows)
    for group, name, _, pearson, above in rows:
        assert above == pytest.approx(pearson - PERCENTILE[group, name])


def test_percentiles_cover_the_22_datasets():
    of_sts = {
        (year, name) for year in ("2012", "2013", "2014", "2015") for name in STS_DATASETS[year]
    }
    assert set(PERCENTILE) == of_sts | {("SICK", "test"), ("Twitter", "test")}


ENCODERS = {"one": Degrees(1), "two": Degrees(2)}
SCORED = ScoredPairs("MSRpar", "2012", ["0", "0", "0"], ["0", "90", "60"], [5.0, 0.0, 3.75])


def test_errors_by_hand():
    """Cosines 1, 0, 1/2 are scores 5, 2.5, 3.75. With twice the angle 1, -1, -1/2 are 5, 0,
    1.25."""
    found = judged(ENCODERS.values(), [SCORED])
    assert [pair.second for pair in found] == ["60", "0", "90"]
    assert [pair.lead for pair in found] == [pytest.approx(x, abs=1e-4) for x in (2.5, 0, -2.5)]
    assert [found[0].one, found[0].other] == pytest.approx([3.75, 1.25], abs=1e-4)
    assert found[0].dataset == "2012 MSRpar"


def test_each_list_has_the_pairs_its_model_wins():
    analysis = errors(ENCODERS, [SCORED], count=1)
    summary, first, second = (table.rows for table in analysis.tables)
    assert summary[0][:3] == [3, pytest.approx(2.5 / 3, abs=1e-4), pytest.approx(2.5 / 3, abs=1e-4)]
    assert [row[2] for row in first] == ["60"]
    assert [row[2] for row in second] == ["90"]


def test_errors_need_pairs():
    with pytest.raises(DataError):
        errors(ENCODERS, [])


PAIRS = [("0", "10"), ("90", "100"), ("20", "160"), ("95", "300")]


def test_larger_mega_batches_have_harder_negatives():
    found = negatives_of(Degrees(), PAIRS, sizes=[2, 1], batch_size=2)
    assert [each.text for each in found[1]] == ["90", "90", "10", "10"]
    assert [each.text for each in found[2]] == ["20", "20", "95", "95"]
    assert [each.sentence for each in found[2]] == ["0", "10", "90", "100"]
    assert found[2][1].cosine == pytest.approx(np.cos(np.radians(10)))
    assert found[2][1].partner_cosine == pytest.approx(np.cos(np.radians(10)))


def test_sentences_without_negatives_are_left_out():
    pairs = [("0", "10"), ("0", "10"), ("90", "100"), ("90", "100")]
    found = negatives_of(Degrees(), pairs, sizes=[1, 2], batch_size=2)
    assert found == {1: [], 2: []}
    with pytest.raises(DataError):
        negatives(Degrees(), pairs, name="degrees", sizes=[1, 2], batch_size=2)


def test_remaining_pairs_are_not_used():
    found = negatives_of(Degrees(), [*PAIRS, ("0", "1")], sizes=[1], batch_size=2)
    assert [each.sentence for each in found[1]] == [text for pair in PAIRS for text in pair]


def test_the_analysis_has_cosines_and_examples():
    analysis = negatives(Degrees(), PAIRS, name="degrees", sizes=[1, 2], batch_size=2, count=1)
    sizes, examples = analysis.tables
    assert sizes.rows[1][2] == pytest.approx(np.mean(np.cos(np.radians([20, 10, 5, 5]))))
    assert [row[0] for row in sizes.rows] == [1, 2]
    assert sizes.rows[1][4] == 50  # both sides of the second pair
    assert examples.rows == [["0", "10", "90", "20"]]


@pytest.mark.parametrize(("sizes", "batch_size"), [([], 2), ([0], 2), ([1], 1), ([1, 3], 2)])
def test_invalid_sizes_are_refused(sizes, batch_size):
    with pytest.raises(DataError):
        negatives_of(Degrees(), PAIRS, sizes=sizes, batch_size=batch_size)
