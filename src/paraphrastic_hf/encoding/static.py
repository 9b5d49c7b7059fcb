"""The fast path of averaging models: strings to vectors with no padding and no work a token in
Python.

No piece or word crosses white space, so a text's tokens are those of its words, one after the
other. A table in C (`_words.c`) remembers the ids of the words it has met. Threads take some texts
at a time, each with a block of its own, which finds their words, cuts new ones in ASCII as
sentencepiece would, asks the tokenizer for the others in one call, and averages the rows; all but
the asking without the interpreter's lock. Between the two, when no thread reads it, the table
learns the new words.

The vectors are those of the slow path (`encoding/batches.py`) up to rounding, which in long texts
is the slow path's; and past some 6,000 pieces in one text sentencepiece's scores lose digits, so
that of equally good cuts it may choose another than for the word alone. Without the compiled module
(no wheel for the platform and no compiler) the slow path serves. Character n-grams cross white
space and stay there too.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol

import numpy as np

from paraphrastic_hf.encoding.packing import width
from paraphrastic_hf.text.normalize import valid_unicode
from paraphrastic_hf.text.ragged import Ragged

if TYPE_CHECKING:
    from tqdm.auto import tqdm

try:
    from paraphrastic_hf.encoding._words import WordTable
except ImportError:  # no wheel for this platform and no compiler
    WordTable = None

TEXTS_AT_A_TIME = 512
FEW_TEXTS = 256  # not worth a second thread
MANY_WORDS = 8192  # new ones that a thread keeps to itself; more would leave its core's cache
LONGEST_WORD = 48  # characters; longer ones are mostly links, or sentences of Chinese
MOST_WORDS = 1_000_000


def serves(tokenizer: object) -> bool:
    """Whether the fast path can use a tokenizer: compiled, and no token crosses white space."""
    return WordTable is not None and getattr(tokenizer, "keeps_to_words", False)


class WordTokenizer(Protocol):
    """A tokenizer whose tokens never cross white space."""

    lowercase: bool

    def encode_batch(self, texts: Sequence[str]) -> Ragged: ...


class Block(Protocol):
    """What `WordTable.block` gives."""

    def __len__(self) -> int: ...

    def mean(
        self,
        texts: list[str],
        start: int,
        stop: int,
        table: np.ndarray,
        out: np.ndarray,
        normalize: bool,
        tokens: np.ndarray | None = None,
    ) -> None: ...

    def asked(self) -> list[str]: ...

    def answer(
        self,
        counts: np.ndarray,
        ids: np.ndarray,
        texts: list[str],
        table: np.ndarray,
        out: np.ndarray,
        normalize: bool,
        tokens: np.ndarray | None = None,
    ) -> None: ...

    def learn(self, longest: int, most: int) -> None: ...


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
        tokens: np.ndarray | None = None,
    ) -> np.ndarray:
        """Means of the rows of each text's tokens.

        Args:
            texts: Texts; the empty text, and one without a known token, gives zeros.
            table: Rows, (vocab, dim), contiguous: float32, or as `encoding/table.py` packs them.
            normalize: Scale to unit length (zeros stay zeros).
            progress: Show a progress bar.
            tokens: int32, (texts,): where to write how many tokens each text has.

        Returns:
            (texts, dim) float32.

        Raises:
            TypeError: If `texts` holds anything but strings.
        """
        texts = list(texts)  # ours: another thread may change the caller's
        output = np.empty((len(texts), width(table)), np.float32)
        with self._lock:
            if len(texts) > FEW_TEXTS:
                self._learn_pieces()
            threads = self._threads if len(texts) > FEW_TEXTS else 1
            blocks = [self._words.block() for _ in range(threads)]
            parts = _Parts(len(texts), threads, progress)

            def work(block: Block) -> None:
                for start, stop in parts:
                    try:
                        block.mean(texts, start, stop, table, output, normalize, tokens)
                    except UnicodeEncodeError:  # lone surrogates
                        part = texts[start:stop]
                        texts[start:stop] = [
                            valid_unicode(t) if isinstance(t, str) else t for t in part
                        ]
                        block.mean(texts, start, stop, table, output, normalize, tokens)
                    if len(block) > MANY_WORDS:
                        parts.pause()
                if asked := block.asked():
                    ids = self._tokenizer.encode_batch(asked)
                    counts = np.diff(ids.offsets).astype(np.int32)
                    block.answer(counts, ids.ids, texts, table, output, normalize, tokens)

            while parts.resume():
                self._together(work, blocks, parts.pause)
                for block in blocks:
                    block.learn(LONGEST_WORD, MOST_WORDS)
        return output

    def learn(self, words: Sequence[str]) -> None:
        """Remember words beforehand, the most frequent first; encoding learns by itself too."""
        with self._lock:
            words = list(words[: max(0, MOST_WORDS - len(self._words))])
            short = [word for word in words if len(word) <= LONGEST_WORD]
            ids = self._tokenizer.encode_batch(short)
            self._words.add(short, np.diff(ids.offsets).astype(np.int32), ids.ids)

    def _together(
        self, work: Callable[[Block], None], blocks: list[Block], halt: Callable[[], None]
    ) -> None:
        """Work on every block in a thread of its own, on the first one here; an error halts all."""

        def watched(block: Block) -> None:
            try:
                work(block)
            except BaseException:
                halt()
                raise

        futures: list[Future[None]] = []
        try:
            for block in blocks[1:]:
                if self._pool is None or self._process != os.getpid():  # a fork has no threads
                    self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="encode")
                    self._process = os.getpid()
                futures.append(self._pool.submit(watched, block))
            watched(blocks[0])
        except BaseException:
            halt()
            raise
        finally:
            _wait(futures)
        for future in futures:
            future.result()

    def _learn_pieces(self) -> None:
        """Give the table the tokenizer's pieces, once there is enough text to be worth it."""
        unigram = getattr(self._tokenizer, "unigram", None)
        if not self._has_pieces and unigram is not None:
            self._words.cut_with(*unigram())
        self._has_pieces = True


class _Parts:
    """Texts that threads take one part after the other, until they are at the end or pause."""

    def __init__(self, count: int, threads: int, progress: bool) -> None:
        self._count, self._at = count, 0
        # the last ones are small, so that the threads end together
        self._size = min(TEXTS_AT_A_TIME, max(1, count // (4 * threads)))
        self._is_paused = True
        self._lock = threading.Lock()
        self._bar: tqdm | None = None
        if progress:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=count, unit=" texts", unit_scale=True)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        while True:
            with self._lock:
                start = self._at
                if self._is_paused or start == self._count:
                    return
                self._at = stop = min(start + self._size, self._count)
                if self._bar is not None:
                    self._bar.update(stop - start)
            yield start, stop

    def pause(self) -> None:
        """No more parts for now."""
        self._is_paused = True

    def resume(self) -> bool:
        """Whether there are parts left."""
        self._is_paused = False
        if self._at == self._count and self._bar is not None:
            self._bar.close()
        return self._at < self._count


def _wait(futures: list[Future[None]]) -> None:
    """Until all are done, however often interrupted: they read what will change."""
    interrupt: BaseException | None = None
    while not all(future.done() for future in futures):
        try:
            wait(futures)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _after_fork() -> None:
    """Another thread of the parent may have held a lock; here it does not run."""
    for encoder in _ENCODERS:
        encoder._lock = threading.Lock()


_ENCODERS: weakref.WeakSet[StaticEncoder] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
