"""`paraphrastic mine SRC.txt TGT.txt --model M`."""

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
    check_inputs,
    check_output,
    open_output,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import add_encoder_options, named_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.blocks import read_blocks
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.mining.bitext import CANDIDATES, INDICES, SCORES, Pairs, check_options
from paraphrastic_hf.mining.files import MinedLines, TextSide, mine_in
from paraphrastic_hf.mining.tiles import PRECISIONS

if TYPE_CHECKING:
    from paraphrastic_hf.pipelines.mine import MinedShards

MULTILINGUAL_RATIO = 1.35  # chosen on development data, docs/guides/mine.md
SHOWN_THRESHOLDS = {
    "ratio": (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6),
    "distance": (0.0, 0.05, 0.1, 0.15, 0.2),
    "cosine": (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
EPILOG = """\
Lines that are equal but for white space around them are one sentence, which stands where it came
first; lines without text, or without a token the model knows, are in no pair. Every line is in one
pair at most, unless --allow-many-to-many is given; of equal scores the lower source line wins, then
the lower target line.

Standard error tells how many pairs there are at several thresholds. Which is right depends on the
model and the text: look at pairs near the one you choose. --threshold 0 keeps nearly all.

To find paraphrases within one file, name it twice and give --exclude-identical: else every line is
the nearest to itself. Lines with equal vectors, such as the same words in another order, have one
partner, the first of them; --allow-many-to-many shows the others too.

Texts, vectors and the search are kept in the work folder, so the same command goes on where it was
interrupted, and another --score, --candidates or --threshold takes seconds. It needs 4 bytes x
dimension a line. Without --work it is OUTPUT.work, which is removed when the output is complete. A
folder that holds anything else, or that another command is at work in, is refused.

examples:
  paraphrastic mine fr.txt en.txt --model multilingual --output pairs.tsv --threshold 1.25
  paraphrastic mine fr.txt.xz en.txt.xz --model runs/sp --output pairs.parquet --work work
  paraphrastic mine en.txt en.txt --model english --exclude-identical --score cosine"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    option = parser.add_argument
    option(
        "source",
        help="a file with one sentence a line (also .gz, .xz, .bz2), or - for standard input",
    )
    option("target", help="the same, with the sentences of the other language")
    option(
        "--model",
        required=True,
        help="a model directory, the name of a model on the Hub, or multilingual (packaged)",
    )
    option(
        "--output",
        default="-",
        help="where the pairs go: a file NAME.parquet, or any other file for lines of "
        "tab-separated score, source and target; - (default) prints those lines",
    )
    add_pair_options(parser)
    option(
        "--index",
        choices=INDICES,
        default="exact",
        help="how neighbors are searched: exact (default), by FAISS over all rows, or by FAISS "
        "over the nearest cells; FAISS holds all vectors in memory and cannot resume",
    )
    option(
        "--probes",
        type=int,
        default=32,
        help="how many cells faiss-ivf looks into for each line (default: 32)",
    )
    option(
        "--memory",
        type=float,
        default=1024,
        help="how many MB vectors may take, beside the model and about 200 bytes a line (default: "
        "1024)",
    )
    option(
        "--work",
        help="keep texts, vectors and the search in this folder (default: OUTPUT.work, removed at "
        "the end)",
    )
    add_bad_lines(parser)
    option("--quiet", action="store_true", help="show neither progress bars nor counts")
    parser.epilog = EPILOG
    add_encoder_options(parser)
    parser.set_defaults(run=run)


def add_pair_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how neighbors are searched and which pairs are chosen among them."""
    option = parser.add_argument
    option(
        "--score",
        choices=SCORES,
        default="ratio",
        help="how a pair is scored: its cosine divided by the mean cosine of both sentences to "
        "their nearest neighbors (ratio, the default), less that mean (distance), or as it is "
        "(cosine)",
    )
    option(
        "--neighbors",
        type=int,
        dest="k",
        default=4,
        help="over how many neighbors of each sentence that mean is taken (default: 4)",
    )
    option(
        "--threshold",
        type=float,
        help="leave out pairs with a lower score (default: keep all; `mine` with the packaged "
        f"multilingual and --score ratio: {MULTILINGUAL_RATIO})",
    )
    option(
        "--candidates",
        choices=CANDIDATES,
        default="union",
        help="which pairs are considered: each source line with its best target (forward), each "
        "target line with its best source (backward), the pairs of either (union, the default), or "
        "those of both (intersection)",
    )
    option(
        "--allow-many-to-many",
        action="store_true",
        help="let a line be in several pairs (default: in one at most)",
    )
    option(
        "--exclude-identical",
        action="store_true",
        help="never pair a line with an equal one, to find paraphrases within one text",
    )
    option(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="the precision of the exact search: bfloat16 may be several times faster, and misses "
        "a neighbor now and then (default: float32)",
    )


def pair_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `mining.bitext.mine` among these."""
    if arguments.k < 1:
        raise DataError(f"--neighbors must be at least 1, got {arguments.k}")
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
    """Mine, then write the pairs, best first."""
    check_model_name(arguments.model)
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
    if not is_table:
        require("data", "pyarrow", what=f"--output {arguments.output}")
        output_file(arguments.output)
    check_output(arguments.output)  # found before hours of work
    encoder = named_encoder(arguments)
    with _work_folder(arguments) as folder:  # made last, so that nothing refused leaves one
        sides = [_side(each, arguments.bad_lines) for each in (arguments.source, arguments.target)]
        mined = mine_in(
            folder,
            (sides[0], sides[1]),
            encoder,
            different=arguments.exclude_identical,
            progress=not arguments.quiet and sys.stderr.isatty(),
            **options,
        )
        mined = replace(mined, pairs=kept_pairs(mined.pairs, arguments, threshold))
        write = _write_table if is_table else write_parquet
        write(mined, arguments.output)
        for path, side in ((arguments.source, mined.source), (arguments.target, mined.target)):
            tell_if_empty(path, len(side), "pair")
    if arguments.output != "-":
        print(f"{arguments.output}: {counted(len(mined.pairs.score), 'pair')}")


def kept_pairs(pairs: Pairs, arguments: argparse.Namespace, threshold: float | None) -> Pairs:
    """Return the pairs that reach a threshold, and say how many reach others."""
    if not arguments.quiet:
        counts = "; ".join(
            f"{least:g}: {int((pairs.score >= least).sum()):,}"
            for least in SHOWN_THRESHOLDS[arguments.score]
        )
        kept = "all are kept" if threshold is None else f"--threshold {threshold:g} is applied"
        print(f"pairs by lowest {arguments.score}: {counts}; {kept}", file=sys.stderr)
    return pairs if threshold is None else pairs.at_least(threshold)


@contextlib.contextmanager
def _work_folder(arguments: argparse.Namespace) -> Iterator[Path]:
    """A folder that stays if it was asked for, and else until the output is complete."""
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
    """The lines of a file, with its stamp; standard input and pipes have none. Lines that were kept
    are read again where they are to be refused."""
    from paraphrastic_hf.mining.store import file_stamp

    blocks = read_blocks(path, bad_lines=bad_lines)
    stamp = "" if path == "-" else file_stamp(path)
    return TextSide(blocks, stamp and stamp + " refuse" * (bad_lines == "refuse"))


def _write_table(mined: MinedLines, output: str) -> None:
    with open_output(output) as file:
        for part in mined.rows():
            for score, *texts in zip(part["score"], part["source"], part["target"], strict=True):
                file.write(tsv_line(f"{score:.6f}", *texts))


def write_parquet(mined: MinedLines | MinedShards, output: str | Path) -> None:
    """Write the pairs as a table of the columns of `rows`, complete or not at all."""
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
