"""`paraphrastic score MODEL pairs.tsv`."""

import argparse
import math

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    add_json_option,
    check_inputs,
    check_output,
    dump_json,
    open_output,
    pair_blocks,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.options import MODEL, add_encoder_options, named_encoder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import is_blank

JSON_KEYS = ("similarity", "sentence1", "sentence2")
EPILOG = """\
Cosines are from -1 to 1. A pair with a blank text, and a line with the wrong number of columns,
scores nan (null in JSON). A header line is kept, except in JSON. If there are more than two
columns, standard error shows which two are compared.

examples:
  paraphrastic score english pairs.tsv --output scored.tsv
  printf 'a cat sleeps\\ta cat is asleep\\n' | paraphrastic score runs/sp -"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option(
        "pairs",
        "table of text pairs: TSV, CSV, JSON Lines or parquet (also .gz, .xz, .bz2), or - for "
        "TSV on standard input",
    )
    parser.option(
        "--output FILE",
        "TSV file to write: cosine, then the line (for tables other than TSV: the two texts). "
        "Default: print",
        default="-",
    )
    add_json_option(parser, "an object per pair with similarity, sentence1 and sentence2")
    add_bad_lines(parser, "A blank line scores nan. ")
    add_encoder_options(parser)


def run(arguments: argparse.Namespace) -> None:
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
                score = math.nan if any(map(is_blank, pair.texts)) else float(value)
                if not arguments.json:
                    shown = "similarity" if pair.is_header else f"{score:.4f}"
                    output.write(tsv_line(shown, *pair.line.split("\t")))
                elif not pair.is_header:
                    row = zip(JSON_KEYS, (round(score, 6), *pair.texts), strict=True)
                    dump_json(dict(row), output, indent=None)
    tell_if_empty(arguments.pairs, number, "score")
