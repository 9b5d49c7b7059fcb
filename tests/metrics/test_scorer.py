"""Scores from strings: by the slow loop, in any order and block, on hostile text."""

from __future__ import annotations

import math
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.metrics import scorer as module
from paraphrastic_hf.metrics.scorer import SimileScorer
from tests.oracles import cosine, mean_of_rows
from tests.texts import SENTENCES

HYPOTHESES = SENTENCES[:10]
LISTS = [SENTENCES[i : i + 1 + i % 4] for i in range(3, 13)]  # 1 to 4 references


def slow_scores(
    encoder: SentenceEncoder, hypothesis: str, references: list[str], power: float
) -> tuple[list[float], list[float]]:
    """SimiLE and SIM with each reference, straight from 7.2.1, after row / |row|^(1 - power)."""
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
def test_several_references_by_the_slow_loop(
    encoder: SentenceEncoder, several: str, join: Any, power: float
) -> None:
    scorer = SimileScorer(encoder.with_norm_power(power), several=several)
    scores = scorer.score(HYPOTHESES, LISTS)
    slow = [slow_scores(encoder, h, rs, power) for h, rs in zip(HYPOTHESES, LISTS, strict=True)]
    # encode's vectors are in single precision
    np.testing.assert_allclose(scores.simile, [join(values) for values, _ in slow], atol=1e-6)
    np.testing.assert_allclose(scores.sim, [join(values) for _, values in slow], atol=1e-6)
    assert scores.score == pytest.approx(np.mean(scores.simile), abs=1e-15)
    assert scores.sim_score == pytest.approx(np.mean(scores.sim), abs=1e-15)


def test_sim_is_the_cosine_of_the_two_embeddings(encoder: SentenceEncoder) -> None:
    references = SENTENCES[10 : 10 + len(HYPOTHESES)]
    scores = SimileScorer(encoder).score(HYPOTHESES, references)
    np.testing.assert_allclose(
        scores.sim, encoder.similarity_pairwise(HYPOTHESES, references), atol=1e-6
    )


def test_the_default_model_is_english_with_even_rows() -> None:
    scorer = SimileScorer(similarity="sentences")
    english = SentenceEncoder.from_pretrained("english")
    even = english.with_norm_power(0.5)
    expected = even.similarity_pairwise(["the cat sleeps"], ["a cat is asleep"])
    scores = scorer.score(["the cat sleeps"], ["a cat is asleep"])
    np.testing.assert_allclose(scores.sim, expected, atol=1e-6)
    assert "|model:simile|tuned:newstest2015|" in scores.signature
    assert "tuned" not in SimileScorer(english).signature()
    assert scores.sim[0] != pytest.approx(
        english.similarity(["the cat sleeps"], ["a cat is asleep"])[0, 0]
    )


def test_one_reference_in_a_list_is_one_reference(encoder: SentenceEncoder) -> None:
    scorer = SimileScorer(encoder)
    plain = scorer.score(HYPOTHESES, SENTENCES[10:20])
    listed = scorer.score(HYPOTHESES, [[text] for text in SENTENCES[10:20]])
    np.testing.assert_array_equal(plain.simile, listed.simile)
    assert plain.signature == listed.signature


def test_lists_tuples_arrays_and_generators_are_scored_alike(encoder: SentenceEncoder) -> None:
    scorer = SimileScorer(encoder)
    expected = scorer.score(HYPOTHESES, SENTENCES[10:20]).simile
    for kind in (tuple, np.array, iter):
        np.testing.assert_array_equal(
            scorer.score(kind(HYPOTHESES), kind(SENTENCES[10:20])).simile, expected
        )
    pairs = np.array([[text, text] for text in SENTENCES[10:20]])
    np.testing.assert_array_equal(scorer.score(HYPOTHESES, pairs).simile, expected)


@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("several", ["best", "mean"])
def test_blocks_do_not_change_the_scores(
    encoder: SentenceEncoder, monkeypatch: pytest.MonkeyPatch, several: str, size: int
) -> None:
    """A block of 3 cuts the four references of one hypothesis in two."""
    scorer = SimileScorer(encoder, several=several)
    whole = scorer.score(HYPOTHESES, LISTS)
    monkeypatch.setattr(module, "SEGMENTS_AT_A_TIME", size)
    parts = scorer.score(HYPOTHESES, LISTS)
    np.testing.assert_array_equal(parts.simile, whole.simile)
    np.testing.assert_array_equal(parts.sim, whole.sim)


