"""Fast path of averaging models, in C: encodes texts without padding or per-token Python code.

Tokens never cross white space, so texts are tokenized word by word. A C dictionary (`WordTable` in
`_words.c`) caches the token ids of words. Each thread encodes ranges of texts with a `Block`, which
looks up words and averages table rows. The C code segments new ASCII words as sentencepiece would.
The tokenizer segments all other new words in one call, the only step that holds the interpreter's
lock. New words enter the dictionary while no thread reads it.

`table.mean_rows` gives the same embeddings up to rounding. In texts above about 6,000 tokens,
sentencepiece's rounding errors can lead to another segmentation.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np

from paraphrastic_hf.encoders.storage.packing import width
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.normalize import valid_unicode

if TYPE_CHECKING:
    from tqdm.auto import tqdm

Buffer = Any  # bytes, or anything with the buffer protocol

try:
    from paraphrastic_hf.encoders.static._words import WordTable
except ImportError:  # no wheel for this platform and no compiler
    WordTable = None

TEXTS_AT_A_TIME = 512  # texts that a thread takes at once
FEW_TEXTS = 256  # calls with at most this many texts use one thread
MANY_WORDS = 8192  # new words per thread; more would not fit its core's cache
LONGEST_WORD = 48  # characters in a cached word; longer ones are mostly URLs, or Chinese
MOST_WORDS = 1_000_000  # words in the cache


def serves(tokenizer: object) -> bool:
    """Return whether the C extension is compiled and tokens do not cross white space."""
    return WordTable is not None and getattr(tokenizer, "keeps_to_words", False)


# The C object with which one thread encodes texts. `mean` averages the texts whose words are all
# cached or can be segmented in C, and defers the others. `asked` lists the words that the tokenizer
# must segment. `answer` takes their ids and averages the deferred texts. `mean_arrow` and
# `answer_arrow` do the same for texts in Arrow's layout. `learn` adds new words to the dictionary.
Block = Any


class StaticEncoder:
    """Thread-safe encoder of texts as means of table rows, for tokenizers that `serves` accepts."""

    def __init__(self, tokenizer: TextTokenizer, *, num_threads: int = -1) -> None:
        self._tokenizer = tokenizer
        self._words = WordTable(lowercase=tokenizer.lowercase)
        self._threads = num_threads if num_threads > 0 else (os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._has_pieces = False
        self._process = os.getpid()
        _ENCODERS.add(self)

    def __getstate__(self) -> dict[str, object]:  # a copy starts with an empty cache
        return {"tokenizer": self._tokenizer, "num_threads": self._threads}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def forget(self) -> None:
        """Clear the cache of words, but not the tokenizer's own caches."""
        with self._lock:
            self._words = WordTable(lowercase=self._tokenizer.lowercase)
            had_pieces, self._has_pieces = self._has_pieces, False
            if had_pieces:
                self._learn_pieces()

    def encode(
        self,
        texts: Sequence[str],
        table: Any,
        *,
        normalize_embeddings: bool = False,
        progress: bool = False,
        tokens: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the mean of the table rows of each text's tokens, (texts, dim) float32. `table` is
        `Table.arrays`, and `tokens` an output array for token counts, (texts,) int32.
        """
        texts = list(texts)  # another thread may change the caller's list
        numbers = table[0] if isinstance(table, tuple) else table
        output = np.empty((len(texts), width(numbers)), np.float32)
        rest = table, output, normalize_embeddings, tokens

        def mean(block: Block, start: int, stop: int) -> None:
            try:
                block.mean(texts, start, stop, *rest)
            except UnicodeEncodeError:  # lone surrogates
                part = texts[start:stop]
                texts[start:stop] = [valid_unicode(t) if isinstance(t, str) else t for t in part]
                block.mean(texts, start, stop, *rest)

        def answer(block: Block, counts: np.ndarray, ids: np.ndarray) -> None:
            block.answer(counts, ids, texts, *rest)

        self._encode(len(texts), mean, answer, progress)
        return output

    def encode_arrow(
        self,
        offsets: np.ndarray,
        utf8: Buffer,
        table: Any,
        output: np.ndarray,
        *,
        normalize_embeddings: bool = False,
    ) -> None:
        """Write the vectors that `encode` returns to `output`, for texts in Arrow's layout.

        `offsets` are the start of each text in `utf8`, and the last end, (texts + 1,) int64.
        `output` is (texts, dim), contiguous: float32, float16, or int8 as in `vectors.rounded`.
        """
        rest = table, output, normalize_embeddings

        def mean(block: Block, start: int, stop: int) -> None:
            block.mean_arrow(offsets, utf8, start, stop, *rest)

        def answer(block: Block, counts: np.ndarray, ids: np.ndarray) -> None:
            block.answer_arrow(offsets, utf8, counts, ids, *rest)

        self._encode(len(output), mean, answer)

    def _encode(
        self,
        count: int,
        mean: Callable[[Block, int, int], None],
        answer: Callable[[Block, np.ndarray, np.ndarray], None],
        progress: bool = False,
    ) -> None:
        with self._lock:
            if count > FEW_TEXTS:
                self._learn_pieces()
            threads = self._threads if count > FEW_TEXTS else 1
            blocks = [self._words.block() for _ in range(threads)]
            parts = _Parts(count, threads, progress)

            def work(block: Block) -> None:
                for start, stop in parts:
                    mean(block, start, stop)
                    if len(block) > MANY_WORDS:
                        parts.pause()
                if asked := block.asked():
                    ids = self._tokenizer.encode_batch(asked)
                    answer(block, np.diff(ids.offsets).astype(np.int32), ids.ids)

            while parts.resume():
                self._run(work, blocks, parts.pause)
                for block in blocks:
                    block.learn(LONGEST_WORD, MOST_WORDS)

    def _run(
        self, work: Callable[[Block], None], blocks: list[Block], halt: Callable[[], None]
    ) -> None:
        def watched(block: Block) -> None:
            try:
                work(block)
            except BaseException:
                halt()
                raise

        futures: list[Future[None]] = []
        try:
            for block in blocks[1:]:
                if self._pool is None or self._process != os.getpid():  # a fork loses its threads
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
        """Add the tokenizer's pieces to the dictionary, with which C segments ASCII words."""
        unigram = getattr(self._tokenizer, "unigram", None)
        if not self._has_pieces and unigram is not None:
            self._words.cut_with(*unigram())
        self._has_pieces = True


class _Parts:
    """Ranges of text indices that threads share: each range goes to one thread."""

    def __init__(self, count: int, threads: int, progress: bool) -> None:
        self._count, self._at = count, 0
        # small ranges if texts are few, so that threads finish together
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
        self._is_paused = True

    def resume(self) -> bool:
        """Continue after a pause. Return whether texts remain."""
        self._is_paused = False
        if self._at == self._count and self._bar is not None:
            self._bar.close()
        return self._at < self._count


def _wait(futures: list[Future[None]]) -> None:
    """Wait for all futures, even if interrupted, because they read data that changes afterwards."""
    interrupt: BaseException | None = None
    while not all(future.done() for future in futures):
        try:
            wait(futures)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _after_fork() -> None:
    """Replace all locks in a forked process, because threads that held them were not copied."""
    for encoder in _ENCODERS:
        encoder._lock = threading.Lock()


_ENCODERS: weakref.WeakSet[StaticEncoder] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
