"""The fast path equals the slow path on any text, in any order, from any thread."""

import json
import lzma
import os
import subprocess
import sys
import threading
import unicodedata
from collections import UserList
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.encoders.static import engine as static
from paraphrastic_hf.encoders.static.engine import StaticEncoder
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.normalize import SPACE_MARK, normalize
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.made import random_rows, row_means
from tests.texts import HOSTILE, SENTENCES, any_text

pytestmark = pytest.mark.skipif(static.WordTable is None, reason="_words.c is not compiled here")

LANGUAGES = {
    **dict.fromkeys(("ar", "de", "es", "fr", "tr", "zh"), "tatoeba"),
    **dict.fromkeys(("cs", "ru"), "wmt21_23_refs"),
    **{"ja": "tanaka_small", "ko": "freecodecamp"},
}


class Characters:
    """One id per character and per space before a word, so any effect across words shows."""

    keeps_to_words = True
    vocab_size = 0x110000

    def __init__(self, lowercase: bool) -> None:
        self.lowercase = lowercase

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        words = [normalize(text, self.lowercase).split(" ") for text in texts]
        return Ragged.from_lists(
            [[ord(c) % 9973 for word in text if word for c in SPACE_MARK + word] for text in words]
        )


TOKENIZERS: dict[str, Callable[[bool, bool], TextTokenizer]] = {
    "sentencepiece": lambda lowercase, keep_unknown: SubwordTokenizer.train(
        [*SENTENCES, *map(" ".join, product(HOSTILE, HOSTILE[::7]))],
        vocab_size=600,
        character_coverage=0.9995,
        lowercase=lowercase,
        keep_unknown=keep_unknown,
    ),
    "word": lambda lowercase, keep_unknown: WordTokenizer.train(
        [*SENTENCES, " ".join(HOSTILE)],
        vocab_size=300,
        lowercase=lowercase,
        keep_unknown=keep_unknown,
    ),
}


