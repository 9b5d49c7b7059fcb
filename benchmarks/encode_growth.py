"""The parts growth and disk of `encode.py`: ours alone, beside what the machine can do."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from encode_contenders import PAUSE, set_threads, spread

WORDS = 20
DIMENSIONS = (64, 128, 256, 512, 1024)
WORDS_A_SENTENCE = (5, 10, 20, 50, 100, 200)
POOL = 100_000  # distinct sentences; longer lists repeat them
WORDS_TO_GATHER = 1_000_000
CLI = """import sys
from paraphrastic_hf.cli.main import main
status = main(sys.argv[1:])
lines = open("/proc/self/status").read().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
sys.exit(status)
"""


class Words(NamedTuple):
    """Words of a text with their shares."""

    words: np.ndarray  # of str
    shares: np.ndarray

    @classmethod
    def of(cls, lines: Sequence[str]) -> Words:
        """The words of lines."""
        counts = Counter(word for line in lines for word in line.split())
        numbers = np.fromiter(counts.values(), float)
        return cls(np.array(list(counts), object), numbers / numbers.sum())

    def sentences(self, number: int, words: int, seed: int) -> list[str]:
        """Sentences of random words, each as frequent as in the text."""
        ids = np.random.default_rng(seed).choice(len(self.words), number * words, p=self.shares)
        chosen = self.words[ids].reshape(number, words).tolist()
        return [" ".join(row) for row in chosen]


class Point(NamedTuple):
    """One measurement of the growth."""

    axis: str
    sentences: int
    words: int
    dimension: int


def points(args: Any, dimension: int) -> list[Point]:
    """One axis at a time; the number of words in all is kept where sentences get longer."""
    most = args.growth_sentences
    sizes = [n for n in (1000, 10_000, 100_000, 1_000_000, 10_000_000) if n < most] + [most]
    base = min(most, POOL)
    return [
        *(Point("sentences", n, WORDS, dimension) for n in sizes),
        *(Point("words", max(1, base * WORDS // n), n, dimension) for n in WORDS_A_SENTENCE),
        *(Point("dimensions", base, WORDS, n) for n in DIMENSIONS),
    ]


def growth(
    encoder: Any, words: Words, threads: Sequence[int], args: Any, tick: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Seconds, and bytes of rows read per second, of every point, beside the gather alone.

    Args:
        encoder: A `SentenceEncoder`, for its tokenizer and the size of its table.
    """
    from paraphrastic_hf.encoders.static.engine import StaticEncoder

    tokenizer, results = encoder.tokenizer, []
    rng = np.random.default_rng(1)
    limits: dict[tuple[int, ...], dict[str, dict[str, float]]] = {}
    table = np.empty((0, 0), np.float32)
    for point in points(args, encoder.dimension):
        if table.shape[1] != point.dimension:
            table = rng.standard_normal((tokenizer.vocab_size, point.dimension), np.float32)
        time.sleep(PAUSE)
        pool = words.sentences(min(point.sentences, POOL), point.words, seed=point.words)
        ids = tokenizer.encode_batch(pool)
        row_ids = len(ids.ids) / len(pool)  # a sentence
        texts = list(itertools.islice(itertools.cycle(pool), point.sentences))
        calls = max(1, 10_000 // point.sentences)  # short ones are timed together
        static = {count: StaticEncoder(tokenizer, num_threads=count) for count in threads}
        runs: dict[int, list[float]] = {count: [] for count in threads}
        for number in range(-1, args.repetitions):
            for count in threads:
                tick(f"growth, {point}: {count} threads")
                given = texts if number >= 0 else pool  # the first one learns the words
                started = time.perf_counter()
                for _ in range(calls):
                    static[count].encode(given, table, normalize_embeddings=True)
                if number >= 0:
                    runs[count].append((time.perf_counter() - started) / calls)
        for count in threads:
            key = (count, point.words, point.dimension)
            if key not in limits:
                number = min(WORDS_TO_GATHER, args.growth_sentences * WORDS) // point.words
                enough = tokenizer.encode_batch(words.sentences(max(1, number), point.words, 4))
                limits[key] = gathers(table, enough.ids, np.diff(enough.offsets), count)
            seconds = spread(runs[count])
            read = point.sentences * row_ids * point.dimension * 4 / seconds["median"]
            limit = limits[key]
            results.append(
                point._asdict()
                | {
                    "threads": count,
                    "table_megabytes": table.nbytes / 1e6,
                    "rows_a_sentence": row_ids,
                    "seconds": seconds,
                    "sentences_per_second": point.sentences / seconds["median"],
                    "row_bytes_per_second": read,
                    "gather_bytes_per_second": limit,
                    "share_of_random_rows": read / max(limit["random rows"].values()),
                    "share_of_these_rows": read / max(limit["these rows"].values()),
                }
            )
    return results


def gathers(
    table: np.ndarray, ids: np.ndarray, counts: np.ndarray, threads: int
) -> dict[str, dict[str, float]]:
    """Bytes of rows read per second by averaging alone: no text, only ids.

    Two kernels, torch's `embedding_bag` and ours; rows drawn evenly, and the rows of the text,
    whose frequent ones stay in the caches.
    """
    import torch

    counts = counts.astype(np.int64)
    random_ids = np.random.default_rng(2).integers(0, len(table), len(ids), np.int32)
    found: dict[str, dict[str, float]] = {}
    set_threads(threads)
    for kind, rows in (("random rows", random_ids), ("these rows", ids)):
        by_kernel = found[kind] = {}
        starts = torch.from_numpy(np.cumsum(counts) - counts)
        inputs = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(table), starts
        kernels: dict[str, Callable[[], object]] = {
            "torch": lambda inputs=inputs: torch.nn.functional.embedding_bag(*inputs, mode="mean"),
            "ours": our_kernel(table, rows, counts, threads),
        }
        for name, kernel in kernels.items():
            kernel()
            times = []
            for _ in range(3):
                started = time.perf_counter()
                kernel()
                times.append(time.perf_counter() - started)
            by_kernel[name] = rows.size * table.shape[1] * 4 / float(np.median(times))
    return found


def our_kernel(
    table: np.ndarray, ids: np.ndarray, counts: np.ndarray, threads: int
) -> Callable[[], object]:
    """The C kernel on bags of ids."""
    from paraphrastic_hf.encoders.static._words import average

    ends = np.cumsum(counts)
    cuts = np.linspace(0, len(counts), threads + 1).astype(int)
    output = np.empty((len(counts), table.shape[1]), np.float32)
    parts = []
    for start, stop in itertools.pairwise(cuts):
        first = ends[start] - counts[start]
        mine = ids[first : ends[stop - 1]]
        parts.append((mine, ends[start:stop] - first, table, output[start:stop]))
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda part: average(*part, False), parts))


