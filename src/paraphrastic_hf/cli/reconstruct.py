"""`paraphrastic reconstruct MODEL FILE --language LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.writing import add_writing_options, write_lines

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
    write_lines(
        arguments,
        lambda generator, lines, how: generator.reconstruct(
            lines, language=arguments.language, writing=how
        ),
    )