@pytest.fixture(
    scope="module",
    params=product(TOKENIZERS, [True, False], [True, False]),
    ids=lambda p: f"{p[0]}{', lower' * p[1]}{', unknown kept' * p[2]}",
)
def tokenizer(request):
    kind, lowercase, keep_unknown = request.param
    return TOKENIZERS[kind](lowercase, keep_unknown)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Use threads and several blocks for few texts too."""
    monkeypatch.setattr(static, "TEXTS_AT_A_TIME", 8)
    monkeypatch.setattr(static, "FEW_TEXTS", 3)
    monkeypatch.setattr(static, "MANY_WORDS", 20)


def random_table(tokenizer: object, dimension: int = 5) -> np.ndarray:
    rows = min(tokenizer.vocab_size, 9973)
    return np.random.default_rng(rows).normal(size=(rows, dimension)).astype(np.float32)


def slow_means(tokenizer: TextTokenizer, texts: Sequence[str], table: np.ndarray) -> np.ndarray:
    return row_means(table, tokenizer.encode_batch(list(texts)))


def assert_exact(
    tokenizer: TextTokenizer, texts: Sequence[str], encoder: StaticEncoder | None = None
) -> None:
    """Encode twice, because the second call knows the words of the first."""
    encoder = encoder or StaticEncoder(tokenizer, num_threads=1)
    table = random_table(tokenizer)
    expected = slow_means(tokenizer, texts, table)
    for _ in range(2):
        # numbers are below 5
        np.testing.assert_allclose(encoder.encode(texts, table), expected, rtol=0, atol=1e-6)


@given(texts=st.lists(st.one_of(st.text(st.characters()), any_text), max_size=8))
def test_fast_and_slow_path_agree_on_any_text(texts, tokenizer):
    assert_exact(tokenizer, [*texts, "the cat"])


@given(texts=st.lists(st.one_of(st.text(st.characters()), any_text), max_size=8))
@pytest.mark.parametrize("lowercase", [True, False])
def test_normalization_does_not_cross_word_boundaries(lowercase, texts):
    assert_exact(Characters(lowercase), [*texts, "the cat"])


def is_odd(c: str) -> bool:
    """Whether normalization or lower-casing may change a character."""
    return (
        unicodedata.combining(c) > 0
        or unicodedata.normalize("NFKC", c) != c
        or c.lower() != c
        or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Lm", "Mc", "Me", "Mn", "Sk", "Zs", "Zl")
        or "\u1100" <= c <= "\u11ff"
    )


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_odd_unicode_character_stays_in_its_word(lowercase):
    odd = [c for c in map(chr, range(sys.maxunicode + 1)) if is_odd(c)]
    assert len(odd) > 10_000
    assert_exact(Characters(lowercase), [f"a\u03a3{c} {c}b\x01{c}" for c in odd])


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOKENIZERS)
def test_fast_and_slow_path_agree_on_ten_languages(kind):
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set: no real text here")
    lines = []
    for language, name in LANGUAGES.items():
        path = Path(root) / "train" / f"en-{language}" / f"{name}.tsv.xz"
        with lzma.open(path, "rt", encoding="utf-8") as pairs:
            lines += [side for pair in islice(pairs, 250) for side in pair.split("\t")]
    unspaced = ["".join(line.split()) for line in lines[::9]]
    # up to about 6,000 pieces, sentencepiece segments lines like words (text/subword.py)
    long = [" ".join(lines[i : i + 60]) for i in range(0, len(lines), 60)]
    train, more = WordTokenizer.train, {}
    if kind == "sentencepiece":
        train, more = SubwordTokenizer.train, {"character_coverage": 0.98}
    tokenizer = train(lines[::2], vocab_size=4000, **more)
    assert_exact(tokenizer, [*lines, *unspaced, *long], StaticEncoder(tokenizer, num_threads=2))


def test_blocks_and_threads_do_not_change_the_vectors(tokenizer, monkeypatch):
    texts = [*SENTENCES, *HOSTILE, "", "\ud800 the cat", "the \udfff"]
    table = random_table(tokenizer)
    expected = StaticEncoder(tokenizer, num_threads=1).encode(texts, table)
    for threads, block, few in [(1, 1, 0), (2, 1, 0), (2, 5, 9), (3, 2, 2), (7, 3, 0), (2, 999, 0)]:
        monkeypatch.setattr(static, "TEXTS_AT_A_TIME", block)
        monkeypatch.setattr(static, "FEW_TEXTS", few)
        monkeypatch.setattr(static, "MANY_WORDS", 10 * block)
        encoder = StaticEncoder(tokenizer, num_threads=threads)
        order = np.random.default_rng(threads).permutation(len(texts))
        shuffled = encoder.encode([texts[i] for i in order], table)
        np.testing.assert_array_equal(shuffled, expected[order])
        parts = [encoder.encode(texts[:7], table), encoder.encode(tuple(texts[7:]), table)]
        np.testing.assert_array_equal(np.concatenate(parts), expected)
        assert encoder.encode(texts[:0], table).shape == (0, 5)


def test_the_cache_does_not_change_the_vectors(tokenizer, monkeypatch):
    texts = [*SENTENCES, *HOSTILE, "x" * 500, "the" + "\u0301" * 60, "\u732b" * 100]
    for most, longest in [(0, 48), (5, 48), (100, 48), (10**6, 0), (10**6, 3), (10**6, 10**6)]:
        monkeypatch.setattr(static, "MOST_WORDS", most)
        monkeypatch.setattr(static, "LONGEST_WORD", longest)
        encoder = StaticEncoder(tokenizer, num_threads=2)
        odd = ["the", "cat", "the", "The", "\u0130", "two words", "", "\u00ad"]
        encoder.encode(odd, random_table(tokenizer))
        assert_exact(tokenizer, texts, encoder)
        assert len(encoder._words) <= most


def test_texts_without_known_tokens_are_zeros_and_others_have_unit_length(word):
    texts = ["\u2603\u2603", "", " \t\0\x7f\u00a0\u200b", "\ud800", "zzz", "the cat", "rain"]
    encoder, table = StaticEncoder(word), random_table(word)
    lengths = np.linalg.norm(encoder.encode(texts, table, normalize_embeddings=True), axis=1)
    np.testing.assert_allclose(lengths, [0, 0, 0, 0, 0, 1, 1], atol=1e-6)  # one rounding of each
    assert not encoder.encode(texts[:5], table).any()


@pytest.mark.slow
def test_a_line_of_a_million_characters(subword, word):
    spaced = (" ".join(SENTENCES) * 1000)[:1_000_000]
    unspaced = spaced.replace(" ", "")
    texts = [spaced, unspaced[:200_000], "x" * 1_000_000, "\u732b" * 200_000, "the cat"]
    for tokenizer in (subword, word):
        table = random_table(tokenizer)
        vectors = StaticEncoder(tokenizer).encode(texts, table)
        expected = slow_means(tokenizer, texts, table)
        # Above a summed score of 65,536, sentencepiece breaks ties differently in a line than in a
        # word (text/subword.py). The mean over words is correct.
        ids = tokenizer.encode_batch(spaced.split()).ids
        expected[0] = table[ids].mean(0, dtype=np.float64)
        # 1,024 rows are summed in float32
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=2e-5)


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
