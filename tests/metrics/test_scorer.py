import math
import re
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.metrics import scorer as module
from paraphrastic_hf.metrics.scorer import SimileScorer, length_counter
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.word import WordTokenizer
from tests.evaluation.made_pairs import Letters
from tests.made import averaging
from tests.oracles import cosine, mean_of_rows
from tests.texts import SENTENCES

HYPOTHESES = SENTENCES[:10]
LISTS = [SENTENCES[i : i + 1 + i % 4] for i in range(3, 13)]  # 1 to 4 references


def slow_scores(
    encoder: SentenceEncoder, hypothesis: str, references: list[str], power: float
) -> tuple[list[float], list[float]]:
    """Return SimiLE and SIM with each reference by 7.2.1, for rows scaled to the norm
    |row|^power."""
    table = encoder.model.get_input_embeddings().weight.tolist()
    table = [[x * (math.hypot(*row) or 1) ** (power - 1) for x in row] for row in table]
    ids = encoder.tokenizer.encode_batch([hypothesis, *references])
    ours = mean_of_rows(table, ids[0])
    similes, sims = [], []
    for i in range(1, len(ids)):
        sims.append(cosine(ours, mean_of_rows(table, ids[i])))
        shorter, longer = sorted((len(ids[0]), len(ids[i])))
        similes.append(math.exp(1 - longer / shorter) ** 0.25 * sims[-1])
    return similes, sims


@pytest.mark.parametrize(("several", "join"), [("best", max), ("mean", np.mean)])
@pytest.mark.parametrize("power", [0.5, 1])
def test_several_references_equal_a_slow_loop(encoder, several, join, power):
    scorer = SimileScorer(encoder.with_norm_power(power), several=several)
    scores = scorer.score(HYPOTHESES, LISTS)
    slow = [slow_scores(encoder, h, rs, power) for h, rs in zip(HYPOTHESES, LISTS, strict=True)]
    # `encode` computes in single precision.
    np.testing.assert_allclose(scores.simile, [join(values) for values, _ in slow], atol=1e-6)
    np.testing.assert_allclose(scores.sim, [join(values) for _, values in slow], atol=1e-6)
    assert scores.score == pytest.approx(np.mean(scores.simile), abs=1e-15)
    assert scores.sim_score == pytest.approx(np.mean(scores.sim), abs=1e-15)


def test_the_default_model_is_english_with_more_even_norms(english):
    pair = ["the cat sleeps"], ["a cat is asleep"]
    scores = SimileScorer(similarity="sentences").score(*pair)
    expected = english.with_norm_power(0.5).similarity_pairwise(*pair)
    np.testing.assert_allclose(scores.sim, expected, atol=1e-6)
    assert "|model:simile|tuned:newstest2015|" in scores.signature
    assert "tuned" not in SimileScorer(english).signature()
    assert scores.sim[0] != pytest.approx(english.similarity(*pair)[0, 0])


def test_sequences_of_any_type_have_equal_scores(encoder):
    scorer, references = SimileScorer(encoder), SENTENCES[10:20]
    plain = scorer.score(HYPOTHESES, references)
    listed = scorer.score(HYPOTHESES, [[text] for text in references])
    assert plain.signature == listed.signature
    pairs = scorer.score(HYPOTHESES, np.array([[text, text] for text in references]))
    others = [scorer.score(kind(HYPOTHESES), kind(references)) for kind in (tuple, np.array, iter)]
    for each in (listed, pairs, *others):
        np.testing.assert_array_equal(each.simile, plain.simile)


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("several", ["best", "mean"])
def test_blocks_do_not_change_the_scores(encoder, monkeypatch, several, size):
    """A block of 3 splits the four references of one hypothesis."""
    scorer = SimileScorer(encoder, several=several)
    whole = scorer.score(HYPOTHESES, LISTS)
    monkeypatch.setattr(module, "SEGMENTS_AT_A_TIME", size)
    parts = scorer.score(HYPOTHESES, LISTS)
    np.testing.assert_array_equal(parts.simile, whole.simile)
    np.testing.assert_array_equal(parts.sim, whole.sim)


def test_equal_texts_score_1_and_empty_ones_0(encoder):
    scores = SimileScorer(encoder).score(
        ["the cat sleeps", "", "the cat sleeps", "", "☃"], ["the cat sleeps", "a", "", "", "☃"]
    )
    np.testing.assert_allclose(scores.simile, [1, 0, 0, 0, 0], atol=1e-15)
    assert scores.simile[0] <= 1


@pytest.mark.parametrize("penalty", ["both", "brevity", "excess", "none"])
@pytest.mark.parametrize("length", ["tokens", "characters"])
def test_hostile_text_has_a_finite_score(encoder, penalty, length):
    hostile = ["", "\ud800 cat", "a\udfff", "\0", "a\0b", "\u2028", "\n", "cat " * 30_000]
    scores = SimileScorer(encoder, penalty=penalty, length=length).score(
        [*hostile, *hostile], [*hostile, *reversed(hostile)]
    )
    assert np.isfinite(scores.simile).all()
    assert (np.abs(scores.simile) <= np.abs(scores.sim)).all()


def test_lowercase_applies_to_the_texts():
    tokenizer = WordTokenizer.train(["the CAT the cat"] * 3, vocab_size=10, lowercase=False)
    encoder = averaging(tokenizer)
    assert SimileScorer(encoder).score(["CAT"], ["cat"]).score < 0.99
    scores = SimileScorer(encoder, lowercase=True).score(["CAT"], ["cat"])
    assert scores.score == pytest.approx(1)
    assert "|case:lower|" in scores.signature


