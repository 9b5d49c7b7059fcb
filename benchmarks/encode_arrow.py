"""Speed and memory of `SentenceEncoder.encode_arrow`, compared with `encode` and model2vec.

* **speed**: texts per second, and per second of CPU time (a busy machine changes it less).
* **memory**: growth of the peak memory during one call in a fresh process, relative to the output.

All read new text and return unnormalized vectors of one model and one output type. `encode(list)`
is given Python strings. `encode(to_pylist)` is given an Arrow column and makes the strings, which
is what a program with Arrow data does otherwise. model2vec is its StaticModel of our table and
tokenizer, with a list and without a length limit. int8 is a scale per vector in `encode_arrow`, and
a scale per dimension over all texts in `encode`. Each contender has its own word cache and first
reads one half of the files. Contenders take turns.

Optional peer: pip install model2vec

Quick test: --lines 500 --repetitions 2 --memory-lines 5000
"""

import functools
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common.report import DATA, Table, options, save, settings
from common.text import share_of_new_words, unseen
from common.timing import fresh, in_turns, peak_mb, set_threads, spread
from encode import export_model2vec

PARTS = ("speed", "memory")
LIST, PYLIST, ARROW, MODEL2VEC = "encode(list)", "encode(to_pylist)", "encode_arrow", "model2vec"
DIMENSION = 128
Encode = Callable[[Any], Any]  # a list of strings, or a column


def ways(model: Path, threads: int, dtype: str, dimension: int | None) -> dict[str, Encode]:
    """Return ways from texts to vectors of a type, each with a word cache of its own."""
    from paraphrastic_hf import SentenceEncoder

    encoders = {
        name: SentenceEncoder.from_pretrained(model, num_threads=threads)
        for name in (LIST, PYLIST, ARROW)
    }

    def with_encode(name: str, texts: list[str]) -> np.ndarray:
        precision = "int8" if dtype == "int8" else "float32"
        vectors = encoders[name].encode(texts, truncate_dim=dimension, precision=precision)
        return np.asarray(vectors.astype(dtype, copy=False))

    return {
        LIST: functools.partial(with_encode, LIST),
        PYLIST: lambda column: with_encode(PYLIST, column.to_pylist()),
        ARROW: functools.partial(encoders[ARROW].encode_arrow, dtype=dtype, dimension=dimension),
    }


def model2vec(folder: Path, threads: int) -> dict[str, Encode]:
    if not (folder / "config.json").exists():
        return {}
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder, max_length=None, normalize=False)
    set_threads(threads)
    return {MODEL2VEC: functools.partial(model.encode, use_multiprocessing=False)}


def check(vectors: dict[str, Any], dtype: str) -> None:
    """Exit if contenders do not return the same numbers."""
    numbers = {
        name: np.stack(v.to_numpy(zero_copy_only=False)) if isinstance(v, pa.Array) else v
        for name, v in vectors.items()
    }
    for name, found in numbers.items():
        if found.dtype != dtype or (
            dtype != "int8" and not np.allclose(found, numbers[LIST], rtol=1e-3, atol=1e-5)
        ):
            raise SystemExit(f"{name}: {found.dtype}, differs from {LIST}")


def speed(
    contenders: dict[str, Encode], warm: list[str], slices: list[list[str]], dtype: str
) -> dict[str, dict[str, Any]]:
    """Return rates, and the ratio of the medians of CPU time to those of `encode(list)`."""

    def given(name: str, texts: list[str]) -> Any:
        column = pa.array(texts)
        return column.to_pylist() if name in (LIST, MODEL2VEC) else column  # fresh strings

    check({name: encode(given(name, warm[:2000])) for name, encode in contenders.items()}, dtype)
    for name, encode in contenders.items():
        encode(given(name, warm if name != MODEL2VEC else warm[:16384]))
    runs: dict[str, dict[str, list[float]]] = {name: {} for name in contenders}
    for number, name in in_turns(contenders, len(slices)):
        texts = given(name, slices[number])
        wall, processor = time.perf_counter(), time.process_time()
        contenders[name](texts)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        runs[name].setdefault("texts/s", []).append(len(texts) / wall)
        runs[name].setdefault("texts/CPU s", []).append(len(texts) / processor)
    rows = {name: {unit: spread(each) for unit, each in by.items()} for name, by in runs.items()}
    base = {unit: each["median"] for unit, each in rows[LIST].items()}
    for by in rows.values():
        over = {f"{unit}, over {LIST}": f"{by[unit]['median'] / base[unit]:.2f}" for unit in base}
        by.update(over)  # type: ignore[arg-type]
    return rows


def memory(model: Path, lines: list[str], name: str, dtype: str, dimension: int | None) -> float:
    """Return the growth of the peak memory of a call, over the bytes of its output."""
    column = pa.array(lines)
    del lines
    encode = ways(model, 1, dtype, dimension)[name]
    encode(column[:4096] if name != LIST else column[:4096].to_pylist())
    texts = column.to_pylist() if name == LIST else column
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    before = peak_mb()
    output = encode(texts)
    return (peak_mb() - before) * 2**20 / output.nbytes


def main() -> None:
    parser = options(__doc__, threads=1, repetitions=7, parts=PARTS)
    option = parser.add_argument
    text = DATA / "train" / "en-en" / "indian_mturk_translations.tsv.xz"
    option("--model", type=Path, required=True, help="directory of an averaging model")
    option("--text", type=Path, nargs="+", default=[text], help="text files, or TSV")
    option("--column", type=int, default=0, help="column of the files, from 0")
    option("--lines", type=int, default=15_000, help="maximum texts per repetition")
    option("--memory-lines", type=int, default=200_000, help="texts for memory")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # read by `tokenizers` at its first use
    os.environ["HF_HUB_OFFLINE"] = "1"
    results: dict[str, Any] = {"settings": settings(args, "pyarrow", "tokenizers", "model2vec")}
    rows, cut = unseen(args.text, [args.column], args.lines, args.repetitions, None)
    warm, *slices = ([line for (line,) in each] for each in (rows, *cut))
    results["texts_a_repetition"] = len(slices[0])
    results["share_of_new_words"] = share_of_new_words(rows, cut[0])
    outputs: list[tuple[str, int | None]] = [
        *((dtype, None) for dtype in ("float32", "float16", "int8")),
        ("int8", DIMENSION),
    ]
    tables = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model2vec"
        export_model2vec(args.model, folder)
        for dtype, dimension in outputs:
            title = f"{dtype}, {dimension or 'all'} dimensions"
            found: dict[str, Any] = {name: {} for name in (LIST, PYLIST, ARROW)}
            if "speed" in args.parts:
                contenders = ways(args.model, args.threads, dtype, dimension)
                if dtype == "float32":
                    contenders |= model2vec(folder, args.threads)
                found = speed(contenders, warm, slices, dtype)
            if "memory" in args.parts:
                lines = list(itertools.islice(itertools.cycle(warm), args.memory_lines))
                for name in (LIST, PYLIST, ARROW):
                    grown = fresh(memory, args.model, lines, name, dtype, dimension)
                    found[name]["peak / output"] = f"{grown:.2f}"
            results[title] = found
            tables.append(Table(title, found))
    save(args, results, *tables)


if __name__ == "__main__":
    main()
