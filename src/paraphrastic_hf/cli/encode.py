"""`paraphrastic encode MODEL in.txt --output out.npy`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("model", help="model directory or Hub name")
    parser.add_argument("texts", help="one text a line; .gz, .xz, or - for standard input")
    parser.add_argument(
        "--output", default="-", help=".npy file (texts, dim) float32; - prints tab-separated rows"
    )
    parser.add_argument("--normalize", action="store_true", help="scale vectors to unit length")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.epilog = (
        "examples:\n  paraphrastic encode runs/sp lines.txt --output vectors.npy\n"
        "  echo 'a cat sleeps' | paraphrastic encode runs/sp -"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Encode block by block; memory does not grow with the file."""
    import numpy as np
    from tqdm.auto import tqdm

    from paraphrastic_hf.cli.lines import read_blocks
    from paraphrastic_hf.cli.models import load_encoder
    from paraphrastic_hf.encoding.arrays import ArrayWriter
    from paraphrastic_hf.encoding.encoder import unit_length

    encoder = load_encoder(arguments.model)
    writer = None if arguments.output == "-" else ArrayWriter(Path(arguments.output))
    try:
        with tqdm(unit=" texts", unit_scale=True, disable=arguments.quiet or None) as bar:
            for block in read_blocks(arguments.texts):
                vectors = np.asarray(encoder.encode(block), np.float32)
                if arguments.normalize:
                    vectors = unit_length(vectors)
                if writer is None:
                    sys.stdout.writelines(
                        "\t".join(map(repr, row)) + "\n" for row in vectors.tolist()
                    )
                else:
                    writer.write(vectors)
                bar.update(len(block))
        if writer is not None:
            writer.finish()
    finally:
        if writer is not None:
            writer.close()
