"""Model directories with int8 and int4 tables."""

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoModel, AutoTokenizer

from paraphrastic_hf import AveragingModel, SentenceEncoder
from paraphrastic_hf.encoders.storage.expanded import copies, expanded
from paraphrastic_hf.encoders.storage.fingerprint import weights_hash
from paraphrastic_hf.encoders.storage.locate import packaged_folder, shown_name
from paraphrastic_hf.encoders.storage.packing import packed, unpacked
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.layers.embedding import unpacked_rows
from tests.made import random_rows
from tests.texts import SENTENCES

PRECISIONS = ["int8", "int4"]


@pytest.fixture(params=PRECISIONS)
def small(request, english, tmp_path):
    """An encoder with an odd dimension, and its directory."""
    encoder = english.with_dimension(79).with_precision(request.param)
    encoder.save_pretrained(tmp_path / "small", precision=request.param)
    return encoder, tmp_path / "small"


def test_every_loader_except_the_stock_one_reads_packed_tables(small):
    encoder, folder = small
    held = encoder._weights.table().numbers.nbytes
    assert held <= (folder / "model.safetensors").stat().st_size < held + 500
    expected = encoder.encode(SENTENCES)
    again = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_array_equal(again.encode(SENTENCES), expected)
    tokens = AutoTokenizer.from_pretrained(folder)(SENTENCES, return_tensors="pt", padding=True)
    model, report = AutoModel.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    vectors = model.eval()(**tokens).sentence_embedding.detach().numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    bridge = SentenceTransformer(str(folder), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(bridge.encode(SENTENCES), expected, atol=1e-6)


def test_saving_a_loaded_model_changes_nothing(small, tmp_path):
    encoder, folder = small
    again = SentenceEncoder.from_pretrained(folder)
    assert again.rounding_error == 0
    precision = "int8" if again._weights.table().numbers.dtype == np.int8 else "int4"
    again.save_pretrained(tmp_path / "again", precision=precision)
    first, second = (each / "model.safetensors" for each in (folder, tmp_path / "again"))
    assert first.read_bytes() == second.read_bytes()
    again.save_pretrained(tmp_path / "plain")
    plain = SentenceEncoder.from_pretrained(tmp_path / "plain")
    assert weights_hash(plain) == weights_hash(again) == weights_hash(encoder)
    assert not json.loads((tmp_path / "plain" / "config.json").read_text())["packed"]


def test_loaded_tables_are_transformed_without_rounding(small):
    encoder = SentenceEncoder.from_pretrained(small[1])
    rows, kind = encoder.table(), encoder._weights.table().numbers.dtype
    for dimension in (1, 40, 41, 79):
        cut = encoder.with_dimension(dimension)
        assert cut._weights.table().numbers.dtype == kind
        np.testing.assert_array_equal(cut.table(), rows[:, :dimension])
    even = encoder.with_norm_power(0.5)
    plain = SentenceEncoder.from_table(rows, encoder.tokenizer).with_norm_power(0.5)
    assert even._weights.table().numbers.dtype == kind
    np.testing.assert_allclose(even.table(), plain.table(), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(encoder.with_precision("float32").table(), rows)


def test_torch_and_numpy_unpack_equally():
    rows = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    for precision in PRECISIONS:
        held = packed(rows, precision)
        found = unpacked_rows(torch.from_numpy(held), 5).numpy()
        np.testing.assert_array_equal(found, unpacked(held))
    one = packed(rows[:1], "int4")
    np.testing.assert_array_equal(unpacked_rows(torch.from_numpy(one), 5).numpy(), unpacked(one))
    with pytest.raises(ValueError, match=r"\(6, 9\)"):
        unpacked_rows(torch.from_numpy(packed(rows, "int8")), 6)


@pytest.mark.parametrize("damage", ["key", "width", "nan", "cut", "type"])
def test_a_damaged_table_is_refused(small, damage):
    path = small[1] / "model.safetensors"
    rows = load_file(path)["embedding.packed"]
    if damage == "nan":
        rows[7, -4:] = np.frombuffer(np.float32(np.nan).tobytes(), rows.dtype)
    wrong = {"width": rows[:, 1:].copy(), "type": rows.astype(np.float32)}.get(damage, rows)
    save_file({"embedding.weight" if damage == "key" else "embedding.packed": wrong}, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(small[1])


def test_unsupported_precisions_are_refused(tmp_path, word):
    rows = np.full((word.vocab_size, 2), 1e5, np.float32)  # too large for float16
    encoder = SentenceEncoder.from_table(rows, word)
    for precision in ("i2", "float16"):
        with pytest.raises(ValueError, match=precision):
            encoder.save_pretrained(tmp_path / "out", precision=precision)
        assert not (tmp_path / "out").exists()


def test_a_packed_folder_is_expanded_once_for_stock_loaders(small, tmp_path, monkeypatch):
    encoder, folder = small
    if encoder._weights.table().numbers.dtype == np.int8:
        pytest.skip("products of int8 and float32 scales are not exact in float16")
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    copy = expanded(folder)
    assert copy.is_relative_to(copies())
    assert (copy.name, shown_name(copy)) == ("small", "small")
    stock = SentenceTransformer(str(copy), device="cpu").float()
    np.testing.assert_allclose(stock.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
    assert weights_hash(SentenceEncoder.from_pretrained(copy)) == weights_hash(encoder)
    written = (copy / "model.safetensors").stat().st_mtime_ns
    assert expanded(folder) == copy
    assert (copy / "model.safetensors").stat().st_mtime_ns == written
    assert sorted(path.name for path in copy.parent.iterdir()) == ["sha256", "small"]
    assert [path.name for path in copies().iterdir() if path.is_dir()] == [copy.parent.name]
    assert expanded(copy) == copy


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_damaged_copy_is_replaced(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    folder = packaged_folder("tiny")
    copy = expanded(folder)
    whole = (copy / name).read_bytes()
    assert (copy / name).stat().st_mode & 0o444 == 0o444
    for damaged in (None, whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        (copy / name).unlink()
        if damaged is not None:
            (copy / name).write_bytes(damaged)
        assert expanded(folder) == copy
        assert (copy / name).read_bytes() == whole
    assert sorted(path.name for path in copy.parent.iterdir()) == ["sha256", "tiny"]
    assert [path.name for path in copies().iterdir() if path.is_dir()] == [copy.parent.name]


def test_an_unwritable_cache_is_an_error(monkeypatch):
    monkeypatch.setenv("PARAPHRASTIC_CACHE", "/proc/x")
    with pytest.raises(OSError, match="tiny"):
        expanded(packaged_folder("tiny"))


def test_saving_to_its_own_directory_keeps_the_encoder(tmp_path, word):
    rows = random_rows(word, 7)
    SentenceEncoder.from_table(rows, word).save_pretrained(tmp_path / "own")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "own")
    encoder.save_pretrained(tmp_path / "own", precision="int4")
    encoder.save_pretrained(tmp_path / "other")
    for kept in (encoder.model.get_input_embeddings().weight.detach().numpy(), encoder.table()):
        np.testing.assert_array_equal(kept, rows)
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(tmp_path / "other").table(), rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_prefix_of_a_loaded_model_is_packed_exactly(dtype, tmp_path):
    encoder = SentenceEncoder.from_pretrained("tiny").with_dimension(3)
    rows = encoder.table()
    encoder.model.to(dtype)
    encoder.save_pretrained(tmp_path / "cut", precision="int4")
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(tmp_path / "cut").table(), rows)


def test_from_pretrained_takes_options_of_transformers(small, tmp_path):
    encoder, folder = small
    rows = encoder.table()
    model = AveragingModel.from_pretrained(folder, embedding_dropout=0.5)
    assert (model.config.embedding_dropout, model.config.packed) == (0.5, False)
    assert model.name_or_path == str(folder)
    for again in (
        AutoModel.from_pretrained(folder, state_dict=None),
        AveragingModel.from_pretrained(folder, config=str(folder)),
        AutoModel.from_pretrained(folder, dtype=torch.float64),
    ):
        found = again.get_input_embeddings().weight.detach().numpy()
        np.testing.assert_array_equal(found, rows)
    model.save_pretrained(tmp_path / "plain")
    plain = AveragingModel.from_pretrained(tmp_path / "plain", embedding_dropout=0.25)
    assert plain.config.embedding_dropout == 0.25
    np.testing.assert_array_equal(plain.get_input_embeddings().weight.detach().numpy(), rows)
    config = AutoConfig.from_pretrained(folder)
    new = AutoModel.from_config(config)
    assert (config.packed, new.config.packed) == (True, False)
    new.save_pretrained(tmp_path / "new")
    found = AutoModel.from_pretrained(tmp_path / "new").get_input_embeddings().weight
    assert torch.equal(found, new.get_input_embeddings().weight)