BAD: list[tuple[str, Any, Any]] = [
    ("hypotheses[1]", ["a", None], ["a", "b"]),
    ("hypotheses[0]", [["a"]], ["a"]),
    ("references[1]", ["a", "b"], ["a", None]),
    ("references[1][0]", ["a", "b"], [["a"], [b"b"]]),
    ("references[1]", ["a", "b"], ["a", ["b"]]),
    ("references[1]", ["a", "b"], [["a"], "b"]),
    ("references[1]", ["a", "b"], [["a"], []]),
    ("1 and 2", ["a"], ["a", "b"]),
    ("2 and 1", ["a", "b"], [["a", "b"]]),
    ("hypotheses", [], []),
    ("hypotheses", "a", ["a"]),
    ("hypotheses", {"text": ["a"]}, {"text": ["a"]}),
    ("references", ["a"], "a"),
    ("references", ["a"], None),
]


@pytest.mark.parametrize(("named", "hypotheses", "references"), BAD)
def test_bad_segments_are_named(encoder, named, hypotheses, references):
    with pytest.raises(DataError, match=re.escape(named)):
        SimileScorer(encoder).score(hypotheses, references)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "long"}, "long"),
        ({"length": "words", "penalty": "none"}, "length"),
        ({"alfa": 0}, "alfa"),
        ({"several": "worst"}, "worst"),
        ({"length": "words"}, "words"),
        ({"alpha": -1}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
    ],
)
def test_invalid_options_are_refused(encoder, options, message):
    with pytest.raises(TypeError if "alfa" in options else ValueError, match=message):
        SimileScorer(encoder, **options)


def test_a_stock_model_with_the_same_table_has_equal_scores(stock, encoder):
    with torch.no_grad():
        stock[0].embedding.weight.copy_(encoder.model.get_input_embeddings().weight)
    scorers = [SimileScorer(model) for model in (encoder, stock)]
    ours, theirs = (scorer.score(HYPOTHESES, LISTS) for scorer in scorers)
    # float32 rows are added in another order.
    np.testing.assert_allclose(theirs.simile, ours.simile, rtol=0, atol=1e-6)


def test_a_transformer_loads_from_its_folder(transformer_folder, transformer):
    scores = SimileScorer(transformer_folder).score(["the cat sleeps"], ["a cat sleeps a"])
    vectors = transformer.encode(["the cat sleeps", "a cat sleeps a"])
    expected = cosine(*vectors.tolist()) * math.exp(1 - 4 / 3) ** 0.25
    assert scores.score == pytest.approx(expected, abs=1e-6)


def test_an_object_with_only_encode_needs_penalty_none():
    scores = SimileScorer(Letters(), penalty="none").score(["ab", "abc"], ["a", "abc"])
    np.testing.assert_allclose(scores.simile, [math.sqrt(0.5), 1])
    assert "model:Letters" in scores.signature
    assert "alpha" not in scores.signature
    with pytest.raises(ModelError):
        SimileScorer(Letters())


def test_invalid_vectors_are_refused(encoder):
    class Bad(Letters):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts)[:-1]

    encoder.model.get_input_embeddings().weight.data[2:] = math.nan
    for model in (Bad(), encoder):
        with pytest.raises(ModelError):
            SimileScorer(model, penalty="none").score(["the cat"], ["a cat"])


TEXTS = [*SENTENCES, "", " ", "\0", "zzz ☃☃ qqq", "<unk> <pad>", "a"]


@pytest.mark.parametrize("kind", ["subword", "word", "char_ngram"])
def test_lengths_equal_a_slow_loop(kind, request):
    tokenizer: Any = request.getfixturevalue(kind)
    names = tokenizer.tokens()
    pieces = [[names[i] for i in tokenizer.encode_batch([text])[0]] for text in TEXTS]
    encoder = averaging(tokenizer)
    assert length_counter(encoder)(TEXTS).tolist() == [len(row) for row in pieces]
    characters = length_counter(encoder, "characters")(TEXTS)
    assert characters.tolist() == [len(" ".join(row)) for row in pieces]


def test_characters_are_counted_like_the_2019_release(saved, encoder):
    """Its evaluate.py takes `len` of sentencepiece's pieces joined by spaces."""
    released = sentencepiece.SentencePieceProcessor(str(saved / "spiece.model"))
    counts = [len(" ".join(released.EncodeAsPieces(normalize(text)))) for text in SENTENCES]
    assert length_counter(encoder, "characters")(SENTENCES).tolist() == counts


def test_stock_static_embeddings_have_equal_lengths(stock, encoder):
    texts = [text for text in TEXTS if "☃" not in text and "\0" not in text]
    for unit in ("tokens", "characters"):
        assert length_counter(encoder, unit)([]).shape == length_counter(stock, unit)([]).shape
        own, other = (length_counter(model, unit)(texts) for model in (encoder, stock))
        np.testing.assert_array_equal(own, other)


def test_transformer_lengths_ignore_special_tokens_padding_and_truncation(transformer):
    """`encode` sets padding and truncation, to 64 tokens, on the tokenizer."""
    texts = ["the cat sleeps", "dog", "", "the cat " * 50]
    for _ in range(2):
        assert length_counter(transformer)(texts).tolist() == [3, 1, 0, 100]
        assert length_counter(transformer, "characters")(texts[:3]).tolist() == [14, 3, 0]
        transformer.encode(texts)
