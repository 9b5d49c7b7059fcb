"""Growth of our encoder's time and memory with the text, compared with the limits of the machine.

* **growth**: `StaticEncoder`, with 1 and `--threads` threads, on up to `--sentences` sentences of 5
  to 200 words, with 64 to 1,024 dimensions. The bytes of table rows that it reads per second are
  compared with averaging alone, from ids, by torch's `embedding_bag` or our kernel, whichever is
  faster. This averages rows drawn evenly from the table, and the rows of the text, of which
  frequent ones stay in the caches.
* **disk**: `paraphrastic encode` from a file of `--disk-lines` lines, and of a tenth, to `.npy`, in
  fresh processes on all cores: seconds, peak memory, and the seconds to write as many zeros. Some
  lines end in a unique word, because the word cache is what could grow.

Sentences are random words with the frequencies of `--text`. Growth repeats 100,000 distinct ones
over random tables of the model's vocabulary. 10,000,000 sentences of 300 dimensions need about 15
GB of memory. `disk` needs 4 x dimension bytes per line in the folder for temporary files (TMPDIR).

Quick test: --sentences 2000 --disk-lines 5000 --repetitions 1
"""

from __future__ import annotations

import argparse
import copy
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common.report import DATA, Table, options, run_parts, save
from common.text import unseen
from common.timing import fresh, in_turns, peak_mb, set_threads, spread, timed

WORDS = 20
DIMENSIONS = (64, 128, 256, 512, 1024)
WORDS_A_SENTENCE = (5, 10, 20, 50, 100, 200)
POOL = 100_000  # distinct sentences, repeated in longer lists
WORDS_TO_GATHER = 1_000_000
NEW_WORDS = 0.1  # share of the lines of disk with a unique word


class Words(NamedTuple):
    """The words of a text with their relative frequencies."""

    words: np.ndarray  # of str
    shares: np.ndarray

    @classmethod
    def of(cls, files: Sequence[Path]) -> Words:
        """Count the words in the first columns of files."""
        _, (rows,) = unseen(files, [0], 10**9, 1, 0)
        counts = Counter(word for (line,) in rows for word in line.split())
        numbers = np.fromiter(counts.values(), float)
        return cls(np.array(list(counts), object), numbers / numbers.sum())

    def sentences(self, lengths: np.ndarray, rng: np.random.Generator) -> list[str]:
        """Return sentences of random words with the frequencies of the text."""
        chosen = self.words[rng.choice(len(self.words), lengths.sum(), p=self.shares)].tolist()
        ends = np.cumsum(lengths).tolist()
        return [" ".join(chosen[a:b]) for a, b in itertools.pairwise([0, *ends])]


class Point(NamedTuple):
    sentences: int
    words: int
    dimension: int


