"""Rows per second and peak memory of streaming ParaNMT, beside the stock readers of `datasets`.

Makes files in ParaNMT's format from words of the demo pairs, then reads each in a fresh process,
in turns: our builder, our builder with the filters of SIM (score and trigram overlap), and
`datasets`' own `csv` reader, streaming the same file. Peak memory is the process's largest
resident set; flat means it does not grow with the file.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import datasets

from paraphrastic_hf import load_dataset
from paraphrastic_hf.io.files import write_json

DEMO = Path(__file__).parents[1] / "recipes" / "demo" / "pairs.tsv"
READERS = ("paranmt", "paranmt filtered", "datasets csv")


def make(path: Path, rows: int, seed: int = 1) -> None:
    """A file of random sentences of 5 to 20 words, with scores."""
    words = DEMO.read_text(encoding="utf-8").split()
    choice = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            first = choice.choices(words, k=choice.randint(5, 20))
            second = [*first[: len(first) // 2], *choice.choices(words, k=len(first) // 2)]
            score = f"{choice.uniform(-0.1, 1):.6f}"
            file.write(f"{' '.join(first)}\t{' '.join(second)}\t{score}\n")


def read(reader: str, path: Path) -> None:
    """Stream a file once; print rows given, seconds and peak memory as JSON."""
    if reader == "datasets csv":
        rows = datasets.load_dataset(
            "csv",
            data_files=str(path),
            sep="\t",
            names=["sentence1", "sentence2", "score"],
            quoting=3,
            split="train",
            streaming=True,
        )
    else:
        options = {"min_score": 0.5, "max_overlap": 0.2} if "filtered" in reader else {}
        rows = load_dataset(
            "paranmt", "50m", "train", data_dir=path.parent, streaming=True, **options
        )
    start = time.perf_counter()
    count = sum(1 for _ in rows)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": count, "seconds": seconds, "peak_mb": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 5_000_000])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("results/data.json"))
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(arguments.read[0], Path(arguments.read[1]))
        return
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in arguments.rows:
            path = Path(folder) / str(rows) / "para-nmt-50m.txt"
            path.parent.mkdir()
            make(path, rows)
            runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
            for _ in range(arguments.repetitions):
                for reader in READERS:
                    command = [sys.executable, __file__, "--read", reader, str(path)]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    runs[reader].append(json.loads(done.stdout))
            for reader, results in runs.items():
                speeds = [rows / result["seconds"] for result in results]
                row = {
                    "reader": reader,
                    "rows_in_file": rows,
                    "rows_given": results[0]["rows"],
                    "rows_per_second": round(statistics.median(speeds)),
                    "slowest": round(min(speeds)),
                    "fastest": round(max(speeds)),
                    "peak_mb": round(max(result["peak_mb"] for result in results)),
                }
                measured.append(row)
                print(row)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    versions = {"python": platform.python_version(), "datasets": datasets.__version__}
    settings = {"repetitions": arguments.repetitions, "machine": platform.processor()}
    write_json(arguments.output, {"measured": measured, "versions": versions, "settings": settings})


if __name__ == "__main__":
    main()
