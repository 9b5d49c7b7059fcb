"""Mining bitext: seconds, peak memory and what is found, beside sentence-transformers and FAISS.

Text: `--true-share` of the lines of either side are sentence pairs of `--data` (English, and the
other languages mixed), shuffled; the others are made of the first half of one sentence and the
second half of another, so they have no translation on the other side and look like sentences. The
pairs may be text that the model was trained on: this measures search, not the model.

Equal for all contenders of a size: the vectors, unit length float32 in one .npy file a side, read
before the clock starts but by ours, which maps the file; k nearest neighbours both ways; then the
same ratio margins, union of candidates and competitive linking (not timed). Each runs in a fresh
process, threads `--threads`; peak memory is that of the process (`VmHWM`, Linux), with imports
and, for the contenders that hold them, the vectors.

* `ours, float32` and `ours, bfloat16` are `mining.neighbours.nearest` with `--memory` MB.
* `semantic_search` is sentence-transformers', called once a direction (it gives one), with its
  default chunks.
* `faiss-flat` and `faiss-ivf` are `mining.approximate.nearest_by_faiss`, training included.

`neighbours` is the share of the exact k nearest, both ways, that were found (`ours, float32` is
what is exact; at sizes where it is not run, `ours, bfloat16` stands in); `true_pairs` the share of
the true pairs among the mined, `precision` of the first as many mined pairs as there are true ones
that are true. `paraphrastic mine` runs from text to TSV at `--whole` lines.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

K = 4
EXACT, HALF, PEER = "ours, float32", "ours, bfloat16", "semantic_search"
CONTENDERS = (EXACT, HALF, PEER, "faiss-flat", "faiss-ivf")
COLORS = {EXACT: "C0", HALF: "C2", PEER: "C1", "faiss-flat": "C7", "faiss-ivf": "C4"}
TRUTH, WHOLE = "truth.npy", "paraphrastic mine"


def make_text(folder: Path, files: list[Path], lines: int, share: float, seed: int = 1) -> None:
    """`source.txt`, `target.txt` and for each source line the target line that translates it."""
    from paraphrastic_hf.io.lines import text_lines

    pairs: dict[str, str] = {}
    for file in files:
        for _, line in text_lines(file):
            english, other, *_ = line.split("\t")
            if len(english.split()) > 3:
                pairs.setdefault(other, english)
    by_english = {english: other for other, english in pairs.items()}
    rng = random.Random(seed)
    chosen = rng.sample(sorted(by_english.items()), min(len(by_english), int(lines * share)))
    sides: tuple[list[str], list[str]] = ([b for _, b in chosen], [a for a, _ in chosen])
    texts = (sorted(by_english.values()), sorted(by_english))
    for side, words in zip(sides, ([t.split() for t in text] for text in texts), strict=True):
        known = set(side)
        while len(side) < lines:
            first, second = rng.choice(words), rng.choice(words)
            text = " ".join([*first[: len(first) // 2 + 1], *second[len(second) // 2 :]])
            if text not in known:
                known.add(text)
                side.append(text)
    order = np.random.default_rng(seed).permutation(lines)
    place = np.argsort(order)  # line i of the list of targets goes to line place[i] of the file
    folder.mkdir(parents=True)
    truth = np.full(lines, -1)
    truth[: len(chosen)] = place[: len(chosen)]
    np.save(folder / TRUTH, truth)
    (folder / "source.txt").write_text("\n".join(sides[0]) + "\n", encoding="utf-8")
    shuffled = [sides[1][i] for i in order]
    (folder / "target.txt").write_text("\n".join(shuffled) + "\n", encoding="utf-8")


def encode(folder: Path, model: str) -> None:
    """`source.npy` and `target.npy`, of unit length."""
    from paraphrastic_hf import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(model)
    for side in ("source", "target"):
        lines = (folder / f"{side}.txt").read_text(encoding="utf-8").split("\n")[:-1]
        np.save(folder / f"{side}.npy", encoder.encode(lines, normalize_embeddings=True))


def contend(name: str, folder: Path, memory: float) -> None:
    """Run one contender; write the neighbours, print seconds and peak memory as JSON."""
    from paraphrastic_hf.mining.approximate import nearest_by_faiss
    from paraphrastic_hf.mining.neighbours import Neighbours, nearest
    from paraphrastic_hf.mining.vectors import UnitRows

    mapped = "r" if name in (EXACT, HALF) else None
    vectors = [np.load(folder / f"{side}.npy", mmap_mode=mapped) for side in ("source", "target")]
    if name == PEER:
        from sentence_transformers.util import semantic_search
    if name == HALF:
        import torch  # noqa: F401
    start = time.perf_counter()
    if name == PEER:
        found = []
        for queries, corpus in (vectors, vectors[::-1]):
            hits = semantic_search(queries, corpus, top_k=K)
            scores, ids = (
                np.array([[hit[key] for hit in row] for row in hits])
                for key in ("score", "corpus_id")
            )
            found.append(Neighbours(scores.astype(np.float32), ids))
    else:
        rows = [UnitRows(side) for side in vectors]
        if name in (EXACT, HALF):
            precision = name.removeprefix("ours, ")
            found = list(nearest(*rows, K, memory=memory, precision=precision))
        else:
            found = list(nearest_by_faiss(*rows, K, kind=name.removeprefix("faiss-")))
    seconds = time.perf_counter() - start
    peak = peak_mb()
    arrays = {f"{i}{j}": array for i, side in enumerate(found) for j, array in enumerate(side)}
    np.savez(folder / f"{name}.npz", **arrays)
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def peak_mb() -> float:
    """Of this process, or of a child that said so itself."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else float("nan")


