"""`paraphrastic encode MODEL in.txt --output out.npy`."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    column_blocks,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import MODEL, TEXTS, add_encoder_options, named_encoder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.arrow import ARROW_FILES
from paraphrastic_hf.io.lines import Remarks, is_blank, read_blocks, shown_input

FILES = (".npy", *ARROW_FILES)
UNKNOWN = "unknown to the model, encoded as zeros"


EPILOG = """\
examples:
  paraphrastic encode english lines.txt --output vectors.npy
  paraphrastic encode english docs.parquet --column text --output vectors.parquet
  echo 'a cat sleeps' | paraphrastic encode english -"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("texts FILE", f"{TEXTS}, or a table with --column")
    parser.option(
        "--output",
        "NAME.npy: one float32 array (texts, dim). NAME.parquet, .arrow, .feather or .lance: "
        "one table of texts and vectors. FOLDER/ (with the slash): new folder of parquet "
        "files, a million texts each. Default: print the numbers of each text, tab-separated",
        default="-",
    )
    parser.option(
        "--column NAME",
        "column of a table to encode, by name or by number from 1. The table is TSV, CSV, "
        "JSON Lines, parquet, Arrow IPC (.arrow, .feather), Lance or a saved dataset, and an "
        "unreadable row counts as empty text",
    )
    parser.flag("--normalize-embeddings", "scale the vectors to unit length")
    parser.option("--threads", "threads (default: one per core)", least=1)
    add_bad_lines(parser)
    parser.flag("--quiet", "show no progress bar")
    add_encoder_options(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.texts, tables=arguments.column is not None)
    if arguments.column is not None and arguments.texts == "-":
        raise DataError("--column needs a file, got - (standard input)")
    from tqdm.auto import tqdm

    from paraphrastic_hf.encoders.encoder import SentenceEncoder
    from paraphrastic_hf.encoders.vectors import unit_length

    writer = _writer(arguments.output)
    if not arguments.output.endswith("/"):
        check_output(arguments.output, is_folder=arguments.output.endswith(".lance"))
    encoder = named_encoder(arguments, num_threads=arguments.threads or -1)
    bar = tqdm(unit=" texts", unit_scale=True, disable=arguments.quiet or None)
    remarks = Remarks(shown_input(arguments.texts), unit="line")
    count, dimension = 0, 0
    if arguments.column is None:
        blocks = read_blocks(arguments.texts, bad_lines=arguments.bad_lines)
    else:
        blocks = column_blocks(arguments.texts, arguments.column, bad_lines=arguments.bad_lines)
    with writer as write, bar:
        for block in blocks:
            if isinstance(encoder, SentenceEncoder):
                vectors = encoder.encode(block, normalize_embeddings=arguments.normalize_embeddings)
            else:
                vectors = np.asarray(encoder.encode(list(map(str, block))), np.float32)
                vectors = unit_length(vectors) if arguments.normalize_embeddings else vectors
            write(block, vectors)
            dimension = vectors.shape[1]
            bar.update(len(block))
            for row in np.flatnonzero(vectors[:, 0] == 0):  # cheap test before `any`
                if not vectors[row].any() and not is_blank(str(block[row])):
                    remarks.add(UNKNOWN, count + int(row) + 1)
            count += len(block)
        remarks.tell()
        tell_if_empty(arguments.texts, count, "vector")
        if not count:
            is_ours = isinstance(encoder, SentenceEncoder)  # dimension known without a text
            write([], encoder.encode([]) if is_ours else np.empty((0, 0)))
    if count and arguments.output != "-":
        print(f"{arguments.output}: {counted(count, 'vector')} of {counted(dimension, 'number')}")


def _writer(output: str) -> AbstractContextManager[Callable[[list[str], np.ndarray], None]]:
    """Return the writer for an output: a file, a folder, or standard output."""
    from paraphrastic_hf.encoders.shards import shard_writer, table_writer
    from paraphrastic_hf.encoders.storage.arrays import array_writer

    if output == "-":
        return nullcontext(_print)
    if output.endswith("/"):
        return shard_writer(Path(output))
    if output.endswith(".npy"):
        return array_writer(Path(output))
    if Path(output).suffix in ARROW_FILES:
        return table_writer(Path(output))
    raise DataError(
        f"--output must end in {', '.join(FILES)} or / (a folder of parquet files), got {output}. "
        f"Write {output}.npy or {output}/"
    )


def _print(texts: list[str], vectors: np.ndarray) -> None:
    sys.stdout.writelines("\t".join(map(repr, row)) + "\n" for row in vectors.tolist())
