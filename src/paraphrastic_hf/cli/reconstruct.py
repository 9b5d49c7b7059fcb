"""`paraphrastic reconstruct MODEL FILE --language LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.lines import check_inputs, open_output, read_blocks
from paraphrastic_hf.cli.writing import add_writing_options, print_written, writing_of
from paraphrastic_hf.encoding.locate import check_model_name

EXAMPLES = """examples:
  paraphrastic reconstruct runs/bgt english.txt --language en

Each line is written again from its own variables: what comes back is what they hold of it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model", help="output of `paraphrastic train` with a recipe of kind generative"
    )
    parser.add_argument("file", help="a sentence a line; .gz, .xz, or - for standard input")
    parser.add_argument(
        "--language",
        help="the language of the lines: en; may be left out where the model "
        "reconstructs one alone",
    )
    add_writing_options(parser)
    parser.epilog = EXAMPLES
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print what the model makes of each line."""
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
                found = generator.reconstruct(block, language=arguments.language, writing=writing)
            except ValueError as error:
                raise DataError(str(error)) from error
            print_written(output, number, found)
            number += len(block)
            bar.update(len(block))
