"""The fast path of averaging models: strings to vectors without padding, and without a step in
Python for each token.

No piece or word crosses white space, so a text's tokens are those of its words, one after the
other. A dictionary in C (`WordTable` of `_words.c`) remembers the ids of the words it has met.
Each thread takes some texts at a time and has a block of its own. The block looks up their words,
cuts new words in ASCII as sentencepiece would, asks the tokenizer for the other new ones in one
call, and averages the rows of the token table. All of that but the call of the tokenizer runs
without the interpreter's lock. When no thread reads the dictionary, it learns the new words.

The vectors are those of the slow path (`means.py`) but for rounding. Past some 6,000 pieces in one
text, sentencepiece's scores lose digits, so that among equally good cuts of a word it may choose
another than for the word alone.

The slow path serves where the module is not compiled (there is no wheel for the platform and no
compiler), and `batches.py` serves character n-grams, which cross white space.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Protocol

import numpy as np

from paraphrastic_hf.encoders.storage.packing import width
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.normalize import valid_unicode

if TYPE_CHECKING:
    from tqdm.auto import tqdm

try:
    from paraphrastic_hf.encoders.static._words import WordTable
except ImportError:  # no wheel for this platform and no compiler
    WordTable = None

TEXTS_AT_A_TIME = 512  # that a thread takes
FEW_TEXTS = 256  # in a call, for which a second thread is not worth starting
MANY_WORDS = 8192  # new to a thread; more would not fit its core's cache
LONGEST_WORD = 48  # characters that are remembered; longer words are mostly links, or Chinese
MOST_WORDS = 1_000_000  # that are remembered


def serves(tokenizer: object) -> bool:
    """Whether the fast path can be used: it is compiled, and no token crosses white space."""
    return WordTable is not None and getattr(tokenizer, "keeps_to_words", False)


class Block(Protocol):
    """One thread's work on some texts, which `WordTable.block` makes; written in C.

    `mean` averages the texts whose words are known or can be cut, and keeps the others. `asked` has
    the words that the tokenizer must cut, and `answer` takes their ids and averages the texts kept.
    `learn` then puts new words into the dictionary.
    """

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
    """Texts to means of the rows of their tokens.

    Several threads may call one; the calls take turns, each with `num_threads` threads.

    Args:
        tokenizer: One that `serves`.
        num_threads: How many threads `encode` uses; -1 for one a core.
    """

    def __init__(self, tokenizer: TextTokenizer, *, num_threads: int = -1) -> None:
        self._tokenizer = tokenizer
        self._words = WordTable(lowercase=tokenizer.lowercase)
        self._threads = num_threads if num_threads > 0 else (os.cpu_count() or 1)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._has_pieces = False
        self._process = os.getpid()
        _ENCODERS.add(self)

    def __getstate__(self) -> dict[str, object]:
        """A copy in another process remembers no words."""
        return {"tokenizer": self._tokenizer, "num_threads": self._threads}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def forget(self) -> None:
        """Remember no words, as when new; what a tokenizer keeps by itself stays."""
        with self._lock:
            self._words = WordTable(lowercase=self._tokenizer.lowercase)
            had_pieces, self._has_pieces = self._has_pieces, False
            if had_pieces:
                self._learn_pieces()

    def encode(
        self,
        texts: Sequence[str],
        table: np.ndarray,
        *,
        normalize_embeddings: bool = False,
        progress: bool = False,
        tokens: np.ndarray | None = None,
    ) -> np.ndarray:
        """The mean of the rows of each text's tokens.

        Args:
            texts: Any texts. The empty text, and one without a known token, gives zeros.
            table: The row of every token, (vocab, dim), contiguous: float32, or packed as
                `storage/packing.py` describes.
            normalize_embeddings: Whether to scale vectors to unit length (zeros stay zeros).
            progress: Whether to show a progress bar.
            tokens: (texts,) int32, into which the number of tokens of each text is written.

        Returns:
            (texts, dim) float32.

        Raises:
            TypeError: `texts` holds anything but strings.

        Example:
            >>> from paraphrastic_hf.text.word import WordTokenizer
            >>> table = np.array([[0, 0], [0, 0], [1, 0], [0, 1]], np.float32)
            >>> StaticEncoder(WordTokenizer(["cat", "dog"])).encode(["Cat, dog!"], table)
            array([[0.5, 0.5]], dtype=float32)
        """
        texts = list(texts)  # a copy, since another thread may change the caller's list
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
                        block.mean(texts, start, stop, table, output, normalize_embeddings, tokens)
                    except UnicodeEncodeError:  # lone surrogates
                        part = texts[start:stop]
                        texts[start:stop] = [
                            valid_unicode(t) if isinstance(t, str) else t for t in part
                        ]
                        block.mean(texts, start, stop, table, output, normalize_embeddings, tokens)
                    if len(block) > MANY_WORDS:
                        parts.pause()
                if asked := block.asked():
                    ids = self._tokenizer.encode_batch(asked)
                    counts = np.diff(ids.offsets).astype(np.int32)
                    block.answer(
                        counts, ids.ids, texts, table, output, normalize_embeddings, tokens
                    )

            while parts.resume():
                self._together(work, blocks, parts.pause)
                for block in blocks:
                    block.learn(LONGEST_WORD, MOST_WORDS)
        return output

    def _together(
        self, work: Callable[[Block], None], blocks: list[Block], halt: Callable[[], None]
    ) -> None:
        """Work on the first block in this thread and on each other in its own; an error in one has
        all halt."""

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
        """Give the dictionary the tokenizer's pieces, so that it can cut words itself; that takes
        longer than a few texts do."""
        unigram = getattr(self._tokenizer, "unigram", None)
        if not self._has_pieces and unigram is not None:
            self._words.cut_with(*unigram())
        self._has_pieces = True


class _Parts:
    """The texts of a call in parts, which threads take in turn until the last, or until a pause."""

    def __init__(self, count: int, threads: int, progress: bool) -> None:
        self._count, self._at = count, 0
        # small where texts are few, so that the threads end together
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
        """Give out no more parts until `resume`."""
        self._is_paused = True

    def resume(self) -> bool:
        """Give out parts again, and say whether any are left."""
        self._is_paused = False
        if self._at == self._count and self._bar is not None:
            self._bar.close()
        return self._at < self._count


def _wait(futures: list[Future[None]]) -> None:
    """Wait until all are done, however often interrupted, since they read what changes next."""
    interrupt: BaseException | None = None
    while not all(future.done() for future in futures):
        try:
            wait(futures)
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _after_fork() -> None:
    """Renew the locks: a thread of the parent process that held one does not run in this one."""
    for encoder in _ENCODERS:
        encoder._lock = threading.Lock()


_ENCODERS: weakref.WeakSet[StaticEncoder] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
