import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, evaluate
from paraphrastic_hf.analyses import weighting as w
from paraphrastic_hf.analyses.norms import most_frequent_tags, norms, power_of_ten, word_norms
from paraphrastic_hf.analyses.tagged import TreebankSentence, mean_by, read_tagged
from paraphrastic_hf.corpora.readers.words import read_word_list
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import demo_encoder, word_encoder, write_ewt
from tests.corpora.made_files import put
from tests.evaluation.sts_files import write_sts

NOUNS = {name: (0, 3 + i) for i, name in enumerate(("cat", "dog", "owl", "hen", "cow"))}
WORDS = {**NOUNS, "the": (1, 0), "a": (0, 1), "of": (1, 0), "to": (1, 0), "it": (2, 0)}


def sentences():
    tags = ["NN"] * 5 + ["DT"] * 5
    return [
        TreebankSentence(list(WORDS), tags, []),
        TreebankSentence(["The", "gnu"], ["DT", "NN"], []),
    ]


def test_norms_are_averaged_over_distinct_words():
    counts = {"the": 1000, "of": 999, "cat": 12, "gnu": 11}
    analysis = norms(word_encoder(WORDS), sentences(), counts, name="made")
    tags, frequency, extremes = analysis.tables
    assert tags.rows == [("NN", 5, 5.0), ("DT", 5, pytest.approx(6 / 5))]
    assert frequency.rows == [(1000, 1, 1.0), (100, 1, 1.0), (10, 1, 3.0)]
    assert extremes.rows[0][1] == "cat, the, of"
    assert extremes.rows[1][1] == "of, the, cat"


def test_means_leave_out_unknown_and_rare_words():
    values = np.array([1.0, np.nan, 3.0, 9.0])
    assert mean_by(["A", "A", "A", "B"], values, least=2) == [("A", 2, 2.0)]
    assert mean_by(["B", "A"], np.array([2.0, 2.0])) == [("A", 1, 2.0), ("B", 1, 2.0)]
    assert [power_of_ten(n) for n in (0, 9, 10, 12345)] == ["1", "1", "10", "10000"]
    tagged = [TreebankSentence(["Run", "run", "run"], ["NN", "VB", "VB"], [])]
    assert most_frequent_tags(tagged) == {"run": "VB"}


def test_norms_need_known_words_of_different_norms():
    encoder = word_encoder({"a": (1, 0), "b": (0, 1)})
    with pytest.raises(ModelError):
        word_norms(encoder, ["a", "b"], "made")
    with pytest.raises(DataError):
        word_norms(encoder, ["x", "y", "x"], "made")
    with pytest.raises(DataError):
        norms(encoder, [], {"a": None})


def test_word_lists_have_counts_in_all_lines_or_none(tmp_path):
    put(tmp_path, {"a.txt.xz": "the 9\nnew york\t5\nthe 1\n", "b.txt": "not able\n\nwindows 10\n"})
    assert read_word_list(tmp_path / "a.txt.xz") == {"the": 9, "new york": 5}
    assert read_word_list(tmp_path / "a.txt.xz", 1) == {"the": 9}
    assert read_word_list(tmp_path / "b.txt") == {"not able": None, "windows 10": None}
    put(tmp_path, {"c.txt": "the 9\nof\n", "d.txt": "\n"})
    with pytest.raises(DataError):
        read_word_list(tmp_path / "c.txt")
    with pytest.raises(DataError):
        read_word_list(tmp_path / "d.txt")


def test_tagged_sentences_come_from_all_splits(tmp_path):
    write_ewt(tmp_path, [[("Cats", "NNS", "nsubj"), ("sleep", "VBP", "root")]])
    expected = TreebankSentence(["Cats", "sleep"], ["NNS", "VBP"], ["nsubj", "root"])
    assert read_tagged("ewt", tmp_path) == [expected, expected]
    put(tmp_path, {"treebank/combined/wsj_0001.mrg": "( (NP (NN Fog)) )\n"})
    assert read_tagged("treebank", tmp_path) == [TreebankSentence(["Fog"], ["NN"], [])]
    with pytest.raises(DataError):
        read_tagged("ewt", put(tmp_path / "other", {"ud_english_ewt/README": ""}))


# Weights


def test_scores_equal_those_of_the_scaled_tables(tmp_path):
    data, encoder = write_sts(tmp_path / "eval"), demo_encoder(1)
    table, start = w.trained_table(encoder), demo_encoder(2).table()
    counts = np.random.default_rng(3).integers(0, 9, len(table))
    analysis = w.weighting(encoder, start, counts, data, name="made")
    scores = {row[0]: row[1] for row in analysis.tables[0].rows}
    frequency = np.maximum(counts, 1) / counts.sum()
    tables = {
        w.START: start,
        w.BY_FREQUENCY: start / frequency[:, None],
        w.SCALED: start * np.abs(table).sum(1)[:, None],
        w.EQUAL: table / np.linalg.norm(table, axis=1)[:, None],
        w.TRAINED: table,
    }
    for name, rows in tables.items():
        scaled = SentenceEncoder.from_table(rows.astype(np.float32), encoder.tokenizer)
        expected = evaluate(scaled, "sts", data)["headline"]["2012-2016"]
        assert scores[name] == pytest.approx(expected, abs=1e-4)  # single precision
    share = (scores[w.SCALED] - scores[w.START]) / (scores[w.TRAINED] - scores[w.START])
    assert analysis.tables[0].rows[-1][1] == pytest.approx(100 * share)


def test_a_given_start_fills_the_rows_of_shared_tokens():
    start = word_encoder({"cat": (3, 4), "dog": (0, 5)})
    model = word_encoder({"owl": (1, 1), "dog": (1, 1)})
    rows = w.given_start(w.trained_table(model), model.tokenizer.tokens(), start)
    assert rows[3].tolist() == [0, 5]
    assert rows.shape == (4, 2)
    assert rows[2].any()
    with pytest.raises(ModelError):
        w.given_start(rows, ["<pad>", "<unk>", "x", "y"], start)
    with pytest.raises(ModelError):
        w.given_start(np.ones((4, 3), np.float32), model.tokenizer.tokens(), start)


def test_tokens_are_counted_block_by_block(monkeypatch):
    monkeypatch.setattr(w, "TEXTS_AT_A_TIME", 2)
    tokenizer = WordTokenizer(["cat", "dog"])
    counts = w.token_counts(tokenizer, iter(["cat dog", "cat", "a cat", "", "dog dog"]))
    assert counts.tolist() == [0, 0, 3, 3]
    with pytest.raises(DataError):
        w.token_counts(tokenizer, ["owl"])


def test_weighting_needs_an_averaging_model_and_all_years(tmp_path):
    with pytest.raises(ModelError):
        w.trained_table([], "made")
    encoder = demo_encoder(1)
    (write_sts(tmp_path / "eval") / "sts12" / "STS.gs.MSRpar.txt").unlink()
    with pytest.raises(DataError):
        w.weighting(encoder, encoder.table(), np.ones(300, int), tmp_path / "eval")
