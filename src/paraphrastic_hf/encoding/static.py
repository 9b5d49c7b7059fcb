"""The fast path of averaging models: strings to vectors with no padding and no work a token in
Python.

No piece or word crosses white space, so a text's tokens are those of its words, one after the
other. A table in C (`_words.c`) remembers the ids of the words it has met; of new words it cuts
those in ASCII itself, as sentencepiece would, and the tokenizer is asked for the others, in one
call a block. A second call in C averages the rows of the ids. Both run without the interpreter's
lock, on several threads.

The vectors are those of the slow path (`encoding/batches.py`) up to rounding, which in long texts
is the slow path's; and past some 6,000 pieces in one text sentencepiece's scores lose digits, so
that of equally good cuts it may choose another than for the word alone. Without the compiled module
(no wheel for the platform and no compiler) the slow path serves. Character n-grams cross white
space and stay there too.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from safetensors import SafetensorError, safe_open

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.normalize import valid_unicode
from paraphrastic_hf.text.ragged import Ragged

try:
    from paraphrastic_hf.encoding._words import WordTable
except ImportError:  # no wheel for this platform and no compiler
    WordTable = None

TEXTS_AT_A_TIME = 4096
FEW_TEXTS = 256  # not worth a second thread
LONGEST_WORD = 48  # characters; longer ones are mostly links, or sentences of Chinese
MOST_WORDS = 1_000_000

Scan = tuple[bytes, bytes, list[str], Ragged]


def serves(tokenizer: object) -> bool:
    """Whether the fast path can use a tokenizer: compiled, and no token crosses white space."""
    return WordTable is not None and getattr(tokenizer, "keeps_to_words", False)


def read_table(directory: Path) -> np.ndarray | None:
    """The table of an averaging model's directory, (vocab, dim) float32, without torch.

    Returns:
        None where the directory holds another kind of model, or needs torch's loader to say more.
    """
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") != "paraphrastic-averaging":
            return None
        with safe_open(directory / "model.safetensors", framework="numpy") as tensors:
            table = tensors.get_tensor("embedding.weight")
    except (OSError, ValueError, AttributeError, TypeError, SafetensorError):
        return None  # load_model says what is wrong
    if table.shape != (config.get("vocab_size"), config.get("hidden_size")):
        return None
    return np.ascontiguousarray(table, np.float32)


def check_finite(table: np.ndarray, name: object) -> None:
    """Refuse a table with NaN or infinity.

    Raises:
        ModelError: It has; the first such row is named.
    """
    with np.errstate(invalid="ignore"):  # of infinities of both signs
        is_finite = np.isfinite(table.sum(dtype=np.float64))
    if not is_finite:
        bad = np.flatnonzero(~np.isfinite(table).all(1))
        if len(bad):
            raise ModelError(
                f"row {bad[0]} of the table of {name} holds what is no finite number "
                f"({len(bad)} rows in all); the training has diverged, or the file is damaged"
            )


class WordTokenizer(Protocol):
    """A tokenizer whose tokens never cross white space."""

    lowercase: bool

    def encode_batch(self, texts: Sequence[str]) -> Ragged: ...


class StaticEncoder:
    """Texts to means of table rows.

    Threads may share one; calls take turns, each on as many threads as it was given.

    Args:
        tokenizer: Its tokens must not cross white space.
        num_threads: Threads of `encode`; -1 for one a core.
    """

    def __init__(self, tokenizer: WordTokenizer, *, num_threads: int = -1) -> None:
        self._tokenizer = tokenizer
        self._words = WordTable(lowercase=tokenizer.lowercase)
        self._threads = num_threads if num_threads > 0 else (os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._has_pieces = False
        self._process = os.getpid()
        _ENCODERS.add(self)

    def __getstate__(self) -> dict[str, object]:
        """A copy in another process starts without remembered words."""
        return {"tokenizer": self._tokenizer, "num_threads": self._threads}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def encode(
        self,
        texts: Sequence[str],
        table: np.ndarray,
        *,
        normalize: bool = False,
        progress: bool = False,
    ) -> np.ndarray:
        """Means of the rows of each text's tokens.

        Args:
            texts: Texts; the empty text, and one without a known token, gives zeros.
            table: Rows, (vocab, dim), float32 and contiguous.
            normalize: Scale to unit length (zeros stay zeros).
            progress: Show a progress bar.

        Returns:
            (texts, dim) float32.

        Raises:
            TypeError: If `texts` holds anything but strings.
        """
        texts = list(texts)  # ours: another thread may change the caller's
        output = np.empty((len(texts), table.shape[1]), np.float32)
        with self._lock:
            step = TEXTS_AT_A_TIME * self._threads
            starts: Iterable[int] = range(0, len(texts), step)
            if progress:
                from tqdm.auto import tqdm

                starts = tqdm(starts, unit=" blocks")
            for start in starts:
                block = (start, min(start + step, len(texts)), table, output, normalize)
                try:
                    self._encode_block(texts, *block)
                except UnicodeEncodeError:  # lone surrogates
                    texts = [valid_unicode(t) if isinstance(t, str) else t for t in texts]
                    self._encode_block(texts, *block)
        return output

    def learn(self, words: Sequence[str]) -> None:
        """Remember words beforehand, the most frequent first; encoding learns by itself too."""
        with self._lock:
            words = list(words[: max(0, MOST_WORDS - len(self._words))])
            self._remember(words, self._tokenizer.encode_batch(words))

    def _encode_block(
        self,
        texts: Sequence[str],
        start: int,
        stop: int,
        table: np.ndarray,
        output: np.ndarray,
        normalize: bool,
    ) -> None:
        threads = 1
        if stop - start > FEW_TEXTS:
            threads = self._threads
            self._learn_pieces()
        cuts = np.linspace(start, stop, threads + 1).astype(int).tolist()
        parts = list(pairwise(cuts))
        scans: list[Scan] = self._map(lambda part: self._scan(texts, *part), parts)

        def average(number: int) -> None:
            words, ends, _, ids = scans[number]
            rows = output[parts[number][0] : parts[number][1]]
            self._words.mean(words, ends, ids.offsets[1:], ids.ids, table, rows, normalize)

        self._map(average, range(threads))
        for _, _, missing, ids in scans:
            if missing:
                self._remember(missing, ids)

    def _map(self, function, items):  # type: ignore[no-untyped-def]
        if len(items) == 1:
            return [function(items[0])]
        if self._pool is None or self._process != os.getpid():  # a fork has no threads
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="encode")
            self._process = os.getpid()
        futures = [self._pool.submit(function, item) for item in items]
        try:
            wait(futures)
        finally:
            wait(futures)  # even if interrupted: a part may still be reading the table
        return [future.result() for future in futures]

    def _scan(self, texts: Sequence[str], start: int, stop: int) -> Scan:
        """The words of some texts, and the ids of those the table lacks."""
        words, ends, missing, cut, ids = self._words.scan(texts, start, stop)
        if not missing:
            return words, ends, missing, NOTHING
        counts, known = np.frombuffer(cut, np.int32), np.frombuffer(ids, np.int32)
        if (counts >= 0).all():
            return words, ends, missing, Ragged(known, _offsets(counts))
        asked = counts < 0
        answer = self._tokenizer.encode_batch(
            [word for word, is_asked in zip(missing, asked.tolist(), strict=True) if is_asked]
        )
        counts = counts.copy()
        counts[asked] = np.diff(answer.offsets)
        offsets, is_answer = _offsets(counts), np.repeat(asked, counts)
        all_ids = np.empty(offsets[-1], np.int32)
        all_ids[is_answer], all_ids[~is_answer] = answer.ids, known
        return words, ends, missing, Ragged(all_ids, offsets)

    def _learn_pieces(self) -> None:
        """Give the table the tokenizer's pieces, once there is enough text to be worth it."""
        unigram = getattr(self._tokenizer, "unigram", None)
        if not self._has_pieces and unigram is not None:
            self._words.cut_with(*unigram())
        self._has_pieces = True

    def _remember(self, words: list[str], ids: Ragged) -> None:
        if len(self._words) + len(words) > MOST_WORDS:
            return
        counts = np.diff(ids.offsets).astype(np.int32)
        short = np.fromiter((len(word) <= LONGEST_WORD for word in words), bool, len(words))
        if not short.all():
            kept = np.repeat(short, counts)
            words = [word for word, is_short in zip(words, short, strict=True) if is_short]
            counts, ids = counts[short], Ragged(ids.ids[kept], ids.offsets)
        self._words.add(words, counts, np.ascontiguousarray(ids.ids))


NOTHING = Ragged(np.empty(0, np.int32), np.zeros(1, np.int64))


def _after_fork() -> None:
    """Another thread of the parent may have held a lock; here it does not run."""
    for encoder in _ENCODERS:
        encoder._lock = threading.Lock()


_ENCODERS: weakref.WeakSet[StaticEncoder] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