def test_the_corpus_score_does_not_depend_on_the_order(encoder: SentenceEncoder) -> None:
    scorer = SimileScorer(encoder)
    pairs = [(a, b) for a in SENTENCES for b in SENTENCES]
    scores = [scorer.score(*zip(*pairs, strict=True))]
    random.Random(1).shuffle(pairs)
    scores.append(scorer.score(*zip(*pairs, strict=True)))
    assert scores[0].score == scores[1].score
    assert scores[0].sim_score == scores[1].sim_score


def test_the_same_text_has_the_score_1_and_the_empty_text_0(encoder: SentenceEncoder) -> None:
    scores = SimileScorer(encoder).score(
        ["the cat sleeps", "", "the cat sleeps", "", "☃"], ["the cat sleeps", "a", "", "", "☃"]
    )
    np.testing.assert_allclose(scores.simile, [1, 0, 0, 0, 0], atol=1e-15)
    assert scores.simile[0] <= 1


@pytest.mark.parametrize("penalty", ["both", "brevity", "excess", "none"])
@pytest.mark.parametrize("length", ["tokens", "characters"])
def test_hostile_text_has_a_finite_score(
    encoder: SentenceEncoder, penalty: str, length: str
) -> None:
    hostile = ["", "\ud800 cat", "a\udfff", "\0", "a\0b", "\u2028", "\n", "cat " * 30_000]
    scores = SimileScorer(encoder, penalty=penalty, length=length).score(
        [*hostile, *hostile], [*hostile, *reversed(hostile)]
    )
    assert np.isfinite(scores.simile).all()
    assert (np.abs(scores.simile) <= np.abs(scores.sim)).all()


def test_a_line_of_a_megabyte_is_scored(encoder: SentenceEncoder) -> None:
    long = "the cat sleeps " * 70_000
    scores = SimileScorer(encoder).score([long, long], ["the cat sleeps", long])
    np.testing.assert_allclose(scores.sim, 1, atol=1e-5)  # of 200,000 added rows
    assert scores.simile[0] == pytest.approx(0, abs=1e-300)


def test_lowercasing_is_that_of_the_texts(word: Any) -> None:
    """A model that keeps case sees `CAT` and `cat` as two words; with `lowercase` as one."""
    from paraphrastic_hf.text.word import WordTokenizer
    from tests.metrics.conftest import averaging

    tokenizer = WordTokenizer.train(["the CAT the cat"] * 3, vocab_size=10, lowercase=False)
    encoder = averaging(tokenizer)
    assert SimileScorer(encoder).score(["CAT"], ["cat"]).score < 0.99
    scores = SimileScorer(encoder, lowercase=True).score(["CAT"], ["cat"])
    assert scores.score == pytest.approx(1)
    assert "|case:lower|" in scores.signature


