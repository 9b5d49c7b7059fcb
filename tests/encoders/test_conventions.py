"""sentence-transformers' and scikit-learn's own code works with `SentenceEncoder`."""

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.sentence_transformer.evaluation import (
    BinaryClassificationEvaluator,
    EmbeddingSimilarityEvaluator,
    InformationRetrievalEvaluator,
    ParaphraseMiningEvaluator,
    TripletEvaluator,
)
from sentence_transformers.util import quantize_embeddings
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from transformers import AutoModel

from paraphrastic_hf import SentenceEncoder, mine
from paraphrastic_hf.mining.search import nearest_texts
from tests.made import averaging
from tests.texts import SENTENCES

DOCUMENTS = dict(enumerate(SENTENCES))
QUERIES = {f"q{i}": text[:-3] for i, text in DOCUMENTS.items()}
NAMED = {f"d{i}": text for i, text in DOCUMENTS.items()}
RELEVANT = {f"q{i}": {f"d{i}"} for i in DOCUMENTS}
SCORES = [i / len(SENTENCES) for i in DOCUMENTS]


@pytest.fixture(scope="module")
def theirs(english, tmp_path_factory):
    folder = tmp_path_factory.mktemp("english")
    english.save_pretrained(folder)
    return SentenceTransformer(str(folder), device="cpu")


@pytest.fixture(params=["averages", "n-grams"])
def encoder(request, english, char_ngram):
    """One on the fast path, one in torch."""
    return english if request.param == "averages" else averaging(char_ngram, 16)


EVALUATORS: dict[str, Callable[[], Any]] = {
    "similarity": lambda: EmbeddingSimilarityEvaluator(SENTENCES, SENTENCES[::-1], SCORES),
    "similarity of bytes": lambda: EmbeddingSimilarityEvaluator(
        SENTENCES, SENTENCES[::-1], SCORES, precision="int8", truncate_dim=128
    ),
    "classes": lambda: BinaryClassificationEvaluator(
        SENTENCES * 2, SENTENCES + SENTENCES[::-1], [1] * len(SENTENCES) + [0] * len(SENTENCES)
    ),
    "retrieval": lambda: InformationRetrievalEvaluator(QUERIES, NAMED, RELEVANT, truncate_dim=64),
    "mining": lambda: ParaphraseMiningEvaluator(
        {**QUERIES, **NAMED}, [(f"q{i}", f"d{i}") for i in DOCUMENTS]
    ),
    "triplets": lambda: TripletEvaluator(list(QUERIES.values()), SENTENCES, SENTENCES[::-1]),
}


@pytest.mark.parametrize("kind", EVALUATORS)
def test_evaluators_give_the_scores_of_sentence_transformers(kind, english, theirs):
    ours, expected = (EVALUATORS[kind]()(model) for model in (english, theirs))
    assert set(ours) == set(expected)
    # bytes: rounding may move a number by one step
    tolerance = 1e-3 if "bytes" in kind else 1e-5
    for name, value in expected.items():
        assert ours[name] == pytest.approx(value, abs=tolerance), name
    assert ours in english.model_card_data.metrics.values()


def test_utilities_give_the_results_of_sentence_transformers(english, theirs):
    texts = [*QUERIES.values(), *SENTENCES]
    mined = [util.paraphrase_mining(model, texts) for model in (english, theirs)]
    assert [pair[1:] for pair in mined[0][:20]] == [pair[1:] for pair in mined[1][:20]]
    queries, documents = english.encode(list(QUERIES.values())), english.encode(SENTENCES)
    hits = util.semantic_search(queries, documents, top_k=1)
    highest = english.similarity(queries, documents).max(1)
    np.testing.assert_allclose([hit[0]["score"] for hit in hits], highest, atol=1e-6)
    as_tensors = [english.encode(t, convert_to_tensor=True) for t in (SENTENCES, SENTENCES[:2])]
    assert util.semantic_search(as_tensors[1], as_tensors[0])[1][0]["corpus_id"] == 1


