"""`paraphrastic reconstruct MODEL FILE --language LANGUAGE`."""

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.options import TEXTS
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.shared.writing import (
    GENERATIVE,
    add_writing_options,
    write_lines,
    writing_of,
)

EPILOG = """\
Each line is encoded to its latent variables and decoded from them. The output shows how much of the
line the variables represent.

examples:
  paraphrastic reconstruct runs/bgt english.txt --language en"""


def configure(parser: Parser) -> None:
    parser.option("model", GENERATIVE)
    parser.option("file", TEXTS)
    parser.option(
        "--language CODE", "language of the lines, such as en. Optional if there is only one"
    )
    add_writing_options(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.file)
    check_output(arguments.output)
    how = writing_of(arguments)
    from paraphrastic_hf.generation.latent import LatentGenerator

    generator = LatentGenerator.from_pretrained(arguments.model)
    write_lines(
        arguments,
        lambda lines, how: generator.reconstruct(lines, language=arguments.language, writing=how),
        how,
    )