def points(most: int, dimension: int) -> list[Point]:
    """Return the points along each axis. Longer sentences are fewer, so that the number of words
    stays."""
    base = min(most, POOL)
    sizes = [size for size in (1000, 10_000, 100_000, 1_000_000, 10_000_000) if size < most]
    return [
        *(Point(size, WORDS, dimension) for size in (*sizes, most)),
        *(Point(max(1, base * WORDS // words), words, dimension) for words in WORDS_A_SENTENCE),
        *(Point(base, WORDS, size) for size in DIMENSIONS),
    ]


def growth(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return seconds and bytes of rows read per second at every point, and of averaging alone."""
    from paraphrastic_hf import SentenceEncoder
    from paraphrastic_hf.encoders.static.engine import StaticEncoder

    encoder, words = SentenceEncoder.from_pretrained(args.model), Words.of(args.text)
    tokenizer, results, rng = encoder.tokenizer, [], np.random.default_rng(1)
    limits: dict[tuple[int, int, int], dict[str, float]] = {}
    table = np.empty((0, 0), np.float32)
    threads = {f"{count} thread(s)": count for count in sorted({1, args.threads})}
    for point in points(args.sentences, encoder.dimension):
        print(point, flush=True)
        if table.shape[1] != point.dimension:
            table = rng.standard_normal((tokenizer.vocab_size, point.dimension), np.float32)
        pool = words.sentences(np.full(min(point.sentences, POOL), point.words), rng)
        row_ids = len(tokenizer.encode_batch(pool).ids) / len(pool)  # a sentence
        texts = list(itertools.islice(itertools.cycle(pool), point.sentences))
        calls = max(1, 10_000 // point.sentences)  # times short calls together
        static = {name: StaticEncoder(tokenizer, num_threads=n) for name, n in threads.items()}
        runs: dict[str, list[float]] = {name: [] for name in threads}
        for number, name in in_turns(threads, args.repetitions, warm_up=True):
            given = texts if number >= 0 else pool  # the warm-up fills the word cache
            encode = partial(static[name].encode, normalize_embeddings=True)
            seconds = sum(timed(encode, given, table)[0] for _ in range(calls))
            if number >= 0:
                runs[name].append(seconds / calls)
        for name, count in threads.items():
            key = (count, point.words, point.dimension)
            if key not in limits:
                number = max(1, min(WORDS_TO_GATHER, args.sentences * WORDS) // point.words)
                batch = tokenizer.encode_batch(words.sentences(np.full(number, point.words), rng))
                limits[key] = averaging(table, batch.ids, np.diff(batch.offsets), count)
            seconds = spread(runs[name])
            rate = point.sentences / seconds["median"]
            read = rate * row_ids * point.dimension * 4
            text = (
                f"{point.sentences:,} of {point.words} words, {point.dimension} dimensions, {name}"
            )
            row = {
                "name": text,
                "seconds": seconds,
                "sentences/s": rate,
                "GB/s of rows": read / 1e9,
            }
            shares = {f"% of averaging {kind}": 100 * read / v for kind, v in limits[key].items()}
            results.append(row | shares)
    return results


def averaging(
    table: np.ndarray, ids: np.ndarray, counts: np.ndarray, threads: int
) -> dict[str, float]:
    """Return the bytes of rows that the faster kernel averages per second, from ids."""
    import torch

    counts = counts.astype(np.int64)
    even = np.random.default_rng(2).integers(0, len(table), len(ids), np.int32)
    starts = torch.from_numpy(np.cumsum(counts) - counts)
    found: dict[str, float] = {}
    set_threads(threads)
    for kind, rows in (("even rows", even), ("these rows", ids)):
        inputs = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(table), starts
        kernels: list[Callable[[], object]] = [
            lambda inputs=inputs: torch.nn.functional.embedding_bag(*inputs, mode="mean"),
            our_kernel(table, rows, counts, threads),
        ]
        for kernel in kernels:
            kernel()
        best = min(np.median([timed(kernel)[0] for _ in range(3)]) for kernel in kernels)
        found[kind] = rows.size * table.shape[1] * 4 / float(best)
    return found


def our_kernel(
    table: np.ndarray, ids: np.ndarray, counts: np.ndarray, threads: int
) -> Callable[[], object]:
    """Return a call of the C kernel on bags of ids."""
    from paraphrastic_hf.encoders.static._words import average

    ends = np.cumsum(counts)
    cuts = np.linspace(0, len(counts), threads + 1).astype(int)
    output = np.empty((len(counts), table.shape[1]), np.float32)
    parts = []
    for start, stop in itertools.pairwise(cuts):
        first = ends[start] - counts[start]
        own = ids[first : ends[stop - 1]]
        parts.append((own, ends[start:stop] - first, table, output[start:stop]))
    pool = ThreadPoolExecutor(threads)
    return lambda: list(pool.map(lambda part: average(*part, False), parts))


def disk(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return seconds and peak memory of `paraphrastic encode` for N/10 and N lines."""
    words, results = Words.of(args.text), []
    with tempfile.TemporaryDirectory() as name:
        texts, output, zeros = (Path(name) / each for each in ("lines.txt", "a.npy", "zeros"))
        for number in (max(1, args.disk_lines // 10), args.disk_lines):
            write_lines(texts, words, number, NEW_WORDS)
            seconds, peaks, writing = [], [], []
            for _ in range(min(3, args.repetitions)):
                os.sync()
                took, peak = timed(fresh, encode_file, args.model, texts, output)
                seconds.append(took)
                peaks.append(peak)
                vectors = np.load(output, mmap_mode="r")
                if len(vectors) != number or not np.isfinite(vectors[-1]).all():
                    raise SystemExit(f"{output} is wrong: {vectors.shape}")
                size = vectors.nbytes
                del vectors
                output.unlink()
                os.sync()
                writing.append(timed(write_zeros, zeros, size)[0])
                zeros.unlink()
            row = {"name": f"{number:,} lines, {size / 1e6:,.0f} MB", "seconds": spread(seconds)}
            results.append(row | {"peak MB": spread(peaks), "writing zeros, s": spread(writing)})
    return results


def write_lines(path: Path, words: Words, number: int, share_new: float) -> None:
    """Write lines of 5 to 25 words, a share of them with a unique last word."""
    rng = np.random.default_rng(3)
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, number, 10_000):
            block = words.sentences(rng.integers(5, 26, min(10_000, number - start)), rng)
            for i in np.flatnonzero(rng.random(len(block)) < share_new).tolist():
                block[i] += f" {start + i}th"
            file.writelines(f"{line}\n" for line in block)


def encode_file(model: Path, texts: Path, output: Path) -> float:
    """Run `paraphrastic encode`, and return the peak memory."""
    from paraphrastic_hf.cli.main import main as command

    options = ["--output", str(output), "--normalize-embeddings", "--quiet"]
    if command(["encode", str(model), str(texts), *options]):
        raise SystemExit("paraphrastic encode failed")
    return peak_mb()


def write_zeros(path: Path, size: int) -> None:
    """Write `size` zero bytes."""
    block = bytes(2**25)
    with path.open("wb") as file:
        for start in range(0, size, len(block)):
            file.write(block[: size - start])


def main() -> None:
    parts = {"growth": growth, "disk": disk}
    parser = options(__doc__, repetitions=3, parts=parts)
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "indian_mturk_translations.tsv.xz"
    option("--model", type=Path, required=True, help="directory of an averaging model")
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV (first column)")
    option("--sentences", type=int, default=1_000_000, help="maximum sentences of growth")
    option("--disk-lines", type=int, default=1_000_000, help="maximum lines of disk")
    args = parser.parse_args()
    results = run_parts(args, parts, "torch")
    tables = [
        Table(name, {row.pop("name"): row for row in copy.deepcopy(results[name])}, ",.4g")
        for name in args.parts
    ]
    save(args, results, *tables)


if __name__ == "__main__":
    main()
