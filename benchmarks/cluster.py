"""Rows per second of Ray Data, Daft, Spark and datatrove on this machine, compared with `encode`.

Each reads a folder of parquet files, adds a column of unit vectors and writes parquet files, as
Daft's benchmark of document embedding does after it has cut its documents. `corpus encode` reads
text files with the same lines and writes `.npy`. A row is a made document: sentences drawn with a
seed. All use one model, one output type and as many processes or threads.

Each run is a fresh process that first embeds one row, which includes the start of the engine and
the model, and then all rows. The overhead per row is the time of an engine minus the time of
`encode_arrow`, times the number of threads.

Optional peers: pip install "ray[data]" daft pyspark datatrove (Spark needs Java 17)

Quick test: --rows 2000 --repetitions 1
"""

import importlib.util
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from common.report import DATA, Table, options, save, settings
from common.text import unseen
from common.timing import fresh, in_turns, spread, timed

Run = Callable[[Path, Path], Any]  # from a folder of files to a new folder
FILES = 8


def lists(threads: int, model: str, dimension: int) -> Run:
    from paraphrastic_hf import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(model, num_threads=threads)

    def run(source: Path, output: Path) -> None:
        output.mkdir()
        for path in source.glob("*.parquet"):
            table = pq.read_table(path)
            texts = table["text"].to_pylist()
            vectors = encoder.encode(texts, truncate_dim=dimension, normalize_embeddings=True)
            column = pa.FixedSizeListArray.from_arrays(vectors.ravel(), dimension)
            pq.write_table(table.append_column("vector", column), output / path.name)

    return run


def arrow(threads: int, model: str, dimension: int) -> Run:
    from paraphrastic_hf.integrations.columns import ColumnEncoder

    encode = ColumnEncoder(model, dimension=dimension, num_threads=threads)

    def run(source: Path, output: Path) -> None:
        output.mkdir()
        for path in source.glob("*.parquet"):
            table = pq.read_table(path)
            table = table.append_column("vector", encode(table["text"]))
            pq.write_table(table, output / path.name)

    return run


def corpus_encode(threads: int, model: str, dimension: int) -> Run:
    from paraphrastic_hf.pipelines.encode import encode_files
    from paraphrastic_hf.pipelines.recipe import MakeArguments

    def run(source: Path, output: Path) -> None:
        files = sorted(map(str, source.glob("*.txt")))
        encode_files(
            model, files, output, MakeArguments(workers=threads), normalize_embeddings=True
        )

    return run