def made_lines(words: Words, number: int, share_new: float) -> Iterator[list[str]]:
    """Lines of 5 to 25 words, in blocks; a share of them ends in a word no other line has."""
    rng = np.random.default_rng(3)
    for start in range(0, number, 10_000):
        lengths = rng.integers(5, 26, min(10_000, number - start))
        chosen = words.words[rng.choice(len(words.words), lengths.sum(), p=words.shares)].tolist()
        ends = np.cumsum(lengths).tolist()
        lines = [" ".join(chosen[a:b]) for a, b in itertools.pairwise([0, *ends])]
        for i in np.flatnonzero(rng.random(len(lines)) < share_new).tolist():
            lines[i] += f" {start + i}th"
        yield lines


def disk(
    directory: Path, words: Words, args: Any, folder: Path, tick: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Seconds and peak memory of `paraphrastic encode`, a fresh process, for N/10 and N lines."""
    texts, output, zeros = folder / "lines.txt", folder / "vectors.npy", folder / "zeros"
    results = []
    for number in (max(1, args.disk_lines // 10), args.disk_lines):
        tick(f"disk: writing {number:,} lines")
        with texts.open("w", encoding="utf-8") as file:
            for lines in made_lines(words, number, args.disk_new_words):
                file.writelines(f"{line}\n" for line in lines)
        seconds, peaks, writing = [], [], []
        for _ in range(min(3, args.repetitions)):
            tick(f"disk: encoding {number:,} lines")
            os.sync()
            arguments = [str(directory), str(texts), "--output", str(output)]
            command = [
                sys.executable,
                "-c",
                CLI,
                "encode",
                *arguments,
                "--normalize-embeddings",
                "--quiet",
            ]
            started = time.perf_counter()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            seconds.append(time.perf_counter() - started)
            peaks.append(int(done.stdout.split()[-1]) * 1024)  # of its own memory, not a parent's
            vectors = np.load(output, mmap_mode="r")
            if len(vectors) != number or not np.isfinite(vectors[-1]).all():
                raise SystemExit(f"{output} is wrong: {vectors.shape}")
            size, block = vectors.nbytes, np.zeros((16384, vectors.shape[1]), np.float32)
            del vectors
            output.unlink()
            os.sync()
            started = time.perf_counter()
            with zeros.open("wb") as file:
                for start in range(0, size, block.nbytes):
                    file.write(block.data.cast("B")[: size - start])
            writing.append(time.perf_counter() - started)
            zeros.unlink()
        result = {"lines": number, "text_bytes": texts.stat().st_size, "vector_bytes": size}
        result |= {"seconds": spread(seconds), "peak_memory_bytes": spread(peaks)}
        result |= {"sentences_per_second": number / result["seconds"]["median"]}
        results.append(result | {"seconds_writing_as_many_zeros": spread(writing)})
    texts.unlink()
    return results
