"""Encoders shared by threads and processes, changing lists, other item types."""

import json
import os
import subprocess
import sys
import threading
from collections import UserList
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.encoders.static.engine import StaticEncoder
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import random_rows
from tests.texts import SENTENCES

pytestmark = pytest.mark.skipif(static.WordTable is None, reason="_words.c is not compiled here")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(static, "TEXTS_AT_A_TIME", 8)
    monkeypatch.setattr(static, "FEW_TEXTS", 3)
    monkeypatch.setattr(static, "MANY_WORDS", 20)


def test_eight_threads_share_one_encoder(subword, monkeypatch):
    """Each call adds words to the table that the others read."""
    table = random_rows(subword)
    texts = [
        [f"{text} w{job}x{i} w{job * 7 % 40}x{i}" for i, text in enumerate(SENTENCES)]
        for job in range(60)
    ]
    alone = [StaticEncoder(subword, num_threads=1).encode(job, table) for job in texts]
    shared = StaticEncoder(subword, num_threads=2)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda job: shared.encode(job, table), texts)
        np.testing.assert_array_equal(list(found), alone)


FORK = """
import json, os, signal, sys
import numpy as np
from paraphrastic_hf.encoders.static.engine import StaticEncoder
from paraphrastic_hf.text.word import WordTokenizer
texts = json.loads(sys.argv[1])
word = WordTokenizer(["the", "cat"])
table = np.eye(4, dtype=np.float32)
encoder = StaticEncoder(word, num_threads=2)
expected = encoder.encode(texts, table)
child = os.fork()
if not child:
    signal.alarm(4)
    os._exit(0 if (encoder.encode(texts, table) == expected).all() else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_can_use_the_encoder():
    """Workers of `multiprocessing` and DataLoader fork on Linux."""
    command = [sys.executable, "-W", "ignore", "-c", FORK, json.dumps(["the cat"] * 1000)]
    env = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout == "0\n", done.stderr


# many unused rows, so that wrong row numbers are still in the table
WORDS = sorted({word for text in SENTENCES for word in text.lower().split()})
WORDS += [f"unused{i}" for i in range(1000)]


class Meddling(WordTokenizer):
    """Changes the caller's list between two blocks, as another thread may."""

    meddle: Callable[[], object]

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        self.meddle()
        return super().encode_batch(texts)


CHANGES: dict[str, Callable[[list[str]], object]] = {
    "grows": lambda texts: texts.extend(["more"] * 9),
    "is cut short": lambda texts: texts.__delitem__(slice(20, None)),
    "is emptied": lambda texts: texts.clear(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changing_list_gives_its_original_vectors_or_an_error(change, monkeypatch):
    tokenizer = Meddling(WORDS)
    texts = list(SENTENCES[:32])
    tokenizer.meddle = lambda: None
    table = random_rows(tokenizer)
    expected = StaticEncoder(tokenizer, num_threads=1).encode(texts, table)
    tokenizer.meddle = lambda: CHANGES[change](texts)
    # new memory may still contain the vectors of the previous call
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 77, dtype))
    try:
        vectors = StaticEncoder(tokenizer, num_threads=1).encode(texts, table)
    except (RuntimeError, ValueError, IndexError):
        return
    np.testing.assert_array_equal(vectors, expected)


@pytest.mark.slow
def test_items_replaced_by_another_thread_are_safe(word):
    """Replaced strings stay alive while they are read."""
    table = random_rows(word)
    texts = ["the cat " * 50] * 400
    done = threading.Event()

    def exchange() -> None:
        while not done.is_set():
            for i in range(len(texts)):
                texts[i] = "".join(["rain ", "rain " * (i % 60 + 1)])

    thread = threading.Thread(target=exchange)
    thread.start()
    encoder = StaticEncoder(word, num_threads=2)
    allowed = encoder.encode(["the cat", "rain"], table)
    try:
        for _ in range(60):
            vectors = encoder.encode(texts, table)
            distance = np.abs(vectors[:, None] - allowed).max(-1).min(1)
            assert distance.max() < 1e-5  # sums of a hundred rows in float32
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("wrong", [None, b"bytes", ["a"], np.str_])
@pytest.mark.parametrize("position", [0, 8, 39])
def test_an_item_that_is_not_a_string_is_named(position, wrong, threads, word):
    texts: list = ["the cat"] * 40
    texts[position] = wrong
    encoder, table = StaticEncoder(word, num_threads=threads), random_rows(word)
    with pytest.raises(TypeError, match=rf"texts\[{position}\]"):
        encoder.encode(texts, table)
    texts[(position - 2) % 40] = "a \ud800"  # a lone surrogate beside it
    with pytest.raises(TypeError):
        encoder.encode(texts, table)
    with pytest.raises(TypeError):
        encoder.encode(wrong if wrong != ["a"] else (5,), table)
    assert encoder.encode(["the cat"] * 40, table).any()  # and it still works


@pytest.mark.parametrize("error", [TypeError, KeyboardInterrupt])
@pytest.mark.parametrize("here", [False, True])
def test_an_error_in_one_thread_stops_the_others(here, error, word):
    encoder, ended, halted = StaticEncoder(word, num_threads=3), threading.Event(), []

    def work(number: int) -> None:
        if (number == 0) is here:
            raise error
        ended.wait(0.2)
        ended.set()

    with pytest.raises(error):
        encoder._run(work, [0, 1, 2], lambda: halted.append(True))
    assert ended.is_set()
    assert halted


ORDER = list(range(len(SENTENCES)))[::-1]
CONTAINERS: dict[str, Callable[[], object]] = {
    "user list": lambda: UserList(SENTENCES),
    "generator": lambda: (text for text in SENTENCES),
    "numpy objects": lambda: np.array(SENTENCES, object),
    "numpy strings": lambda: np.array(SENTENCES),
    "series in another order": lambda: pytest.importorskip("pandas").Series(SENTENCES, ORDER),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_any_container_of_texts_is_encoded(name, word):
    encoder, table = StaticEncoder(word, num_threads=2), random_rows(word)
    vectors = encoder.encode(CONTAINERS[name](), table)
    np.testing.assert_array_equal(vectors, encoder.encode(SENTENCES, table))