def judge(name: str, folder: Path) -> dict[str, float]:
    """Shares of the exact neighbours and of the true pairs that a contender's result has."""
    from paraphrastic_hf.mining.bitext import link
    from paraphrastic_hf.mining.neighbours import Neighbours

    found = {}
    for each in {name, EXACT, HALF}:
        if (folder / f"{each}.npz").exists():
            with np.load(folder / f"{each}.npz") as file:
                found[each] = [Neighbours(file[f"{i}0"], file[f"{i}1"]) for i in (0, 1)]
    shares = {}
    reference = EXACT if EXACT in found else HALF
    if reference in found and (name, reference) != (HALF, HALF):
        hits = [
            np.mean([(own.ids[:, [j]] == exact.ids).any(1).mean() for j in range(K)])
            for own, exact in zip(found[name], found[reference], strict=True)
        ]
        shares["neighbours"] = float(np.mean(hits))
    return shares | true_shares(link(*found[name]), np.load(folder / TRUTH))


def true_shares(pairs: Any, truth: np.ndarray) -> dict[str, float]:
    """Of true pairs that were mined, and of the best mined pairs that are true."""
    number = int((truth >= 0).sum())
    is_true = truth[pairs.source] == pairs.target
    return {
        "true_pairs": float(is_true.sum() / number),
        "precision": float(is_true[:number].mean()),
    }


def run_child(arguments: list[str], env: dict[str, str]) -> dict[str, float]:
    """The JSON a fresh process prints last."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def whole(folder: Path, model: str, memory: float) -> None:
    """`paraphrastic mine` from text to pairs, in this process, with the peak memory."""
    from paraphrastic_hf.cli.main import main as command

    start = time.perf_counter()
    sides = [str(folder / f"{side}.txt") for side in ("source", "target")]
    options = ["--precision", "bfloat16", "--memory", str(memory), "--quiet"]
    command(["mine", *sides, "--model", model, "--output", str(folder / "pairs.parquet"), *options])
    print(json.dumps({"seconds": time.perf_counter() - start, "peak_mb": peak_mb()}))


def judge_whole(folder: Path) -> dict[str, float]:
    """Shares of the pairs the command wrote."""
    import pyarrow.parquet as pq

    from paraphrastic_hf.mining.bitext import Pairs

    table = pq.read_table(folder / "pairs.parquet")
    lines = [table[f"{side}_line"].to_numpy() - 1 for side in ("source", "target")]
    return true_shares(Pairs(table["score"].to_numpy(), *lines), np.load(folder / TRUTH))


def plot(measured: list[dict[str, Any]], path: Path) -> None:
    """Seconds and peak memory against lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = (("seconds", "seconds, both ways"), ("peak_mb", "peak memory, MB"))
    for axes, (key, label) in zip(figure.subplots(1, 2), panels, strict=True):
        for name in dict.fromkeys(row["contender"] for row in measured):
            rows = [row for row in measured if row["contender"] == name]
            x, y = [row["lines"] for row in rows], [row[key] for row in rows]
            axes.loglog(x, y, "o-", color=COLORS.get(name, "C3"), label=name)
        axes.set(xlabel="lines a side", ylabel=label)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)


