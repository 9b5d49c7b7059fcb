"""`paraphrastic translate MODEL FILE --to LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.writing import add_writing_options, write_lines

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
    write_lines(
        arguments,
        lambda generator, lines, how: generator.translate(lines, to=arguments.to, writing=how),
    )