def test_options_have_their_meaning_in_sentence_transformers(encoder):
    plain = encoder.encode(SENTENCES)
    for name in ("encode_query", "encode_document"):
        np.testing.assert_array_equal(getattr(encoder, name)(SENTENCES, batch_size=7), plain)
    cut = encoder.encode(SENTENCES, truncate_dim=5, normalize_embeddings=True)
    assert cut.shape == (len(SENTENCES), 5)
    lengths = np.linalg.norm(plain[:, :5], axis=1, keepdims=True)
    expected = plain[:, :5] / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(cut, expected, atol=1e-6)
    tensor = encoder.encode(SENTENCES, convert_to_tensor=True, device="cpu")
    assert isinstance(tensor, torch.Tensor)
    np.testing.assert_array_equal(tensor.numpy(), plain)
    rows = encoder.encode(SENTENCES, convert_to_numpy=False)
    assert isinstance(rows, list)
    assert torch.equal(rows[3], tensor[3])
    asked = encoder.encode(["cat"], prompt="the ", prompt_name=None)
    np.testing.assert_array_equal(asked, encoder.encode(["the cat"]))
    assert encoder.encode("the cat", convert_to_tensor=True, truncate_dim=3).shape == (3,)
    assert encoder.get_embedding_dimension() == encoder.get_sentence_embedding_dimension()


@pytest.mark.parametrize("precision", ["float32", "int8", "uint8", "binary", "ubinary"])
def test_quantization_equals_sentence_transformers(precision, english):
    texts = SENTENCES * (1 + 100 // len(SENTENCES))  # fewer texts cause a warning
    expected = quantize_embeddings(english.encode(texts), precision=precision)
    np.testing.assert_array_equal(english.encode(texts, precision=precision), expected)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("truncate_dim", 0, ValueError),
        ("truncate_dim", 513, ValueError),
        *(("truncate_dim", value, TypeError) for value in (4.0, "4", True)),
        ("precision", "int4", ValueError),
        ("precision", "int8", ValueError),
        ("prompt_name", "query", ValueError),
        *(("batch_size", value, ValueError) for value in (0, -1, "x", 2.5, None)),
        ("normalize", True, TypeError),
    ],
)
def test_an_invalid_option_is_refused(name, value, error, encoder):
    with pytest.raises(error, match="prompt" if name == "prompt_name" else name):
        encoder.encode(["a cat"], **{name: value})


def test_pairwise_similarity_is_the_diagonal_of_similarity(encoder):
    vectors = encoder.encode(SENTENCES)
    whole = encoder.similarity(SENTENCES, SENTENCES[:4])
    assert whole.shape == (len(SENTENCES), 4)
    tensors = torch.from_numpy(vectors)
    np.testing.assert_allclose(whole, util.cos_sim(vectors, vectors[:4]).numpy(), atol=1e-6)
    for first in (vectors, list(vectors), vectors.tolist(), np.array(SENTENCES), iter(SENTENCES)):
        np.testing.assert_allclose(encoder.similarity(first, SENTENCES[:4]), whole, atol=1e-6)
    for first in (tensors, list(tensors)):
        found = encoder.similarity(first, vectors[:4])
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), whole, atol=1e-6)
    square = encoder.similarity(SENTENCES, SENTENCES)
    rows = encoder.similarity_pairwise(SENTENCES, SENTENCES[::-1])
    np.testing.assert_allclose(rows, np.diag(square[:, ::-1]), atol=1e-6)
    one = encoder.similarity("the cat", SENTENCES[:4])
    assert one.shape == (1, 4)
    np.testing.assert_allclose(encoder.similarity(encoder.encode("the cat"), SENTENCES[:4]), one)
    assert encoder.similarity(SENTENCES, []).shape == (len(SENTENCES), 0)


@pytest.mark.parametrize("wrong", [None, float("nan"), {"a cat"}, [None], [float("nan")], b"a", {}])
def test_encode_and_similarity_refuse_other_types(wrong, encoder):
    for call in (encoder.encode, partial(encoder.similarity, ["a"])):
        with pytest.raises(TypeError):
            call(wrong)


