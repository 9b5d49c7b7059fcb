"""Arrow columns give the vectors of `encode`, whatever their layout."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.encoders.vectors import rounded
from paraphrastic_hf.io import arrow
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import random_rows
from tests.texts import HOSTILE, SENTENCES

pa = pytest.importorskip("pyarrow")

READABLE = [text.encode("utf-8", "replace").decode() for text in HOSTILE]
TEXTS = [None, "", *SENTENCES, None, *READABLE]
KINDS = [pa.string(), pa.large_string(), pa.string_view()]
DIMENSION = 19


def chunked(texts: Any) -> Any:
    """Return an array in chunks of uneven length, one of them empty."""
    cuts = [0, 1, 4, 4, len(texts) // 2, len(texts)]
    return pa.chunked_array([texts[a:b] for a, b in pairwise(cuts)])


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda texts: texts,
    "slice": lambda texts: pa.concat_arrays([texts[:3], texts, texts[:2]])[3:-2],
    "chunks": chunked,
    "dictionary": lambda texts: pa.DictionaryArray.from_arrays(
        pa.array([5, *range(len(texts))])[1:], texts
    ),
    "dictionary in chunks": lambda texts: chunked(
        pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int8()), texts)
    ),
}


@pytest.fixture(params=["static", "no extension", "character n-grams"])
def encoder(request, word, char_ngram):
    tokenizer = char_ngram if request.param == "character n-grams" else word
    rows = random_rows(tokenizer, DIMENSION)
    encoder = SentenceEncoder.from_table(rows, tokenizer, num_threads=2)
    if request.param == "no extension":
        encoder._static = None
    return encoder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrow, "TEXTS_AT_A_TIME", 7)
    monkeypatch.setattr(static, "FEW_TEXTS", 3)


def numbers(column: Any) -> np.ndarray:
    """Return a column of lists without nulls, (lists, dim)."""
    return column.values.to_numpy().reshape(len(column), column.type.list_size)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_layout_gives_the_vectors_of_encode(encoder, kind, layout):
    expected = encoder.encode([text or "" for text in TEXTS])
    found = encoder.encode_arrow(LAYOUTS[layout](pa.array(TEXTS, kind)))
    assert found.type == pa.list_(pa.float32(), DIMENSION)
    found.validate(full=True)
    np.testing.assert_array_equal(numbers(found), expected)
    assert found.is_null().to_pylist() == [text is None for text in TEXTS]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("dimension", [None, 1, 6, DIMENSION])
def test_numbers_are_cut_and_rounded_like_those_of_encode(encoder, dtype, dimension):
    expected = rounded(encoder.encode(SENTENCES, truncate_dim=dimension), dtype)
    found = encoder.encode_arrow(pa.array(SENTENCES), dtype=dtype, dimension=dimension)
    np.testing.assert_array_equal(numbers(found), expected)
    assert found.type.value_type == pa.from_numpy_dtype(dtype)


def test_no_texts_give_an_empty_column_and_zeros_keep_their_length(encoder):
    for texts in (pa.array([], pa.string()), pa.chunked_array([], pa.string_view())):
        assert encoder.encode_arrow(texts, dimension=3).type.list_size == 3
        assert encoder.encode(texts).shape == (0, DIMENSION)
    assert encoder.encode_arrow(pa.nulls(9)).null_count == 9
    found = encoder.encode_arrow(pa.array(["the cat", ""]), dimension=4, normalize_embeddings=True)
    # one rounding of each number
    np.testing.assert_allclose(np.linalg.norm(numbers(found), axis=1), [1, 0], atol=1e-6)


@given(st.lists(st.binary(max_size=9), max_size=12))
def test_invalid_utf8_is_read_as_the_replacement_character(raw):
    tokenizer = WordTokenizer(["a", "\ufffd", "0"], keep_unknown=True)
    encoder = SentenceEncoder.from_table(random_rows(tokenizer), tokenizer)
    texts = pa.array(raw, pa.binary())
    strings = pa.Array.from_buffers(pa.string(), len(texts), texts.buffers())
    expected = encoder.encode([text.decode("utf-8", "replace") for text in raw])
    np.testing.assert_array_equal(numbers(encoder.encode_arrow(strings)), expected)
    encoder._static = None
    slow = numbers(encoder.encode_arrow(strings))
    np.testing.assert_allclose(slow, expected, rtol=0, atol=1e-6)  # numbers are below 5


def test_columns_of_other_libraries_are_read(encoder):
    texts = ["the cat", "", "\u732b the", *SENTENCES]
    expected = encoder.encode(texts)
    columns: list[Any] = []
    for name, build in {
        "polars": lambda pl: [pl.Series(texts), pl.Series(texts, dtype=pl.Categorical)],
        "pandas": lambda pd: [pd.Series(texts), pd.Series(texts, dtype="category")],
        "datasets": lambda ds: [ds.Dataset.from_dict({"of": texts})["of"]],
        "nanoarrow": lambda na: [na.Array(texts, na.string()), na.c_array(texts, na.string())],
    }.items():
        try:
            columns += build(__import__(name))
        except ImportError:
            continue
    assert columns
    for column in columns:
        np.testing.assert_array_equal(numbers(encoder.encode_arrow(column)), expected)
        np.testing.assert_array_equal(encoder.encode(column), expected)
        np.testing.assert_array_equal(
            encoder.encode(column, prompt="cat "), encoder.encode(["cat " + t for t in texts])
        )


def test_a_transform_of_datasets_is_applied(encoder):
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"of": ["dog", "dog"]})
    rows.set_transform(lambda batch: {"of": ["the cat"] * len(batch["of"])})
    np.testing.assert_array_equal(encoder.encode(rows["of"]), encoder.encode(["the cat"] * 2))


@pytest.mark.parametrize("dtype", ["object", "python"])
def test_lone_surrogates_of_pandas_are_replaced(encoder, dtype):
    pandas = pytest.importorskip("pandas")
    kind = pandas.StringDtype(dtype) if dtype == "python" else dtype
    series = pandas.Series(["the \ud800 cat", None, "dog"], dtype=kind)
    column = encoder.encode_arrow(series)
    assert column.is_null().to_pylist() == [False, True, False]
    expected = encoder.encode(["the \ud800 cat", "dog"])
    np.testing.assert_array_equal(numbers(column.drop_null()), expected)
    np.testing.assert_array_equal(encoder.encode(series.dropna()), expected)


def test_other_columns_and_options_and_nulls_are_refused(encoder):
    pandas = pytest.importorskip("pandas")
    values, cat = pa.array(["a", None]), pa.array(["the cat"])
    nulls = values, pa.DictionaryArray.from_arrays(pa.array([0, 1]), values)
    others = ["a"], "a", None, pa.array([1]), pa.array([b"a"]), pa.table({"of": ["a"]})
    calls: list[Callable[[], object]] = [
        *(partial(encoder.encode, texts) for texts in nulls),
        *(partial(encoder.encode_arrow, column) for column in (*others, np.array(["a"]))),
        partial(encoder.encode, pandas.Series(["a", 1], dtype=object)),
        partial(encoder.encode_arrow, cat, dimension=2.5),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    for options in ({"dtype": "int4"}, {"dimension": 0}, {"dimension": DIMENSION + 1}):
        with pytest.raises(ValueError, match=str(*options.values())):
            encoder.encode_arrow(cat, **options)


@pytest.mark.parametrize(("dtype", "number"), [("float16", 65_520), ("int8", 3e38)])
def test_numbers_too_large_for_the_output_are_refused(dtype, number):
    rows = np.full((3, 4), number, np.float32)
    encoder = SentenceEncoder.from_table(rows, WordTokenizer(["a"], keep_unknown=True))
    texts = pa.array(["a a a"])  # the sum of three numbers of 3e38 is infinite in float32
    with pytest.raises(ValueError, match="large"):
        encoder.encode_arrow(texts, dtype=dtype)
    encoder._static = None  # sums in float64
    with pytest.raises(ValueError, match="large") if dtype == "float16" else nullcontext():
        encoder.encode_arrow(texts, dtype=dtype)