def ray(threads: int, model: str, dimension: int) -> Run:
    import ray

    from paraphrastic_hf.integrations.ray import Embed

    ray.init(num_cpus=threads, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    embed = Embed(model, dimension=dimension)

    def run(source: Path, output: Path) -> None:
        table = ray.data.read_parquet(str(source), file_extensions=["parquet"])
        table.map_batches(embed, batch_format="pyarrow").write_parquet(str(output))

    return run


def daft(threads: int, model: str, dimension: int) -> Run:
    import daft

    from paraphrastic_hf.integrations.daft import embed

    vector = embed(model, dimension=dimension, num_threads=threads)(daft.col("text"))

    def run(source: Path, output: Path) -> None:
        table = daft.read_parquet(f"{source}/*.parquet").with_column("vector", vector)
        table.write_parquet(str(output))

    return run


def spark(threads: int, model: str, dimension: int) -> Run:
    from pyspark.sql import SparkSession

    from paraphrastic_hf.integrations.spark import embed

    builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", False)
    session = builder.getOrCreate()
    embedding = embed(model, dimension=dimension)("text")

    def run(source: Path, output: Path) -> None:
        table = session.read.parquet(f"{source}/*.parquet")
        table.withColumn("vector", embedding).write.parquet(str(output))

    return run


def datatrove(threads: int, model: str, dimension: int) -> Run:
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.writers import ParquetWriter

    from paraphrastic_hf.integrations.datatrove import Embed

    def run(source: Path, output: Path) -> None:
        LocalPipelineExecutor(
            [
                ParquetReader(str(source), glob_pattern="*.parquet"),
                Embed(model, dimension=dimension),
                ParquetWriter(str(output)),
            ],
            tasks=len(list(source.glob("*.parquet"))),
            workers=threads,
            logging_dir=f"{output}-logs",
        ).run()

    return run


LIST, ARROW = "ours, encode(list)", "ours, encode_arrow"
ENGINES: dict[str, tuple[str | None, Callable[..., Run]]] = {  # the package that each needs
    ARROW: (None, arrow),
    LIST: (None, lists),
    "ours, corpus encode": ("datatrove", corpus_encode),
    "Ray Data": ("ray", ray),
    "Daft": ("daft", daft),
    "Spark": ("pyspark", spark),
    "datatrove": ("datatrove", datatrove),
}


def measure(
    name: str, folder: Path, threads: int, model: str, dimension: int
) -> tuple[float, float]:
    """Return the seconds until the first row is written, and those for all rows."""

    def first() -> Run:
        run = ENGINES[name][1](threads, model, dimension)
        run(folder / "one", folder / "first")
        return run

    start, run = timed(first)
    seconds, _ = timed(run, folder / "all", folder / "output")
    return start, seconds


def make_rows(folder: Path, lines: list[str], rows: int, sentences: int) -> None:
    """Write the rows as parquet and text files, and one row alone."""
    draw = random.Random(1)
    texts = [" ".join(draw.choices(lines, k=sentences)) for _ in range(rows)]
    for name, chosen, files in (("one", texts[:1], 1), ("all", texts, FILES)):
        (folder / name).mkdir()
        for file in range(files):
            part = chosen[file::files]
            pq.write_table(pa.table({"text": part}), folder / name / f"{file}.parquet")
            (folder / name / f"{file}.txt").write_text("\n".join(part) + "\n", encoding="utf-8")


def main() -> None:
    parser = options(__doc__, repetitions=3)
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "indian_mturk_translations.tsv.xz"
    option("--model", default="english", help="averaging model that all processes find")
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV (first column)")
    option("--rows", type=int, default=1_000_000, help="documents")
    option("--sentences", type=int, default=3, help="sentences per document")
    option("--dimension", type=int, default=256, help="leading dimensions of the vectors")
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    packages = ("pyarrow", "ray", "daft", "pyspark", "datatrove")
    results: dict[str, Any] = {"settings": settings(args, *packages)}
    _, (lines,) = unseen(args.text, [0], 100_000, 1, None)
    names = [
        name
        for name, (package, _) in ENGINES.items()
        if package is None or importlib.util.find_spec(package)
    ]
    if shutil.which("java") is None and "Spark" in names:
        print("Spark is left out: it needs Java 17")
        names.remove("Spark")
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_rows(folder, [" ".join(line.split()) for (line,) in lines], args.rows, args.sentences)
        for _, name in in_turns(names, args.repetitions):
            runs[name].append(
                fresh(measure, name, folder, args.threads, args.model, args.dimension)
            )
            for made in ("first", "output"):
                shutil.rmtree(folder / made)
                shutil.rmtree(folder / f"{made}-logs", ignore_errors=True)
    rates = {name: spread([args.rows / all_rows for _, all_rows in runs[name]]) for name in names}
    for name, rate in rates.items():
        per_row = 1 / rate["median"] - 1 / rates[ARROW]["median"]
        results[name] = {
            "rows/s": rate,
            "overhead per row, microseconds": per_row * 1e6 * args.threads,
            "first row, s": spread([first for first, _ in runs[name]]),
        }
    found = {name: results[name] for name in names}
    save(args, results, Table(f"{args.rows:,} rows", found, ",.1f"))


if __name__ == "__main__":
    main()
