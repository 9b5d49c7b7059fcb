"""`paraphrastic predict MODEL FILE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    open_output,
    tell_if_empty,
)
from paraphrastic_hf.data.blocks import is_blank, read_blocks
from paraphrastic_hf.encoding.locate import check_model_name
from paraphrastic_hf.errors import counted
from paraphrastic_hf.text.files import tsv_line


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model",
        help="a model that `paraphrastic train` made of a recipe whose task is relatedness, "
        "entailment or sentiment; for taggers see `paraphrastic_hf.Tagger`",
    )
    parser.add_argument(
        "file",
        help="a file with one text a line, or two with a tab between them for relatedness and "
        "entailment (also .gz, .xz, .bz2), or - for standard input",
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
    check_inputs(arguments.file)
    check_output(arguments.output)
    from paraphrastic_hf.encoding.predict import SentencePredictor
    from paraphrastic_hf.errors import DataError

    predictor = SentencePredictor.from_pretrained(arguments.model)
    sides = 2 if predictor.takes_pairs else 1
    number = 0
    with open_output(arguments.output) as output:
        for block in read_blocks(arguments.file, bad_lines=arguments.bad_lines):
            rows = [
                [""] * sides if is_blank(line) else line.split("\t") if sides == 2 else [line]
                for line in block
            ]
            for i, row in enumerate(rows, number + 1):
                if len(row) != sides:
                    raise DataError(
                        f"{arguments.file}:{i} has {counted(len(row), 'column')}, but this model "
                        "takes "
                        f"{sides}, a text each with a tab between: {block[i - 1 - number][:60]!r}"
                    )
            number += len(rows)
            found = predictor.predict(*([row[side] for row in rows] for side in range(sides)))
            texts = (item if isinstance(item, str) else f"{item:.4f}" for item in found)
            shown = (
                "nan" if any(map(is_blank, row)) else text
                for text, row in zip(texts, rows, strict=True)
            )
            output.writelines(
                tsv_line(s, *line.split("\t")) for s, line in zip(shown, block, strict=True)
            )
    tell_if_empty(arguments.file, number, "prediction")
