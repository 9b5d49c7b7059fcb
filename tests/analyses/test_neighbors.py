import numpy as np
import pytest

from paraphrastic_hf import (
    AveragingConfig,
    CharagramConfig,
    CharagramModel,
    MixedConfig,
    MixedModel,
    SentenceEncoder,
)
from paraphrastic_hf.analyses.neighbors import neighbors
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.mining.search import nearest_texts
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import column, word_encoder
from tests.evaluation.made_pairs import Lengths

CIRCLE = {"big": (1, 0), "large": (0.9, 0.1), "small": (-1, 0.1), "red": (0, 1)}
WORDS = ["red", "small", "large", "big"]


def found(analysis, model="made"):
    return column(analysis.tables[0], model)


@pytest.mark.parametrize(
    ("queries", "among", "options", "expected"),
    [
        (["big", "Red"], WORDS, {"count": 2}, ["large, red", "large, small"]),
        (["big"], ["big", "Big", "BIG", *WORDS], {"count": 2}, ["large, red"]),
        (["big red"], WORDS, {"count": 3}, ["large, red, big"]),  # encoded as a whole
        (["big"], WORDS, {"most": 2}, ["red, small"]),
    ],
)
def test_neighbors_are_sorted_by_cosine_without_the_query(queries, among, options, expected):
    analysis = neighbors({"made": word_encoder(CIRCLE)}, queries, among=among, **options)
    assert found(analysis) == expected
    if queries[0] == "big" and "count" in options:
        cosine = column(analysis.tables[1], "cosine")[0]
        assert cosine == pytest.approx(0.9 / np.hypot(0.9, 0.1), abs=1e-4)


def test_one_of_two_models_may_not_know_a_word():
    other = word_encoder({**CIRCLE, "huge": (0.95, 0.05)})
    models = {"made": word_encoder(CIRCLE), "other": other}
    analysis = neighbors(models, ["huge"], among=WORDS, count=1)
    assert (found(analysis), found(analysis, "other")) == (["(unknown)"], ["big"])


def test_neighbors_among_rows_of_words_and_ngrams():
    analysis = neighbors({"made": word_encoder(CIRCLE)}, ["big"], count=1)
    assert found(analysis) == ["large"]
    tokenizer = CharNgramTokenizer(ngrams=[" c", "ca", "at", "t "], orders=(2,))
    model = CharagramModel(CharagramConfig(vocab_size=6, hidden_size=2))
    rows = [[9, 9], [9, 9], [1, 0], [0, 1], [0.1, 1], [0.9, 0.1]]
    model.embedding.weight.data.copy_(model.embedding.weight.new_tensor(rows))
    analysis = neighbors({"made": SentenceEncoder(model, tokenizer)}, ["_c", "CA"], count=1)
    assert found(analysis) == ["t_", "at"]


def test_rows_need_an_encoder_with_one_table():
    foreign = {"x": Lengths()}
    analysis = neighbors(foreign, ["abc"], among=["ab", "abcd"], count=1)
    assert found(analysis, "x") == ["abcd"]
    with pytest.raises(ModelError):
        neighbors(foreign, ["abc"])
    tokenizer = MixedTokenizer([WordTokenizer(["a"]), CharNgramTokenizer(ngrams=["abc"])])
    configs = [AveragingConfig(vocab_size=3, hidden_size=2)] * 2
    model = MixedModel(MixedConfig.of(configs, "concatenate"))
    with pytest.raises(ModelError):
        neighbors({"made": SentenceEncoder(model, tokenizer)}, ["a"])


def test_unknown_queries_and_counts_are_refused():
    for queries, options in (
        (["big", "larg"], {}),
        (["zebra"], {"among": WORDS}),
        (["big"], {"among": WORDS, "count": 0}),
    ):
        with pytest.raises(DataError):
            neighbors({"made": word_encoder(CIRCLE)}, queries, **options)


def test_blocks_do_not_change_the_neighbors():
    random = np.random.default_rng(0)
    vectors = random.standard_normal((50, 4)).astype(np.float32)
    vectors[40] = vectors[7]
    texts = [str(i) for i in range(50)]
    whole = nearest_texts(vectors[:9], [(texts, vectors)], 5)
    cut = [(texts[i : i + 3], vectors[i : i + 3]) for i in range(0, 50, 3)]
    blocks = [*cut, ([], vectors[:0])]
    places = [[match.place for match in matches] for matches in whole]
    assert [
        [m.place for m in matches] for matches in nearest_texts(vectors[:9], blocks, 5)
    ] == places
    assert places[7][:2] == [7, 40]


def test_ties_go_to_the_first_texts():
    vectors = np.zeros((20_000, 2), np.float32)
    vectors[:, 1] = 1
    same = [5, 100, 5000, 9000, 16_000]
    vectors[same] = [1, 0]
    (found,) = nearest_texts(np.eye(2)[:1], [(list(map(str, range(20_000))), vectors)], 3)
    assert [match.place for match in found] == same[:3]
    (none,) = nearest_texts(np.zeros((1, 2)), [(list(map(str, range(20_000))), vectors)], 3)
    assert [match.place for match in none] == [0, 1, 2]
