import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.metrics import windows
from paraphrastic_hf.metrics.costs import SemanticCost
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.utilities import SemanticUtility
from paraphrastic_hf.metrics.windows import LEAST, MOST_TOKENS, TextWindows, match_in_numpy
from paraphrastic_hf.text.ragged import Ragged
from tests.oracles import window_similarity

WAYS = [
    pytest.param(match_in_numpy, id="numpy"),
    pytest.param(
        windows.match,
        id="C",
        marks=pytest.mark.skipif(
            windows.match is match_in_numpy, reason="_windows.c is not compiled"
        ),
    ),
]
BY_WINDOWS = ("windows", "strict-windows")
TEXTS = ["the cat sleeps on the mat", "a dog sleeps", "on the mat the cat sleeps", "", "zebra"]


def some_texts(draw: np.random.Generator, texts: int, dimension: int) -> tuple[np.ndarray, Ragged]:
    """Return rows, the first one zero, and texts of up to 12 tokens, the first one empty."""
    rows = draw.normal(size=(20, dimension)).astype(np.float32) + 0.5
    rows[0] = 0
    lengths = [0, *draw.integers(1, 13, texts - 1)]
    return rows, Ragged.from_lists([draw.integers(0, 20, n).tolist() for n in lengths])


@pytest.mark.parametrize("dimension", [1, 15, 16, 17, 32, 50, 64])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_sim_by_windows_equals_a_slow_loop(way, strict, dimension, monkeypatch):
    monkeypatch.setattr(windows, "match", way)
    rows, texts = some_texts(np.random.default_rng(dimension), 9, dimension)
    every = np.arange(len(texts))
    for reach in (0, 1, 2, 5):
        found = TextWindows(rows, texts, reach=reach, strict=strict).grid(every, every)
        vectors = [rows[texts[each]].tolist() for each in every]
        expected = [[window_similarity(a, b, reach, strict) for b in vectors] for a in vectors]
        np.testing.assert_allclose(found, expected, atol=3e-6)


@pytest.mark.parametrize("similarity", BY_WINDOWS)
def test_windows_of_equal_empty_and_reordered_texts(similarity):
    """Windows depend on word order, sentences do not."""
    scorer = SimileScorer(similarity=similarity)
    assert scorer.score(TEXTS, TEXTS).sim.tolist() == [1, 1, 1, 0, 1]
    assert scorer.score(["", "a cat"], ["a cat", ""]).simile.tolist() == [0, 0]
    turned = TEXTS[:1], TEXTS[2:3]
    by_sentences = SimileScorer(similarity="sentences").score(*turned).sim[0]
    assert by_sentences == pytest.approx(1, abs=1e-6)
    assert scorer.score(*turned).sim[0] < 0.99


def test_one_error_lowers_strict_windows_more():
    """A single window without a match lowers the geometric mean more than the arithmetic mean."""
    rows = np.eye(9, dtype=np.float32)
    texts = Ragged.from_lists([[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 8, 5, 6, 7]])
    plain, strict = (
        TextWindows(rows, texts, reach=0, strict=each).sim(np.array([0]), np.array([1]))[0]
        for each in (False, True)
    )
    assert plain == pytest.approx(6 / 7, abs=1e-6)
    assert strict == pytest.approx(LEAST ** (1 / 7), abs=1e-6)


@pytest.mark.parametrize("similarity", BY_WINDOWS)
def test_sim_by_windows_is_symmetric_and_independent_of_the_batch(similarity):
    scorer = SimileScorer(similarity=similarity)
    other = TEXTS[1:] + TEXTS[:1]
    together = scorer.score(TEXTS * 200, other * 200).sim  # by several threads
    alone = [scorer.score([a], [b]).sim[0] for a, b in zip(TEXTS, other, strict=True)]
    np.testing.assert_array_equal(together, alone * 200)
    np.testing.assert_array_equal(scorer.score(other, TEXTS).sim, alone)


