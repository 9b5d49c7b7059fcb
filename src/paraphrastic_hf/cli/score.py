"""`paraphrastic score MODEL pairs.tsv`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    open_output,
    pair_blocks,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import add_encoder_options, named_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.io.blocks import is_blank
from paraphrastic_hf.io.files import tsv_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model directory, a packaged model such as english, or the name of one on the Hub",
    )
    parser.add_argument(
        "pairs",
        help="a table of pairs: TSV, CSV (.csv), JSON Lines (.jsonl) or parquet, also .gz, .xz and "
        ".bz2; or - for TSV on standard input",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="write each line with its similarity before it to this TSV file (default: print); of "
        "other tables than TSV the two texts",
    )
    add_bad_lines(parser, "a blank line scored nan and ")
    parser.epilog = (
        "Scores are cosines, from -1 to 1, as `SentenceEncoder.similarity_pairwise` gives them.\n"
        "A pair with a blank text has the score nan, and so has a line with too few or too many\n"
        "columns. A first line that names the columns is written with `similarity` before it.\n"
        "Standard error says which two columns are compared, if there are others.\n\n"
        "example:\n  printf 'a cat sleeps\\ta cat is asleep\\n' | paraphrastic score runs/sp -"
    )
    add_encoder_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the cosine of each pair before its line; nan for a blank line or text."""
    check_model_name(arguments.model)
    check_inputs(arguments.pairs, tables=True)
    check_output(arguments.output)
    from paraphrastic_hf.encoders.vectors import pairwise_cosine

    encoder = named_encoder(arguments)
    number = 0
    with open_output(arguments.output) as output:
        for block in pair_blocks(arguments.pairs, bad_lines=arguments.bad_lines):
            number += len(block)
            cosine = pairwise_cosine(
                *(encoder.encode([pair.texts[side] for pair in block]) for side in (0, 1))
            )
            for pair, value in zip(block, cosine, strict=True):
                is_pair = not any(map(is_blank, pair.texts))
                score = "similarity" if pair.is_header else f"{value:.4f}" if is_pair else "nan"
                output.write(tsv_line(score, *pair.line.split("\t")))
    tell_if_empty(arguments.pairs, number, "score")
