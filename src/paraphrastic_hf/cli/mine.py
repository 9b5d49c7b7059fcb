"""`paraphrastic mine MODEL SRC.txt TGT.txt`."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    add_json_option,
    check_inputs,
    check_output,
    dump_json,
    open_output,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import (
    MODEL,
    add_encoder_options,
    named_encoder,
    shows_progress,
)
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import read_blocks
from paraphrastic_hf.mining.bitext import CANDIDATES, INDICES, SCORES, Pairs, check_options
from paraphrastic_hf.mining.files import MinedLines, TextSide, mine_lines
from paraphrastic_hf.mining.tiles import PRECISIONS

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.mine import MinedShards

MULTILINGUAL_RATIO = 1.35  # chosen on development data (docs/guides/mine.md)
SHOWN_THRESHOLDS = {
    "ratio": (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6),
    "distance": (0.0, 0.05, 0.1, 0.15, 0.2),
    "cosine": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
EPILOG = """\
Which lines form pairs:
* Equal lines count as one sentence, at its first place. Surrounding white space is ignored.
* Empty lines and lines without a token that the model knows are in no pair.
* A line is in at most one pair, unless --allow-many-to-many is given. Ties go to the lower source
  line, then to the lower target line.
* To find paraphrases within one file, name it twice and pass --exclude-identical.

Standard error shows the number of pairs at several thresholds. The right threshold depends on the
model and the text: read the pairs near it. --threshold 0 keeps nearly all.

The work folder keeps texts, vectors and the search (4 bytes x dimension per line). The same command
resumes an interrupted run, and another --score, --candidates or --threshold takes seconds. Without
--work the folder is OUTPUT.work, which is removed when the output is complete.

examples:
  paraphrastic mine multilingual fr.txt en.txt --output pairs.tsv --threshold 1.25
  paraphrastic mine english en.txt en.txt --exclude-identical --score cosine"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("source", "file with one sentence per line (also .gz, .xz, .bz2), or -")
    parser.option("target", "file of the other language, in the same format")
    parser.option(
        "--output FILE",
        "file for the pairs, best first: parquet if its name ends in .parquet, else TSV of "
        "score, source and target (default: print TSV)",
        default="-",
    )
    add_pair_options(parser)
    parser.option(
        "--index",
        "search method: exact, FAISS over all rows (faiss-flat), or FAISS over the nearest "
        "cells only (faiss-ivf, approximate). FAISS holds all vectors in memory and cannot "
        "resume",
        default="exact",
        choices=INDICES,
    )
    parser.option("--probes", "cells that faiss-ivf searches per line", default=32, least=1)
    parser.option(
        "--memory MB",
        "MB for vectors, besides model and 200 bytes per line",
        default=1024,
        type=float,
    )
    parser.option(
        "--work DIR", "folder for texts, vectors and search state (default: OUTPUT.work, removed)"
    )
    add_json_option(parser, "an object per pair: score, source, target, source_line, target_line")
    add_bad_lines(parser)
    parser.flag("--quiet", "show no progress bars and no counts")
    add_encoder_options(parser)


def add_pair_options(parser: Parser) -> None:
    parser.option(
        "--score",
        "score of a pair. ratio: cosine divided by the mean cosine of both sentences with "
        "their nearest neighbors. distance: cosine minus that mean. cosine: the cosine alone",
        default="ratio",
        choices=SCORES,
    )
    parser.option(
        "--neighbors", "nearest neighbors that --score averages", default=4, least=1, dest="k"
    )
    parser.option(
        "--threshold",
        "lowest score of a pair that is kept (default: keep all; for `mine "
        f"multilingual` with ratio scores, {MULTILINGUAL_RATIO})",
        type=float,
    )
    parser.option(
        "--candidates",
        "candidate pairs: each source line with its best target (forward), each target line "
        "with its best source (backward), pairs in either set (union) or in both "
        "(intersection)",
        default="union",
        choices=CANDIDATES,
    )
    parser.flag("--allow-many-to-many", "allow a line in several pairs (default: in at most one)")
    parser.flag("--exclude-identical", "never pair equal lines, for paraphrases within one text")
    parser.option(
        "--precision",
        "number format of the exact search: bfloat16 can be several times faster, and "
        "sometimes misses a neighbor",
        default="float32",
        choices=PRECISIONS,
    )


