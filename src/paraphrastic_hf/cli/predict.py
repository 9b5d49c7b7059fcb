"""`paraphrastic predict MODEL FILE`."""

from __future__ import annotations

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
from paraphrastic_hf.encoders.storage.locate import check_model_kind, check_model_name
from paraphrastic_hf.io.blocks import is_blank, read_blocks
from paraphrastic_hf.io.files import tsv_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model that `paraphrastic train` made of a recipe whose task is relatedness, "
        "entailment or sentiment; for taggers see `paraphrastic_hf.Tagger`",
    )
    parser.add_argument(
        "file",
        help="a file with one text a line, or, for relatedness and entailment, a table of pairs: "
        "TSV, CSV, JSON Lines or parquet (also .gz, .xz, .bz2); or - for standard input",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="write each line with its score or label before it to this TSV file (default: print)",
    )
    add_bad_lines(parser, "a line that is blank, or blank on one side, scored nan and ")
    parser.epilog = (
        "Labels are the names that the corpus gives them, such as entailment. Scores are on the\n"
        "scale of the training data, which for SICK is 1 to 5.\n\n"
        "example:\n  printf 'a cat sleeps\\ta cat is asleep\\n' | paraphrastic predict runs/sick -"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the score or label of each line before it; nan for one with a blank text."""
    check_model_name(arguments.model)
    check_inputs(arguments.file, tables=True)
    check_output(arguments.output)
    check_model_kind(arguments.model, "SentencePredictor")
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
    """Lines of one text each, as `pair_blocks` has those of two."""
    check_inputs(path)
    for block in read_blocks(path, bad_lines=bad_lines):
        yield [PairLine(line, (line,)) for line in block]
