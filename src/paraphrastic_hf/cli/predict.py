"""`paraphrastic predict MODEL FILE`."""

import argparse
from collections.abc import Iterator

from paraphrastic_hf.cli.shared.lines import (
    PairLine,
    add_bad_lines,
    check_inputs,
    check_output,
    open_output,
    pair_blocks,
    tell_if_empty,
)
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import is_blank, read_blocks

EPILOG = """\
Labels have the names of the training corpus, such as entailment. Scores have its scale:
1 to 5 for SICK.

examples:
  paraphrastic predict runs/sentiment lines.txt --output labeled.tsv
  printf 'a cat sleeps\\ta cat is asleep\\n' | paraphrastic predict runs/sick -"""


def configure(parser: Parser) -> None:
    parser.option(
        "model",
        "model directory of a recipe of kind supervised, whose task has scores or labels of "
        "texts. For taggers use `paraphrastic_hf.Tagger`",
    )
    parser.option(
        "file",
        "file with one text per line, or a table of pairs for relatedness and entailment: "
        "TSV, CSV, JSON Lines or parquet (also .gz, .xz, .bz2); - for standard input",
    )
    parser.option(
        "--output FILE", "TSV file of score or label, then line (default: print)", default="-"
    )
    add_bad_lines(parser, "A line with a blank text scores nan. ")


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.file, tables=True)
    check_output(arguments.output)
    from paraphrastic_hf.predictors.predict import SentencePredictor

    predictor = SentencePredictor.from_pretrained(arguments.model)
    blocks = (
        pair_blocks(arguments.file, bad_lines=arguments.bad_lines)
        if predictor.takes_pairs
        else _lines(arguments.file, arguments.bad_lines)
    )
    number = 0
    with open_output(arguments.output) as output:
        for block in blocks:
            number += len(block)
            found = predictor.predict(*zip(*(row.texts for row in block), strict=True))
            for row, item in zip(block, found, strict=True):
                shown = item if isinstance(item, str) else f"{item:.4f}"
                if row.is_header:
                    shown = "prediction"
                elif any(map(is_blank, row.texts)):
                    shown = "nan"
                output.write(tsv_line(shown, *row.line.split("\t")))
    tell_if_empty(arguments.file, number, "prediction")


def _lines(path: str, bad_lines: str) -> Iterator[list[PairLine]]:
    check_inputs(path)
    for block in read_blocks(path, bad_lines=bad_lines):
        yield [PairLine(line, (line,)) for line in block]