def test_tokens_after_the_limit_are_ignored():
    rows = np.eye(4, dtype=np.float32)
    long = [1, 2] * (MOST_TOKENS // 2)
    texts = TextWindows(rows, Ragged.from_lists([long, [*long, 3, 3], [3, *long]]))
    same, other = texts.sim(np.array([0, 0]), np.array([1, 2]))
    assert same == 1 > other


def test_windows_need_an_averaging_model(transformer):
    assert SimileScorer(transformer).similarity == "sentences"
    for similarity in BY_WINDOWS:
        with pytest.raises(ModelError, match=similarity):
            SimileScorer(transformer, similarity=similarity)
    with pytest.raises(ValueError, match="words"):
        SimileScorer(similarity="words")


def test_a_window_encoder_is_compared_by_its_token_vectors():
    encoder = SentenceEncoder.from_pretrained("english-window")
    assert SimileScorer(encoder).similarity == "sentences"
    rows = encoder.token_vectors()
    assert encoder.table() is None is not rows
    alone = SentenceEncoder.from_table(rows, encoder.tokenizer).with_norm_power(0.5)
    for similarity in BY_WINDOWS:
        found = SimileScorer(encoder, similarity=similarity).score(TEXTS, TEXTS[1:] + TEXTS[:1])
        expected = SimileScorer(alone, similarity=similarity).score(TEXTS, TEXTS[1:] + TEXTS[:1])
        np.testing.assert_allclose(found.sim, expected.sim, atol=1e-5)


def test_the_signature_names_windows(encoder):
    strict = SimileScorer(encoder, similarity="strict-windows").signature()
    assert "|tuned:newstest2015|" in strict
    assert "|sim:strict-windows5|" in strict
    for scorer in (SimileScorer(), SimileScorer(encoder, similarity="windows")):
        assert "|sim:windows5|" in scorer.signature()
    for scorer in (SimileScorer(encoder), SimileScorer(similarity="sentences")):
        assert "|sim:" not in scorer.signature()


@pytest.mark.slow
def test_the_default_model_is_recognized_by_its_content(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "simile")
    assert SimileScorer(tmp_path / "simile").similarity == "sentences"
    assert "tuned" not in SimileScorer(tmp_path / "simile").signature()
    simile = SentenceEncoder.from_pretrained("simile")
    for changed in (simile.with_dimension(64), simile.with_precision("int8")):
        assert "|tuned:newstest2015|" in SimileScorer(changed).signature()
        assert SimileScorer(changed).similarity == "windows"
    simile.model.double()
    assert SimileScorer(simile).similarity == "sentences"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_rows_that_are_not_finite_give_nan(way, number, strict, monkeypatch):
    monkeypatch.setattr(windows, "match", way)
    rows = np.eye(4, dtype=np.float32)
    rows[2, 1] = number
    texts = TextWindows(rows, Ragged.from_lists([[1, 2, 3], [0, 1, 3]]), strict=strict)
    with np.errstate(invalid="ignore"):
        assert np.isnan(texts.sim(np.array([0, 1]), np.array([1, 0]))).all()


@pytest.mark.parametrize("similarity", BY_WINDOWS)
def test_costs_and_utilities_support_windows(similarity):
    scorer = SimileScorer(similarity=similarity)
    lists = [TEXTS[:2], TEXTS[2:4]]
    expected = scorer.score([*lists[0], *lists[1]], [TEXTS[0]] * 2 + [TEXTS[4]] * 2).simile
    costs = SemanticCost(scorer)(lists, [TEXTS[0], TEXTS[4]])
    np.testing.assert_allclose(costs, 1 - expected, atol=1e-9)
    utility = SemanticUtility(scorer)
    table = utility.matrices([TEXTS])[0]
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(table[row], scorer.score([text] * 5, TEXTS).simile, atol=1e-9)
    with pytest.raises(DataError):
        utility.aggregated([TEXTS], [np.full(5, 0.2)])


@pytest.mark.skipif(windows.match is match_in_numpy, reason="_windows.c is not compiled")
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"ids": np.array([0, 9], np.int32)}, ValueError),
        ({"ids": np.array([0, -1], np.int32)}, ValueError),
        ({"ids": np.array([0, 1], np.int64)}, TypeError),
        ({"offsets": np.array([0, 3])}, ValueError),
        ({"offsets": np.array([2, 0])}, ValueError),
        ({"offsets": np.array([], np.int64)}, ValueError),
        ({"own": np.array([1])}, ValueError),
        ({"other": np.array([-1])}, ValueError),
        ({"other": np.array([0, 0])}, ValueError),
        ({"rows": np.zeros(4, np.float32)}, ValueError),
        ({"rows": np.zeros((2, 2))}, TypeError),
        ({"scores": np.zeros(1, np.float32)}, TypeError),
        ({"reach": -1}, ValueError),
    ],
)
def test_inconsistent_arrays_are_refused(change, error):
    given = {
        "rows": np.zeros((2, 2), np.float32), "ids": np.array([0, 1], np.int32),
        "offsets": np.array([0, 2]), "own": np.array([0]), "other": np.array([0]),
        "scores": np.zeros(1), "reach": 2, "most": 9, "shift": 0.2, "least": 0.02,
    }  # fmt: skip
    windows.match(*given.values())
    with pytest.raises(error):
        windows.match(*(given | change).values())
