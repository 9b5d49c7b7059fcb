"""`paraphrastic score MODEL pairs.tsv`."""

from __future__ import annotations

import argparse
import sys

from paraphrastic_hf.cli.encoders import add_encoder_options, named_encoder
from paraphrastic_hf.cli.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    open_output,
    tell_if_empty,
)
from paraphrastic_hf.data.blocks import is_blank, read_blocks
from paraphrastic_hf.encoding.locate import check_model_name


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, a packaged model such as english, or the name of one on the Hub",
    )
    parser.add_argument(
        "pairs",
        help="a file with two tab-separated texts a line (also .gz, .xz, .bz2), or - for "
        "standard input",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="write each line with its similarity before it to this TSV file (default: print)",
    )
    add_bad_lines(parser, "a blank line scored nan and ")
    parser.epilog = (
        "Scores are cosines, from -1 to 1, as `SentenceEncoder.similarity_pairwise` gives them.\n"
        "A pair with a blank text has the score nan. A first line that names the columns, such as\n"
        "sentence1 and sentence2, is written with `similarity` before it, and standard error says\n"
        "so; further columns stay as they are.\n\n"
        "example:\n  printf 'a cat sleeps\\ta cat is asleep\\n' | paraphrastic score runs/sp -"
    )
    add_encoder_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the cosine of each pair before its line; nan for a blank line or text."""
    check_model_name(arguments.model)
    check_inputs(arguments.pairs)
    check_output(arguments.output)
    import numpy as np

    from paraphrastic_hf.data.tables import HEADERS, refuse_texts_elsewhere
    from paraphrastic_hf.encoding.vectors import pairwise_cosine
    from paraphrastic_hf.errors import DataError

    encoder = named_encoder(arguments)
    number = 0
    with open_output(arguments.output) as output:
        for block in read_blocks(arguments.pairs, bad_lines=arguments.bad_lines):
            rows = [["", ""] if is_blank(line) else line.split("\t") for line in block]
            for i, row in enumerate(rows, number + 1):
                if len(row) < 2:
                    raise DataError(
                        f"{arguments.pairs}:{i} has no tab between two texts: {row[0][:60]!r}"
                    )
            if not number:
                refuse_texts_elsewhere(f"{arguments.pairs}:1", rows[0])
                if frozenset(rows[0][:2]) in HEADERS:
                    print(
                        f"{arguments.pairs}:1 names the columns, and has no score", file=sys.stderr
                    )
                    output.write(f"similarity\t{block[0]}\n")
                    block, rows, number = block[1:], rows[1:], 1
            number += len(rows)
            cosine = pairwise_cosine(
                *(encoder.encode([row[side] for row in rows]) for side in (0, 1))
            )
            cosine = np.where([any(map(is_blank, row[:2])) for row in rows], np.nan, cosine)
            output.writelines(f"{c:.4f}\t{line}\n" for c, line in zip(cosine, block, strict=True))
    tell_if_empty(arguments.pairs, number, "score")
