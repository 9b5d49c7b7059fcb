"""`paraphrastic translate MODEL FILE --to LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.lines import check_inputs, open_output, read_blocks
from paraphrastic_hf.cli.writing import add_writing_options, print_written, writing_of
from paraphrastic_hf.encoding.locate import check_model_name

EXAMPLES = """examples:
  paraphrastic translate runs/bgt english.txt --to fr --output french.txt
  echo 'a cat sleeps' | paraphrastic translate runs/bgt - --to fr --count 3

The model writes from the meaning of a whole sentence, one vector, so short sentences keep theirs
and long ones lose details. Lines may be in any language of the model. A line without a known token
gives an empty line.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model", help="output of `paraphrastic train` with a recipe of kind generative"
    )
    parser.add_argument("file", help="a sentence a line; .gz, .xz, or - for standard input")
    parser.add_argument(
        "--to",
        help="the language to write, by its code: fr; may be left out where the model "
        "translates into one alone",
    )
    add_writing_options(parser)
    parser.epilog = EXAMPLES
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the translation of each line."""
    check_model_name(arguments.model)
    check_inputs(arguments.file)
    from tqdm.auto import tqdm

    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.generation.latent import LatentGenerator

    writing = writing_of(arguments)
    generator = LatentGenerator.from_pretrained(arguments.model)
    number = 1
    bar = tqdm(unit=" lines", disable=arguments.quiet or None)
    with open_output(arguments.output) as output, bar:
        for block in read_blocks(arguments.file, 256, bad_lines=arguments.bad_lines):
            try:
                found = generator.translate(block, to=arguments.to, writing=writing)
            except ValueError as error:
                raise DataError(str(error)) from error
            print_written(output, number, found)
            number += len(block)
            bar.update(len(block))
