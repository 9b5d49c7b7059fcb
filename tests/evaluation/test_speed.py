"""The `speed` suite: counts of sentences, on any encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.evaluation import speed
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.models.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.subword import SubwordTokenizer


class Lengths:
    """An encoder that notes how many texts each call had."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: list[str]) -> np.ndarray:
        self.calls.append(len(texts))
        return np.array([[len(text)] for text in texts], float)


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SECONDS", 0.001)
    monkeypatch.setattr(speed, "AT_HAND", 1)  # one batch


def test_the_rate_is_of_the_sentences_done_and_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 10 that take 1, then 2, 4, 8 and 16 seconds: 2.5 sentences a second."""
    clock, took = [0.0], iter([99, 1, 2, 4, 8, 16])
    monkeypatch.setattr(speed.time, "perf_counter", lambda: clock[0])

    def work(batch: list[str]) -> None:
        clock[0] += next(took)

    batches = [["a"] * 10] * 3
    assert speed.sentences_per_second(work, batches, 10) == 10 / 4


def test_batches_are_as_large_as_said(sts_folder: Path) -> None:
    encoder = Lengths()
    results = evaluate(encoder, "speed", sts_folder)
    assert set(encoder.calls) == set(speed.BATCH_SIZES)
    assert list(results["headline"]) == [f"CPU, {size}" for size in speed.BATCH_SIZES]
    assert all(rate > 0 for rate in results["headline"].values())
    assert all(row["group"].startswith("CPU, ") for row in results["rows"])


def test_tokens_are_timed_apart_where_the_encoder_allows(
    subword: SubwordTokenizer, sts_folder: Path
) -> None:
    stock = SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=16)])
    config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8)
    for encoder in (SentenceEncoder(AveragingModel(config), subword), stock):
        before = encoder.encode(["a cat"])
        results = evaluate(encoder, "speed", sts_folder)
        assert all(set(row["scores"]) == {"text", "tokens"} for row in results["rows"])
        assert "CPU, 128 tokens" in results["headline"]
        np.testing.assert_array_equal(encoder.encode(["a cat"]), before)


def test_sts_is_repeated_in_order(sts_folder: Path) -> None:
    sentences = speed.read_sentences(sts_folder)
    assert len(sentences) == speed.SENTENCES
    own = 25 * 12 * 2
    assert sentences[:own] == sentences[own : 2 * own]


def test_vectors_that_are_none_are_refused(sts_folder: Path) -> None:
    class Bad(Lengths):
        def encode(self, texts: list[str]) -> np.ndarray:
            return super().encode(texts)[:, 0]

    with pytest.raises(ModelError, match="one vector a text"):
        evaluate(Bad(), "speed", sts_folder)
