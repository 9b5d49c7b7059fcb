"""Rounding errors of packed tables, and their averages on the fast path."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.encoders.static import table as table_module
from paraphrastic_hf.encoders.static.engine import StaticEncoder
from paraphrastic_hf.encoders.static.table import Table, mean_rows, rounding_error
from paraphrastic_hf.encoders.storage.packing import packed, shortened, unpacked, width
from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import averaging, row_means
from tests.texts import SENTENCES

needs_c = pytest.mark.skipif(static.WordTable is None, reason="_words.c is not compiled here")
numbers = st.floats(-1e6, 1e6, width=32)
tables = st.integers(1, 9).flatmap(lambda n: arrays(np.float32, (4, n), elements=numbers))


@given(tables)
def test_int8_rounds_by_at_most_half_a_step(table):
    step = np.abs(table).max(1, keepdims=True) / 127
    off = np.abs(unpacked(packed(table, "int8")).astype(np.float64) - table)
    assert (off <= 0.5 * step * 1.001 + 1e-38).all()


@given(tables)
def test_int4_is_at_least_as_exact_as_seven_plain_steps(table):
    """Up to rounding of the step to five binary digits."""
    exact, held = table.astype(np.float64), packed(table, "int4")
    assert (held.shape, width(held)) == ((4, (table.shape[1] + 1) // 2 + 4), table.shape[1])
    step = np.where(exact.any(1, keepdims=True), np.abs(exact).max(1, keepdims=True) / 7, 1)
    plain = np.linalg.norm(np.rint(exact / step) * step - exact, axis=1)
    off = np.linalg.norm(unpacked(held) - exact, axis=1)
    assert (off <= plain * 1.001 + np.linalg.norm(exact, axis=1) / 32 + 1e-38).all()


@given(tables)
def test_packing_again_changes_nothing(table):
    """bfloat16 rounds as in torch, and represents int4 exactly."""
    for precision in ("bfloat16", "int8", "int4"):
        once = unpacked(packed(table, precision))
        np.testing.assert_allclose(unpacked(packed(once, precision)), once, rtol=1e-6, atol=1e-38)
    expected = torch.from_numpy(table).bfloat16().float().numpy()
    np.testing.assert_array_equal(unpacked(packed(table, "bfloat16")), expected)
    held = unpacked(packed(np.where(np.abs(table) < 1e-30, 0, table), "int4"))
    assert shortened(held).dtype == np.uint16


def test_eight_binary_digits_are_shortened_without_loss():
    table = np.array([[0.5, -1.25], [3.0, 0.0]], np.float32)
    assert shortened(table).dtype == np.uint16
    np.testing.assert_array_equal(unpacked(shortened(table)), table)
    exact = table.copy()
    table[1, 1] = 0.3
    assert shortened(table) is table
    assert rounding_error(table, exact) == pytest.approx(0.1)  # (3, 0) stored as (3, 0.3)


def test_deriving_a_table_does_not_change_it():
    rows = np.array([[0.1, 2.0, 0.0], [3.0, -4.0, 5.0]], np.float32)
    table = Table.of(rows.copy())
    with pytest.raises(FrozenInstanceError):
        table.numbers = rows
    for other in (table.with_precision("int8"), table.with_norm_power(2), table.with_dimension(2)):
        other.numbers[:] = 0
    np.testing.assert_array_equal(table.rows(), rows)


def test_a_derived_table_does_not_follow_training(word):
    whole = averaging(word)
    same = [whole.with_dimension(8), whole.with_norm_power(1)]
    before = whole.encode(SENTENCES)
    torch.nn.init.zeros_(whole.model.get_input_embeddings().weight)
    for encoder in same:
        np.testing.assert_array_equal(encoder.encode(SENTENCES), before)


@needs_c
@pytest.mark.parametrize("dimension", [1, 5, 16, 33, 300, 512])
@pytest.mark.parametrize("precision", ["bfloat16", "int8", "int4"])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_fast_path_averages_packed_tables_exactly(dimension, precision, normalize):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(50)]
    tokenizer = WordTokenizer(words)
    lengths = 10.0 ** rng.integers(-3, 4, (tokenizer.vocab_size, 1))
    table = (rng.normal(size=(tokenizer.vocab_size, dimension)) * lengths).astype(np.float32)
    texts = [" ".join(rng.choice(words, n)) for n in (0, 1, 2, 3, 4, 5, 7, 31, 32, 33, 64, 500)]
    held = packed(table, precision)
    assert width(held) == dimension
    found = StaticEncoder(tokenizer).encode(texts, held, normalize_embeddings=normalize)
    exact = StaticEncoder(tokenizer).encode(texts, unpacked(held), normalize_embeddings=normalize)
    largest = np.abs(table).max() if not normalize else 1
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-7 * largest)


@needs_c
def test_precisions_of_the_packaged_model():
    exact = SentenceEncoder.from_pretrained("tiny").with_precision("float32")
    half, bytes_ = exact.with_precision("bfloat16"), exact.with_precision("int8")
    nibbles = exact.with_precision("int4")
    assert (exact.rounding_error, half.rounding_error) == (0, 0)
    assert 0 < bytes_.rounding_error < 0.05
    assert bytes_.name == "tiny-float32-int8"
    vectors = exact.encode(SENTENCES)
    np.testing.assert_array_equal(half.encode(SENTENCES), vectors)
    known = np.abs(vectors).sum(1) > 0
    assert pairwise_cosine(bytes_.encode(SENTENCES), vectors)[known].min() > 0.999
    assert bytes_.dimension == exact.dimension
    held, before = bytes_._weights.table(), exact._weights.table()
    assert held.numbers.nbytes < 0.53 * before.numbers.nbytes  # bfloat16
    assert nibbles._weights.table().numbers.nbytes < 0.28 * before.numbers.nbytes
    np.testing.assert_array_equal(nibbles.table(), exact.table())  # the file is int4


def test_a_prefix_is_a_slice(english):
    small = english.with_dimension(64)
    assert (small.dimension, small.name) == (64, "english-64")
    expected = english.encode(SENTENCES)[:, :64]
    np.testing.assert_allclose(small.encode(SENTENCES), expected, rtol=1e-6, atol=1e-6)
    for wrong in (0, 513, 2.0, True, "2"):
        with pytest.raises((TypeError, ValueError), match=str(wrong)):
            english.with_dimension(wrong)
    with pytest.raises(ValueError, match="int2"):
        english.with_precision("int2")


@needs_c
def test_a_rounded_table_is_not_rounded_again(english, tmp_path):
    small = english.with_dimension(32).with_precision("int8")
    for again in (lambda: small.with_precision("bfloat16"), lambda: small.with_norm_power(0.5)):
        with pytest.raises(ModelError):
            again()
    before = small.encode(SENTENCES)
    small.save_pretrained(tmp_path / "small")
    assert small._weights.table().numbers.dtype == np.int8
    again = SentenceEncoder.from_pretrained(tmp_path / "small")
    np.testing.assert_allclose(again.encode(SENTENCES), before, atol=1e-6)


@pytest.mark.parametrize("precision", ["bfloat16", "int8", "int4"])
def test_large_numbers_stay_finite(precision):
    largest = np.finfo(np.float32).max
    table = np.array([[largest, -largest], [3e38, 1e38]], np.float32)
    held = packed(table, precision)
    assert np.isfinite(unpacked(held)).all()
    assert rounding_error(held, table) < (0.1 if precision == "int4" else 0.005)


@needs_c
@pytest.mark.parametrize("columns", [0, 3, 4])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_a_row_too_short_for_its_scale_is_refused(columns, kind):
    tokenizer = WordTokenizer(["a"])
    table = np.zeros((tokenizer.vocab_size, columns), kind)
    words = static.WordTable(lowercase=True)
    with pytest.raises(ValueError, match=r"wide|column"):
        words.block().mean(["a"], 0, 1, table, np.zeros((1, max(0, columns)), np.float32), False)


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8", "int4"])
@pytest.mark.parametrize("most", [16_384, 1, 5])
def test_means_do_not_depend_on_the_block_size(most, precision, monkeypatch):
    monkeypatch.setattr(table_module, "TOKENS_AT_A_TIME", most)
    random = np.random.default_rng(1)
    table = packed(random.standard_normal((20, 6)).astype(np.float32), precision)
    texts = [random.integers(0, 20, n).tolist() for n in (0, 3, 0, 0, 11, 1, 2, 0, 30, 1, 0)]
    found = mean_rows(Table(table), Ragged.from_lists(texts))
    assert found.dtype == np.float32
    assert mean_rows(Table(table), Ragged.from_lists([])).shape == (0, 6)
    assert mean_rows(Table(table), Ragged.from_lists([[], []])).tolist() == [[0] * 6] * 2
    # a piece is summed in float64, and up to 30 pieces in float32
    np.testing.assert_allclose(found, row_means(unpacked(table), texts), rtol=1e-5, atol=1e-6)
