"""`paraphrastic reconstruct MODEL FILE --language LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.writing import (
    add_writing_options,
    check_reconstruction,
    write_lines,
    writing_of,
)
from paraphrastic_hf.encoders.storage.locate import check_model_kind
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions

EXAMPLES = """examples:
  paraphrastic reconstruct runs/bgt english.txt --language en

Each line is written again from its own variables: what comes back is what they hold of it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "model", help="output of `paraphrastic train` with a recipe of kind generative"
    )
    parser.add_argument("file", help="a sentence a line; .gz, .xz, .bz2, or - for standard input")
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
    check_inputs(arguments.file)
    check_output(arguments.output)
    config = check_model_kind(arguments.model, "LatentGenerator")
    how = writing_of(arguments)
    check_reconstruction(config, arguments.language)
    from paraphrastic_hf.generation.latent import LatentGenerator

    generator = LatentGenerator.from_pretrained(arguments.model)

    def write(lines: list[str], how: GenerationOptions) -> list[list[GeneratedText]]:
        return generator.reconstruct(lines, language=arguments.language, writing=how)

    write_lines(arguments, write, how)