def pair_options(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.threshold is not None and math.isnan(arguments.threshold):
        raise DataError("--threshold must be a number, got nan")
    return {
        "score": arguments.score,
        "k": arguments.k,
        "candidates": arguments.candidates,
        "one_to_one": not arguments.allow_many_to_many,
        "precision": arguments.precision,
    }


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.source, arguments.target)
    from paraphrastic_hf.extras import require
    from paraphrastic_hf.io.files import output_file

    options = {
        **pair_options(arguments),
        "memory": arguments.memory,
        "index": arguments.index,
        "probes": arguments.probes,
    }
    threshold = arguments.threshold
    is_packaged = arguments.model == "multilingual" and not Path(arguments.model).is_dir()
    if (
        threshold is None
        and is_packaged
        and arguments.score == "ratio"
        and not arguments.exclude_identical
    ):
        threshold = MULTILINGUAL_RATIO
    check_options(**options)
    is_table = not arguments.output.endswith(".parquet")
    if not is_table and arguments.json:
        raise DataError(f"--output {arguments.output} is parquet; leave out --json")
    if not is_table:
        require("data", "pyarrow", what=f"--output {arguments.output}")
        output_file(arguments.output)
    check_output(arguments.output)  # fails before hours of work
    encoder = named_encoder(arguments)
    with _work_folder(arguments) as folder:  # created after all checks
        mined = mine_lines(
            _side(arguments.source, arguments.bad_lines),
            _side(arguments.target, arguments.bad_lines),
            encoder,
            folder,
            different=arguments.exclude_identical,
            progress=shows_progress(arguments),
            **options,
        )
        mined = replace(mined, pairs=kept_pairs(mined.pairs, arguments, threshold))
        write = _write_json if arguments.json else _write_table if is_table else write_parquet
        write(mined, arguments.output)
        for path, side in ((arguments.source, mined.source), (arguments.target, mined.target)):
            tell_if_empty(path, len(side), "pair")
    if arguments.output != "-":
        print(f"{arguments.output}: {counted(len(mined.pairs.score), 'pair')}")


def kept_pairs(pairs: Pairs, arguments: argparse.Namespace, threshold: float | None) -> Pairs:
    """Return the pairs that reach a threshold. Print the number of pairs at other thresholds."""
    if not arguments.quiet:
        counts = "; ".join(
            f"{least:g}: {int((pairs.score >= least).sum()):,}"
            for least in SHOWN_THRESHOLDS[arguments.score]
        )
        kept = "all kept" if threshold is None else f"kept from --threshold {threshold:g}"
        print(f"pairs by lowest {arguments.score}: {counts}; {kept}", file=sys.stderr)
    return pairs if threshold is None else pairs.at_least(threshold)


@contextlib.contextmanager
def _work_folder(arguments: argparse.Namespace) -> Iterator[Path]:
    """Yield the work folder. Remove it at the end if the run succeeded without `--work`."""
    import shutil

    from paraphrastic_hf.io.locks import locked
    from paraphrastic_hf.mining.store import check_folder

    if arguments.work is None and arguments.output == "-":
        with tempfile.TemporaryDirectory(prefix="paraphrastic-mine-") as name:
            yield Path(name)
        return
    folder = Path(arguments.work or arguments.output + ".work")
    with locked(folder, doing="mining"):
        check_folder(folder)
        yield folder
        if arguments.work is None:
            shutil.rmtree(folder)


def _side(path: str, bad_lines: str) -> TextSide:
    """Return the lines of a file and its stamp, which is empty for standard input and pipes.

    The stamp depends on `bad_lines`, so that `refuse` reads lines again that were stored with
    `keep`.
    """
    from paraphrastic_hf.mining.store import file_stamp

    blocks = read_blocks(path, bad_lines=bad_lines)
    stamp = "" if path == "-" else file_stamp(path)
    return TextSide(blocks, stamp and stamp + " refuse" * (bad_lines == "refuse"))


def _write_table(mined: MinedLines, output: str) -> None:
    with open_output(output) as file:
        for part in mined.rows():
            for score, *texts in zip(part["score"], part["source"], part["target"], strict=True):
                file.write(tsv_line(f"{score:.6f}", *texts))


def _write_json(mined: MinedLines, output: str) -> None:
    with open_output(output) as file:
        for part in mined.rows():
            for values in zip(*(part[name] for name in mined.COLUMNS), strict=True):
                dump_json(dict(zip(mined.COLUMNS, values, strict=True)), file, indent=None)


def write_parquet(mined: MinedLines | MinedShards, output: str | Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from paraphrastic_hf.io.files import output_file, replacing

    def kind(name: str) -> Any:
        if name == "score":
            return pa.float32()
        return pa.int64() if name.endswith("_line") else pa.string()

    schema = pa.schema([(name, kind(name)) for name in mined.COLUMNS])
    with (
        replacing(output_file(output), is_shared=True) as partial,
        pq.ParquetWriter(partial, schema) as writer,
    ):
        for part in mined.rows():
            writer.write_table(pa.table(part, schema=schema))
