"""`SentenceEncoder` with and without the fast path."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.errors import ModelError
from tests.made import averaging, row_means
from tests.texts import HOSTILE, SENTENCES

TEXTS = [*SENTENCES, *HOSTILE, "", "\ud800 the cat", "the " * 50]
needs_compiled = pytest.mark.skipif(static.WordTable is None, reason="_words.c is not compiled")


@pytest.fixture(params=["subword", "word"])
def directory(request, tmp_path):
    averaging(request.getfixturevalue(request.param)).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(params=[pytest.param(True, marks=needs_compiled), False], ids=["C", "no C"])
def compiled(request, monkeypatch):
    """Run a test with and without the compiled module."""
    if not request.param:
        monkeypatch.setattr(static, "WordTable", None)


def table_in(directory: Path) -> torch.Tensor:
    return load_file(directory / "model.safetensors")["embedding.weight"]


def write_table(directory: Path, table: torch.Tensor) -> None:
    path = directory / "model.safetensors"
    save_file({"embedding.weight": table.contiguous()}, path, metadata={"format": "pt"})


def by_hand(encoder: SentenceEncoder, table: torch.Tensor, texts: list[str]) -> np.ndarray:
    return row_means(table, encoder.tokenizer.encode_batch(texts))


FRESH = """
import json, sys
import numpy as np
from paraphrastic_hf import SentenceEncoder
encoder = SentenceEncoder.from_pretrained(sys.argv[1])
vectors = encoder.encode(json.loads(sys.argv[2]), normalize_embeddings=True)
print(json.dumps([sorted({name.split(".")[0] for name in sys.modules}), vectors.tolist()]))
"""


@needs_compiled
def test_a_fresh_process_encodes_without_torch_or_transformers(directory):
    command = [sys.executable, "-c", FRESH, str(directory), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    modules, vectors = json.loads(done.stdout)
    assert not {"torch", "transformers", "datasets", "scipy", "pandas"} & set(modules)
    encoder = SentenceEncoder.from_pretrained(directory)
    np.testing.assert_allclose(encoder.encode(TEXTS, normalize_embeddings=True), vectors, atol=1e-7)


def test_vectors_are_means_of_table_rows(compiled, directory):
    encoder = SentenceEncoder.from_pretrained(directory)
    expected = by_hand(encoder, table_in(directory), TEXTS)
    # 1e-6 is documented; numbers are below 5
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, rtol=0, atol=1e-6)
    assert encoder.dimension == 8


def test_loading_saving_and_pickling_keep_the_vectors(compiled, directory, tmp_path):
    encoder = SentenceEncoder.from_pretrained(directory)
    expected = encoder.encode(TEXTS)
    again = pickle.loads(pickle.dumps(encoder))
    again.save_pretrained(tmp_path / "again")
    assert isinstance(encoder.model, AveragingModel)
    read = SentenceEncoder.from_pretrained(tmp_path / "again")
    for each in (encoder, again, read, SentenceEncoder(encoder.model, encoder.tokenizer)):
        np.testing.assert_array_equal(each.encode(TEXTS), expected)
        assert each.dimension == 8


def test_training_the_model_changes_the_vectors_at_once(compiled, directory):
    encoder = SentenceEncoder.from_pretrained(directory)
    before = encoder.encode(TEXTS)
    model = encoder.model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    ids = torch.arange(2, 40)[None]
    model(ids, torch.ones_like(ids)).sentence_embedding.sum().backward()
    optimizer.step()
    after = encoder.encode(TEXTS)
    assert not np.allclose(after, before)
    weight = model.get_input_embeddings().weight
    expected = by_hand(encoder, weight.detach(), TEXTS)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-6)
    with torch.no_grad():
        weight.zero_()
    assert not encoder.encode(TEXTS).any()
    model.embedding = torch.nn.Embedding.from_pretrained(torch.ones_like(weight))
    np.testing.assert_allclose(encoder.encode(["the cat"]), np.ones((1, 8)), atol=1e-6)
    assert model.training


DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])


@DTYPES
def test_a_model_of_another_dtype_takes_the_slow_path(dtype, compiled, directory):
    encoder = SentenceEncoder.from_pretrained(directory)
    expected = encoder.encode(SENTENCES)
    encoder.model.to(dtype)
    vectors = encoder.encode(SENTENCES)
    assert vectors.dtype == np.float32
    # sums of some twenty numbers below 4 with 8 (bfloat16) or 11 (float16) bits
    tolerance = {torch.float64: 1e-6, torch.float16: 1e-2, torch.bfloat16: 1e-1}[dtype]
    np.testing.assert_allclose(vectors, expected, atol=tolerance)


@DTYPES
def test_stored_rows_of_another_dtype_are_read_as_float32(dtype, compiled, directory):
    table = table_in(directory).to(dtype)
    write_table(directory, table)
    vectors = SentenceEncoder.from_pretrained(directory).encode(SENTENCES)
    write_table(directory, table.float())
    expected = SentenceEncoder.from_pretrained(directory).encode(SENTENCES)
    np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("damage", ["nan", "inf -inf"])
def test_rows_that_are_not_finite_are_named(damage, dtype, compiled, directory):
    table = table_in(directory)
    for i, value in enumerate(map(float, damage.split())):
        table[7 + 3 * i, 2] = value
    write_table(directory, table.to(dtype))
    with pytest.raises(ModelError, match="Row 7"):
        SentenceEncoder.from_pretrained(directory)


def test_a_table_of_another_size_is_a_model_error(compiled, directory):
    table, path = table_in(directory), directory / "config.json"
    config = json.loads(path.read_text())
    for wrong in (table[:-1], table[:, :-1], table.flatten(), torch.cat([table, table])):
        write_table(directory, wrong)
        with pytest.raises(ModelError):
            SentenceEncoder.from_pretrained(directory)
    write_table(directory, table[:-1])
    path.write_text(json.dumps(config | {"vocab_size": len(table) - 1}))
    with pytest.raises(ModelError):  # the tokenizer has more entries
        SentenceEncoder.from_pretrained(directory)


def test_options_work_equally_with_and_without_the_compiled_module(directory, monkeypatch, capsys):
    fast = SentenceEncoder.from_pretrained(directory)
    monkeypatch.setattr(static, "WordTable", None)
    slow = SentenceEncoder.from_pretrained(directory)
    options = {"normalize_embeddings": True, "batch_size": 3, "show_progress_bar": True}
    for name, value in (*options.items(), ("apart", True)):
        vectors, expected = (each.encode(TEXTS, **{name: value}) for each in (fast, slow))
        assert vectors.dtype == expected.dtype
        np.testing.assert_allclose(vectors, expected, atol=3e-6)  # the model sums in float32
    assert "100%" in capsys.readouterr().err
    assert fast.encode("the cat").shape == slow.encode("the cat").shape == (8,)
    assert fast.encode([]).shape == slow.encode([]).shape == (0, 8)
    cosines = [each.similarity(TEXTS, TEXTS) for each in (fast, slow)]
    np.testing.assert_allclose(*cosines, atol=3e-6)
    with pytest.raises(ValueError, match="-2"):
        SentenceEncoder.from_pretrained(directory, num_threads=-2)


def test_a_norm_power_changes_lengths_only(subword):
    torch.manual_seed(0)
    config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8)
    for model, tolerance in ((AveragingModel(config), 1e-6), (AveragingModel(config).half(), 1e-3)):
        before = model.embedding.weight.detach().float().numpy().copy()
        even = SentenceEncoder(model, subword).with_norm_power(0.5)
        norms = np.linalg.norm(before, axis=1, keepdims=True)
        expected = before / np.sqrt(np.where(norms > 0, norms, 1))
        np.testing.assert_allclose(even.table(), expected, atol=tolerance)
        np.testing.assert_array_equal(model.embedding.weight.detach().float(), before)
    with pytest.raises(ValueError, match="nan"):
        even.with_norm_power(float("nan"))


def test_short_numbers_are_stored_in_half_the_memory(directory):
    """Eight binary digits at most. One longer number needs the full table."""
    table = table_in(directory).bfloat16().float()
    write_table(directory, table)
    encoder = SentenceEncoder.from_pretrained(directory)
    if encoder._static is None:
        pytest.skip("_words.c is not compiled")
    assert encoder._weights.table().numbers.dtype == np.uint16
    expected = encoder.encode(TEXTS)
    _ = encoder.model
    assert encoder._weights.table().numbers.dtype == np.float32
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)
    table[-1, -1] += table[-1, -1] / 1024
    write_table(directory, table)
    again = SentenceEncoder.from_pretrained(directory)
    assert again._weights.table().numbers.dtype == np.float32


def test_tokens_are_counted_while_encoding(directory, compiled):
    texts = ["", "a cat", "ñandú \ud800 中文", "\x00", "a b c " * 500, *TEXTS] * 60
    encoder = SentenceEncoder.from_pretrained(directory)
    expected = np.diff(encoder.tokenizer.encode_batch(texts).offsets)
    for _ in range(2):  # without and with cached words
        vectors, counts = encoder.encode_and_count(texts)
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(vectors, encoder.encode(texts))
