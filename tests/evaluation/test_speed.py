from unittest.mock import Mock

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from paraphrastic_hf import SentenceEncoder, evaluate
from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.evaluation.suites import speed
from tests.evaluation.made_pairs import Lengths
from tests.made import averaging


@pytest.fixture(autouse=True)
def short_times(monkeypatch):
    monkeypatch.setattr(speed, "SECONDS", 0.001)
    monkeypatch.setattr(speed, "AT_HAND", 1)  # one batch


@pytest.fixture
def clock(monkeypatch):
    """The time of day, in a list."""
    now = [0.0]
    monkeypatch.setattr(speed.time, "perf_counter", lambda: now[0])
    return now


def test_the_speed_is_the_median_over_repetitions(clock):
    """Batches of 10 take 1, 2, 4, 8 and 16 seconds after the warm-up: the median is 10 / 4."""
    took = iter([99, 1, 2, 4, 8, 16])

    def work(batch):
        clock[0] += next(took)

    assert speed.sentences_per_second(work, [["a"] * 10] * 3, 10) == 10 / 4


def test_batches_have_the_given_sizes(sts_folder):
    encoder = Mock(wraps=Lengths())
    results = evaluate(encoder, "speed", sts_folder)
    sizes = {len(call.args[0]) for call in encoder.encode.call_args_list}
    assert sizes == set(speed.BATCH_SIZES)
    assert list(results["headline"]) == [f"CPU, {size}" for size in speed.BATCH_SIZES]
    assert all(rate > 0 for rate in results["headline"].values())
    assert all(row["group"].startswith("CPU, ") for row in results["rows"])


def test_tokens_are_timed_separately_if_possible(subword, sts_folder):
    stock = SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=16)])
    for encoder in (averaging(subword), stock):
        before = encoder.encode(["a cat"])
        results = evaluate(encoder, "speed", sts_folder)
        expected = {"text", "tokens"}
        if isinstance(encoder, SentenceEncoder) and encoder.forget():
            expected.add("text, no word known")
        assert all(set(row["scores"]) == expected for row in results["rows"])
        assert "CPU, 128 tokens" in results["headline"]
        np.testing.assert_array_equal(encoder.encode(["a cat"]), before)


def test_the_timed_table_keeps_its_precision(sts_folder):
    encoder = SentenceEncoder.from_pretrained("tiny")  # half a byte per number
    evaluate(encoder, "speed", sts_folder)
    held = encoder._weights.table()
    assert held is not None
    assert held.numbers.dtype == np.uint8


def test_timed_sentences_repeat_only_to_fill_a_batch(sts_folder, monkeypatch):
    met, sentences = speed.read_sentences(sts_folder)
    distinct = len(set(sentences))
    assert not set(met) & set(sentences)
    assert abs(len(met) - distinct) < 2
    assert len(sentences) == speed.BATCH_SIZES[-1]
    assert sentences[:distinct] == sentences[distinct : 2 * distinct]
    monkeypatch.setattr(speed, "BATCH_SIZES", (1, distinct))
    assert len(speed.read_sentences(sts_folder)[1]) == distinct


def test_a_repetition_continues_after_the_last(clock, monkeypatch):
    """Batches take 0.4 of 1 second, so each repetition has three, after one to warm up."""
    given, prepared = [], []
    monkeypatch.setattr(speed, "SECONDS", 1)

    def work(batch):
        clock[0] += 0.4
        given.append(batch)

    speed.sentences_per_second(work, range(8), 1, lambda: prepared.append(len(given)))
    assert given == [0, *(i % 8 for i in range(1, 16))]
    assert prepared == [1, 4, 7, 10, 13]


@pytest.mark.skipif(static.WordTable is None, reason="_words.c is not compiled")
def test_the_word_cache_holds_only_other_text(subword, sts_folder, monkeypatch):
    """After forgetting, the tokenizer is called again for a known word."""
    encoder = averaging(subword)
    asked = Mock(wraps=subword.encode_batch)
    monkeypatch.setattr(subword, "encode_batch", asked)
    encoder.encode(["zebra"])
    encoder.encode(["zebra"])
    assert asked.call_count == 1
    assert encoder.forget()
    encoder.encode(["zebra"])
    assert asked.call_count == 2
    forgotten = Mock(wraps=encoder.forget)
    monkeypatch.setattr(SentenceEncoder, "forget", lambda self: forgotten())
    evaluate(encoder, "speed", sts_folder)
    assert forgotten.call_count >= speed.REPETITIONS * len(speed.BATCH_SIZES)
