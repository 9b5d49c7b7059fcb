"""A transformer of sentence-transformers in 8 bits, beside torch."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.storage.int8 import Int8Encoder
from paraphrastic_hf.errors import ModelError
from tests.bert import save_bert

pytest.importorskip("ctranslate2")
TEXTS = ["the cat sleeps on the mat", "a dog", "", "the mat sleeps on the cat " * 40]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_bert(tmp_path_factory.mktemp("bert"))


def test_vectors_are_those_of_torch_but_for_rounding(bert: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(bert), device="cpu")
    wanted = model.encode(TEXTS, normalize_embeddings=True)
    found = Int8Encoder(bert, max_length=64, work=tmp_path).encode(TEXTS)
    assert (found * wanted).sum(1).min() > 0.98
    assert Int8Encoder(bert, work=tmp_path).encode([]).shape[0] == 0


@pytest.mark.parametrize("kind", ["absolute", None])
def test_where_positions_are_is_told_to_the_converter_and_left_as_it_is(
    kind: str | None, bert: Path, tmp_path: Path
) -> None:
    """transformers 5 no longer writes what the converter asks for; version 4 did."""
    model = copytree(bert, tmp_path / "model")
    config = json.loads((model / "config.json").read_text("utf-8"))
    assert "position_embedding_type" not in config
    if kind is not None:
        config["position_embedding_type"] = kind
        (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    vectors = Int8Encoder(model, work=tmp_path / "work").encode(TEXTS[:2])
    np.testing.assert_array_equal(vectors, Int8Encoder(bert, work=tmp_path).encode(TEXTS[:2]))
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before


def test_a_model_that_has_changed_is_converted_again(bert: Path, tmp_path: Path) -> None:
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
    np.testing.assert_array_equal(
        after, Int8Encoder(model, work=tmp_path / "other").encode(TEXTS[:2])
    )


def test_positions_of_another_kind_are_refused(bert: Path, tmp_path: Path) -> None:
    model = copytree(bert, tmp_path / "model")
    config = json.loads((model / "config.json").read_text("utf-8"))
    config["position_embedding_type"] = "relative_key"
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"does not convert .*model: Assertion.*take engine torch"):
        Int8Encoder(model, work=tmp_path / "work")


def test_the_order_and_company_of_texts_change_little(bert: Path, tmp_path: Path) -> None:
    encoder = Int8Encoder(bert, max_length=64, work=tmp_path)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    together = encoder.encode(TEXTS[::-1])[::-1]
    assert (alone * together).sum(1).min() > 0.999


def test_a_model_that_does_not_average_is_refused(bert: Path, tmp_path: Path) -> None:
    other = copytree(bert, tmp_path / "other")
    settings = other / "1_Pooling" / "config.json"
    config = json.loads(settings.read_text("utf-8"))
    for name, value in config.items():
        if value is True and "mean" in name:
            config[name] = False
    if "pooling_mode" in config:
        config["pooling_mode"] = "max"
    settings.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError, match=r"states are averaged .*take engine torch"):
        Int8Encoder(other)


def test_a_folder_without_modules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="no modules of sentence-transformers"):
        Int8Encoder(tmp_path)