def table(measured: list[dict[str, Any]]) -> str:
    """Rows of Markdown."""
    lines = ["| lines a side | | seconds | peak MB | exact neighbours | true pairs | precision |"]
    lines.append("|---:|---|---:|---:|---:|---:|---:|")
    for row in measured:
        shares = (row.get(key) for key in ("neighbours", "true_pairs", "precision"))
        cells = " | ".join("" if share is None else f"{share:.2%}" for share in shares)
        numbers = f"{row['seconds']:,.1f} | {row['peak_mb']:,.0f}"
        lines.append(f"| {row['lines']:,} | {row['contender']} | {numbers} | {cells} |")
    return "\n".join(lines) + "\n"


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """What a number needs beside it."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in ("paraphrastic-hf", "numpy", "torch", "sentence-transformers", "faiss-cpu"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    kept = {k: v for k, v in vars(args).items() if k not in ("output", "work", "child", "data")}
    cpu = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", cpu.read_text()) if cpu.exists() else None
    return kept | {
        "k": K,
        "data": [f"{file.parent.name}/{file.name}" for file in args.data],
        "processor": found[1] if found else platform.processor(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def main() -> None:
    """Measure, then write `mining.json`, `mining.md` and `mining.png`."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    option = parser.add_argument
    data = Path(os.environ.get("PARAPHRASTIC_DATA", "."), "train")
    names = ("en-fr", "en-de", "en-es", "en-tr", "en-ar", "en-zh")
    option("--data", type=Path, nargs="+", default=[data / n / "tatoeba.tsv.xz" for n in names])
    option("--model", default="multilingual", help="default: the packaged one, 256 dimensions")
    option("--lines", type=int, nargs="*", default=[20_000, 50_000])
    option("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    option("--large", type=int, nargs="*", default=[], help="sizes for --large-contenders")
    option("--large-contenders", nargs="+", choices=CONTENDERS, default=[HALF, "faiss-ivf"])
    option("--whole", type=int, nargs="*", default=[], help="sizes for `paraphrastic mine`")
    option("--true-share", type=float, default=0.1)
    option("--memory", type=float, default=1024, help="MB, of ours; default 1024")
    option("--threads", type=int, default=os.cpu_count())
    option("--work", type=Path, help="folder for texts and vectors")
    option("--output", type=Path, default=Path("results/mining"))
    option("--child", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        kind, folder, name, memory = args.child
        run = {"contend": contend, "whole": lambda n, f, m: whole(f, n, m)}[kind]
        run(name, Path(folder), float(memory))
        return
    env = os.environ | {"OMP_NUM_THREADS": str(args.threads), "HF_HUB_OFFLINE": "1"}
    args.output.mkdir(parents=True, exist_ok=True)
    measured: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        for lines in sorted({*args.lines, *args.large, *args.whole}):
            folder = Path(work) / str(lines)
            make_text(folder, args.data, lines, args.true_share)
            encode(folder, args.model)
            names = [n for n in args.contenders if lines in args.lines]
            names += [n for n in args.large_contenders if lines in args.large and n not in names]
            for name in names + [WHOLE] * (lines in args.whole):
                kind, who = ("whole", args.model) if name == WHOLE else ("contend", name)
                load = os.getloadavg()[0]
                row = {"lines": lines, "contender": name, "load_average_before": load}
                row |= run_child(["--child", kind, str(folder), who, str(args.memory)], env)
                row |= judge_whole(folder) if name == WHOLE else judge(name, folder)
                measured.append(row)
                print(row, flush=True)
                results = {"measured": measured, "settings": settings(args)}
                (args.output / "mining.json").write_text(json.dumps(results, indent=2) + "\n")
    plot(measured, args.output / "mining.png")
    (args.output / "mining.md").write_text(table(measured), encoding="utf-8")
    print(table(measured))


if __name__ == "__main__":
    main()