BAD = {
    "hypotheses[1] must be a string, got NoneType": (["a", None], ["a", "b"]),
    "hypotheses[0] must be a string, got bytes": ([b"a"], ["a"]),
    "hypotheses[2] must be a string, got int": (["a", "b", 3], ["a", "b", "c"]),
    "hypotheses[0] must be a string, got list": ([["a"]], ["a"]),
    "references[1] must be a string, got NoneType": (["a", "b"], ["a", None]),
    "references[0] must be a string, got float": (["a"], [math.nan]),
    "references[1][0] must be a string, got bytes": (["a", "b"], [["a"], [b"b"]]),
    "references[0][1] must be a string, got NoneType": (["a"], [["a", None]]),
    "references[1] is a list but references[0] is a string": (["a", "b"], ["a", ["b"]]),
    "references[1] is a string but references[0] is a list": (["a", "b"], [["a"], "b"]),
    "references[1] is an empty list": (["a", "b"], [["a"], []]),
    "equally many, got 1 and 2": (["a"], ["a", "b"]),
    "equally many, got 2 and 1": (["a", "b"], [["a", "b"]]),
    "no hypotheses were given": ([], []),
    "hypotheses must be a list of texts, got str": ("a", ["a"]),
    "references must be a list of texts, got str": (["a"], "a"),
    "references must be a list of texts, got NoneType": (["a"], None),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_segments_are_named(encoder: SentenceEncoder, message: str) -> None:
    with pytest.raises(DataError) as error:
        SimileScorer(encoder).score(*BAD[message])
    assert message in str(error.value)


@pytest.mark.parametrize("bad", [5, 0.5])
def test_a_number_for_the_texts_is_named(encoder: SentenceEncoder, bad: float) -> None:
    with pytest.raises(DataError, match="references must be a list of texts"):
        SimileScorer(encoder).score(["a"], bad)


def test_columns_by_name_are_refused(encoder: SentenceEncoder) -> None:
    with pytest.raises(DataError, match="hypotheses must be a list of texts"):
        SimileScorer(encoder).score({"text": ["a"]}, {"text": ["a"]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "long"}, "penalty must be one of both, brevity, excess, none, got 'long'"),
        ({"several": "worst"}, "several must be one of best, mean, got 'worst'"),
        ({"length": "words"}, "length must be one of tokens, characters, got 'words'"),
        ({"alpha": -1}, "alpha must be 0 or more, got -1"),
        ({"alpha": math.nan}, "alpha must be 0 or more, got nan"),
    ],
)
def test_options_that_do_not_exist_are_refused(
    encoder: SentenceEncoder, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        SimileScorer(encoder, **options)


@pytest.mark.parametrize("model", ["simile", "english"])
def test_a_name_that_is_no_option_is_refused(model: str) -> None:
    with pytest.raises(TypeError, match="alfa"):
        SimileScorer(model, alfa=0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("load", "name", "meant"),
    [
        (SimileScorer, "modle", "model"),
        (SentenceEncoder.from_pretrained, "latnet", "latent"),
        (SentenceEncoder.from_pretrained, "revison", "revision"),
        (load_encoder, "devise", "device"),
    ],
)
def test_a_mistyped_keyword_of_a_loader_suggests_its_own_and_those_of_the_hub(
    load: Any, name: str, meant: str
) -> None:
    with pytest.raises(TypeError, match=f"'{name}'.*'{meant}'"):
        load(**{name: "x"})


def test_an_unknown_unit_is_refused_without_a_penalty_too(encoder: SentenceEncoder) -> None:
    with pytest.raises(ValueError, match="length must be one of"):
        SimileScorer(encoder, length="words", penalty="none")


def test_a_sentence_transformers_model_scores_as_ours_of_the_same_table(
    stock: SentenceTransformer, encoder: SentenceEncoder
) -> None:
    import torch

    with torch.no_grad():
        stock[0].embedding.weight.copy_(encoder.model.get_input_embeddings().weight)
    scorers = [SimileScorer(model) for model in (encoder, stock)]
    ours, theirs = (scorer.score(HYPOTHESES, LISTS) for scorer in scorers)
    # means of float32 rows, added in another order
    np.testing.assert_allclose(theirs.simile, ours.simile, rtol=0, atol=1e-6)


def test_a_transformer_is_scored_by_its_folder(
    transformer_folder: Path, transformer: SentenceTransformer
) -> None:
    scores = SimileScorer(transformer_folder).score(["the cat sleeps"], ["a cat sleeps a"])
    vectors = transformer.encode(["the cat sleeps", "a cat sleeps a"])
    expected = cosine(*vectors.tolist()) * math.exp(1 - 4 / 3) ** 0.25
    assert scores.score == pytest.approx(expected, abs=1e-6)


class Letters:
    """An encoder with nothing but `encode`."""

    def encode(self, texts: list[str]) -> np.ndarray:
        return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], float)


def test_an_object_with_encode_alone_is_scored_without_a_penalty() -> None:
    scores = SimileScorer(Letters(), penalty="none").score(["ab", "abc"], ["a", "abc"])
    np.testing.assert_allclose(scores.simile, [math.sqrt(0.5), 1])
    assert "model:Letters" in scores.signature
    assert "alpha" not in scores.signature
    with pytest.raises(ModelError, match="Letters has no tokenizer"):
        SimileScorer(Letters())


def test_an_encoder_that_returns_nonsense_is_named() -> None:
    class Bad(Letters):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts)[:-1]

    with pytest.raises(ModelError, match="one vector a text"):
        SimileScorer(Bad(), penalty="none").score(["a"], ["b"])


def test_a_model_directory_without_tokenizer_is_named(saved: Path) -> None:
    for name in ("spiece.model", "tokenizer.json", "tokenizer_config.json"):
        (saved / name).unlink()
    with pytest.raises(ModelError, match="saved"):
        SimileScorer(saved)


def test_a_name_that_is_nowhere_is_named(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    with pytest.raises(ModelError, match="absent is no model directory"):
        SimileScorer(tmp_path / "absent")


def test_plain_numbers_hold_the_segments_when_asked(encoder: SentenceEncoder) -> None:
    scores = SimileScorer(encoder).score(HYPOTHESES, LISTS)
    assert scores.to_dict() == {
        "simile": scores.score,
        "sim": scores.sim_score,
        "signature": scores.signature,
    }
    values = scores.to_dict(segments=True)
    assert values["simile_scores"] == scores.simile.tolist()
    assert values["sim_scores"] == scores.sim.tolist()


def test_vectors_that_are_not_finite_are_refused(encoder: SentenceEncoder) -> None:
    import torch

    weights = encoder.model.get_input_embeddings().weight
    with torch.no_grad():
        weights[2:] = float("nan")
    with pytest.raises(ModelError, match="NaN or infinity"):
        SimileScorer(encoder).score(["the cat"], ["a cat"])
