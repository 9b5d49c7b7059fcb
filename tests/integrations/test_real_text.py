"""Exports of the packaged models give the same vectors for 50,000 real texts in 20 languages."""

from __future__ import annotations

import itertools
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.export import export

DATA = os.environ.get("PARAPHRASTIC_DATA")
ATOL = 1e-5  # other libraries sum in float32
BATCH = 256

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(DATA is None, reason="PARAPHRASTIC_DATA names no folder"),
]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    files = sorted(Path(str(DATA)).glob("train/*/*.tsv.xz"))
    found = []
    for path in files:
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in itertools.islice(lines, 25_000 // len(files) + 1):
                found += line.rstrip("\n").split("\t")[:2]
    assert len(found) >= 50_000
    return [*found, "", "\u2581", "<pad> <unk>", "ΟΔΟΣ", "ไทย", "ខ្មែរ"]


@pytest.mark.parametrize("name", ["english", "multilingual", "tiny"])
def test_real_texts_have_the_same_vectors(name: str, texts: list[str], tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    runtime = pytest.importorskip("onnxruntime")
    encoder = SentenceEncoder.from_pretrained(name)
    expected = encoder.encode(texts)
    export(encoder, "model2vec", tmp_path / "model2vec")
    stock = model2vec.StaticModel.from_pretrained(tmp_path / "model2vec")
    np.testing.assert_allclose(stock.encode(texts), expected, atol=ATOL)
    export(encoder, "onnx", tmp_path / "copy")
    tokenizer = Tokenizer.from_file(str(tmp_path / "copy" / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=0, pad_token="<pad>")
    for graph in ("model", "model_quantized"):
        session = runtime.InferenceSession(tmp_path / "copy" / "onnx" / f"{graph}.onnx")
        for start in range(0, len(texts), BATCH):
            batch = tokenizer.encode_batch(texts[start : start + BATCH])
            inputs = {
                "input_ids": np.array([text.ids for text in batch]),
                "attention_mask": np.array([text.attention_mask for text in batch]),
            }
            (vectors,) = session.run(["sentence_embedding"], inputs)
            np.testing.assert_allclose(vectors, expected[start : start + BATCH], atol=ATOL)
