"""`paraphrastic encode MODEL in.txt --output out.npy`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, the name of a model on the Hub, or"
        " english or multilingual (packaged)",
    )
    parser.add_argument(
        "texts",
        help="a file with one text a line (.gz and .xz are unpacked), or - for standard input",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="where the vectors go: NAME.npy for one float32 array of shape (texts, dim); FOLDER/ "
        "for parquet files of a million texts with their vectors; - (default) prints a line of "
        "tab-separated numbers for each text",
    )
    parser.add_argument("--normalize", action="store_true", help="scale vectors to unit length")
    parser.add_argument(
        "--threads",
        type=_threads,
        default=-1,
        help="how many threads averaging models and tokenizers may use (default: one for each "
        "core)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.epilog = (
        "examples:\n  paraphrastic encode english lines.txt --output vectors.npy\n"
        "  paraphrastic encode runs/sp lines.txt.xz --output vectors/\n"
        "  echo 'a cat sleeps' | paraphrastic encode english -"
    )
    parser.set_defaults(run=run)


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return int(text)


def run(arguments: argparse.Namespace) -> None:
    """Encode block by block; memory does not grow with the file."""
    import numpy as np
    from tqdm.auto import tqdm

    from paraphrastic_hf.cli.lines import read_blocks
    from paraphrastic_hf.encoding.arrays import ArrayWriter
    from paraphrastic_hf.encoding.encoder import SentenceEncoder
    from paraphrastic_hf.encoding.load import load_encoder
    from paraphrastic_hf.encoding.shards import ShardWriter
    from paraphrastic_hf.encoding.vectors import unit_length
    from paraphrastic_hf.errors import DataError

    encoder = load_encoder(arguments.model, num_threads=arguments.threads)
    output = arguments.output
    if output != "-" and not output.endswith((".npy", "/")):
        raise DataError(f"{output} is neither NAME.npy nor FOLDER/, for parquet shards; name one")
    array = ArrayWriter(Path(output)) if output != "-" and not output.endswith("/") else None
    shards = ShardWriter(Path(output)) if output.endswith("/") else None
    try:
        with tqdm(unit=" texts", unit_scale=True, disable=arguments.quiet or None) as bar:
            for block in read_blocks(arguments.texts):
                if isinstance(encoder, SentenceEncoder):
                    vectors = encoder.encode(block, normalize=arguments.normalize)
                else:
                    vectors = np.asarray(encoder.encode(block), np.float32)
                    vectors = unit_length(vectors) if arguments.normalize else vectors
                if array is not None:
                    array.write(vectors)
                elif shards is not None:
                    shards.write(block, vectors)
                else:
                    sys.stdout.writelines(
                        "\t".join(map(repr, row)) + "\n" for row in vectors.tolist()
                    )
                bar.update(len(block))
            if not bar.n and isinstance(encoder, SentenceEncoder):  # no text, of known width
                if array is not None:
                    array.write(encoder.encode([]))
                elif shards is not None:
                    shards.write([], encoder.encode([]))
        for writer in (array, shards):
            if writer is not None:
                writer.finish()
    finally:
        for writer in (array, shards):
            if writer is not None:
                writer.close()