def test_similarity_refuses_inputs_that_do_not_fit(encoder):
    for call, second, key in (
        (encoder.similarity_pairwise, ["a", "b"], "1 and 2"),
        (encoder.similarity, np.ones((1, 3)), "and 3"),
        (encoder.similarity, np.ones((1, 3, 2)), r"\(1, 3, 2\)"),
    ):
        with pytest.raises(ValueError, match=key):
            call(["a"], second)
    with pytest.raises(TypeError):
        SentenceEncoder("english")


def test_cosines_are_at_most_one(encoder):
    """In float32, about every third vector has a product above 1 with itself."""
    vectors = np.random.default_rng(0).normal(size=(500, 300)).astype(np.float32)
    assert np.abs(encoder.similarity(vectors, vectors)).max() == 1
    assert np.abs(encoder.similarity_pairwise(vectors, -vectors)).max() <= 1
    found = nearest_texts(vectors, [([str(i) for i in range(500)], vectors)], 1)
    assert max(matches[0].cosine for matches in found) == 1
    assert mine(vectors, vectors, score="cosine").score.max() == 1


LABELS = [len(text) % 2 for text in SENTENCES]


def test_a_grid_search_tunes_the_encoder(encoder):
    pipeline = Pipeline([("text", encoder), ("classes", LogisticRegression(max_iter=2000))])
    grid = {"text__normalize_embeddings": [True, False], "text__truncate_dim": [4, None]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(SENTENCES, LABELS)
    assert len(search.cv_results_["params"]) == 4
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(SENTENCES), search.predict(SENTENCES))
    best = {f"text__{key}": value for key, value in again.named_steps["text"].get_params().items()}
    assert search.best_params_.items() <= best.items()
    assert "SentenceEncoder" in repr(pipeline)
    assert "SentenceEncoder" in pipeline._repr_html_()


def test_a_clone_shares_the_table_but_not_the_settings(encoder):
    copied = clone(encoder).set_params(truncate_dim=4)
    assert copied.transform(SENTENCES).shape == (len(SENTENCES), 4)
    assert encoder.transform(SENTENCES).shape == (len(SENTENCES), encoder.dimension)
    assert copied._weights is encoder._weights
    assert encoder.get_params()["truncate_dim"] is None
    with pytest.raises(ValueError, match="normalize"):
        encoder.set_params(normalize=True)


def test_repr_names_size_and_languages(english, subword, tmp_path):
    assert repr(english.with_dimension(64)) == (
        "SentenceEncoder('english-64', rows=62000, dimensions=64, languages=['en'])"
    )
    encoder = averaging(subword)
    assert repr(encoder).startswith("SentenceEncoder(None, rows=")
    assert "languages=unknown)" in repr(encoder)
    encoder.save_pretrained(tmp_path)
    deep = "[{path: a, languages: " + "[" * 90 + "]" * 90 + "}]"
    two = "{path: a, languages: [en, fr]}"
    for file, text, languages in (
        ("recipe.yaml", f"data: {{sources: [{two}, {{path: b}}]}}", "['en', 'fr']"),
        ("README.md", "---\nlanguage: de\n---\n", "['de']"),
        ("README.md", "---\nlanguage: [\n---\n", "['en', 'fr']"),
        ("recipe.yaml", "data: {languages: [en], sources: [{path: a}]}", "['en']"),
        ("recipe.yaml", "data: {sources: 5}", "unknown"),
        ("recipe.yaml", "data: {sources: [5, {languages: 5}]}", "unknown"),
        ("recipe.yaml", f"data: {{sources: {deep}}}", "unknown"),
        ("recipe.yaml", "\udcff", "unknown"),
    ):
        (tmp_path / file).write_text(text, errors="surrogateescape")
        assert f"languages={languages})" in repr(SentenceEncoder.from_pretrained(tmp_path))
    first = SentenceEncoder.from_pretrained("multilingual").with_dimension(16)
    first.save_pretrained(tmp_path / "again")
    again = SentenceEncoder.from_pretrained(tmp_path / "again")
    assert repr(again).partition(",")[2] == repr(first).partition(",")[2]
    model = AutoModel.from_pretrained(tmp_path / "again")
    assert model.config.languages[:2] == ["en", "fr"]
