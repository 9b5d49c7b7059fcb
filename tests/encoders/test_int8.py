"""8-bit transformers, compared with torch."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer

from paraphrastic_hf.encoders.storage.ctranslate import Int8Encoder
from paraphrastic_hf.errors import ModelError
from tests.bert import save_bert

pytest.importorskip("ctranslate2")
TEXTS = ["the cat sleeps on the mat", "a dog", "", "the mat sleeps on the cat " * 40]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("bert"))


def changed(path: Path, **settings: object) -> None:
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(config | settings), encoding="utf-8")


def test_vectors_equal_torch_up_to_rounding(bert, tmp_path):
    model = SentenceTransformer(str(bert), device="cpu")
    wanted = model.encode(TEXTS, normalize_embeddings=True)
    encoder = Int8Encoder(bert, max_length=64, work=tmp_path)
    found = encoder.encode(TEXTS)
    assert (found * wanted).sum(1).min() > 0.98
    assert encoder.encode([]).shape[0] == 0
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS[::-1]])
    assert (alone[::-1] * found).sum(1).min() > 0.999


def test_prompts_are_used_as_in_sentence_transformers(bert, tmp_path):
    model = copytree(bert, tmp_path / "model")
    settings = {"prompts": {"query": "a dog on the "}, "default_prompt_name": "query"}
    changed(model / "config_sentence_transformers.json", **settings)
    for prompt in (None, "", "cat "):
        found = Int8Encoder(model, work=tmp_path / "work", prompt=prompt).encode(TEXTS[:2])
        stock = SentenceTransformer(str(model), device="cpu")
        wanted = stock.encode(TEXTS[:2], normalize_embeddings=True, prompt=prompt)
        assert (found * wanted).sum(1).min() > 0.98
        texts = [(prompt or "") + text for text in TEXTS[:2]]
        plain = Int8Encoder(bert, work=tmp_path).encode(texts)
        assert np.allclose(found, plain) == (prompt is not None)


@pytest.mark.parametrize("kind", ["absolute", None])
def test_the_converter_gets_absolute_positions_without_changing_the_model(kind, bert, tmp_path):
    """transformers 4 wrote the key that the converter requires, version 5 does not."""
    model = copytree(bert, tmp_path / "model")
    if kind is not None:
        changed(model / "config.json", position_embedding_type=kind)
    assert ("position_embedding_type" in (model / "config.json").read_text()) == (kind is not None)
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    vectors = Int8Encoder(model, work=tmp_path / "work").encode(TEXTS[:2])
    np.testing.assert_array_equal(vectors, Int8Encoder(bert, work=tmp_path).encode(TEXTS[:2]))
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before


def test_a_changed_model_is_converted_again(bert, tmp_path):
    model, work = copytree(bert, tmp_path / "model"), tmp_path / "work"
    before = Int8Encoder(model, work=work).encode(TEXTS[:2])
    (converted,) = work.iterdir()
    written = (converted / "model.bin").stat().st_mtime_ns
    Int8Encoder(model, work=work)
    assert (converted / "model.bin").stat().st_mtime_ns == written
    (weights,) = model.rglob("model.safetensors")
    arrays = load_file(weights)
    table = next(name for name in arrays if name.endswith("word_embeddings.weight"))
    save_file({**arrays, table: -arrays[table]}, weights, {"format": "pt"})
    after = Int8Encoder(model, work=work).encode(TEXTS[:2])
    assert not np.allclose(before, after, atol=0.01)
    other = Int8Encoder(model, work=tmp_path / "other")
    np.testing.assert_array_equal(after, other.encode(TEXTS[:2]))


def test_unsupported_models_are_refused(bert, tmp_path):
    relative, largest, empty = (tmp_path / name for name in ("relative", "largest", "empty"))
    changed(copytree(bert, relative) / "config.json", position_embedding_type="relative_key")
    settings = copytree(bert, largest) / "1_Pooling" / "config.json"
    means = [name for name, value in json.loads(settings.read_text()).items() if value is True]
    changed(settings, pooling_mode="max", **{name: False for name in means if "mean" in name})
    empty.mkdir()
    (empty / "config.json").write_text("{}", encoding="utf-8")
    for model in (relative, largest, empty):
        with pytest.raises(ModelError):
            Int8Encoder(model, work=tmp_path / "work")
