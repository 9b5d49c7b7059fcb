"""Speed and memory of streaming a file with `load_dataset("paranmt")`.

The file has ParaNMT's format and words of the demo pairs. Each reader streams it in a fresh
process, in turns:

* `paranmt` is our builder, `paranmt filtered` the same with the filters of SIM (score, overlap).
* `datasets csv` is the stock reader of `datasets`, which checks nothing.

Memory is constant if its peak does not grow with the file.
"""

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from common.report import Table, options, save, settings
from common.timing import fresh, in_turns, peak_mb, spread

DEMO = Path(__file__).parents[1] / "recipes" / "demo" / "pairs.tsv"
READERS = ("paranmt", "paranmt filtered", "datasets csv")


def make(path: Path, rows: int) -> None:
    """Write random sentences of 5 to 20 words, with scores."""
    words = DEMO.read_text(encoding="utf-8").split()
    choice = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            first = choice.choices(words, k=choice.randint(5, 20))
            half = len(first) // 2
            second = [*first[:half], *choice.choices(words, k=half)]
            score = choice.uniform(-0.1, 1)
            file.write(f"{' '.join(first)}\t{' '.join(second)}\t{score:.6f}\n")


def read(reader: str, path: Path) -> dict[str, float]:
    """Stream a file once, and return the number of rows, seconds and peak memory."""
    import datasets

    from paraphrastic_hf import load_dataset

    rows: Any
    if reader == "datasets csv":
        names = ["sentence1", "sentence2", "score"]
        rows = datasets.load_dataset(
            "csv",
            data_files=str(path),
            sep="\t",
            names=names,
            quoting=3,
            split="train",
            streaming=True,
        )
    else:
        filters = {"min_score": 0.5, "max_overlap": 0.2} if "filtered" in reader else {}
        rows = load_dataset(
            "paranmt", "50m", "train", data_dir=path.parent, streaming=True, **filters
        )
    start = time.perf_counter()
    count = sum(1 for _ in rows)
    return {"rows": count, "seconds": time.perf_counter() - start, "peak_mb": peak_mb()}


def main() -> None:
    parser = options(__doc__, threads=None, repetitions=3)
    sizes = [500_000, 5_000_000]
    parser.add_argument("--rows", type=int, nargs="+", default=sizes, help="rows of each file")
    args = parser.parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in args.rows:
            path = Path(folder) / str(rows) / "para-nmt-50m.txt"
            path.parent.mkdir()
            make(path, rows)
            runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in READERS}
            for _, reader in in_turns(READERS, args.repetitions):
                runs[reader].append(fresh(read, reader, path))
            for reader, found in runs.items():
                speeds = spread([rows / run["seconds"] for run in found])
                peak = max(run["peak_mb"] for run in found)
                row = {"rows/s": speeds, "peak MB": peak, "rows given": found[0]["rows"]}
                measured[f"{reader}, {rows:,}"] = row
    results = {"settings": settings(args, "datasets"), "measured": measured}
    save(args, results, Table("reader, rows in file", measured))


if __name__ == "__main__":
    main()
