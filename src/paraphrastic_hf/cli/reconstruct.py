"""`paraphrastic reconstruct MODEL FILE --language LANGUAGE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.options import TEXTS
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.shared.writing import (
    add_writing_options,
    check_reconstruction,
    write_lines,
    writing_of,
)
from paraphrastic_hf.encoders.storage.locate import check_model_kind
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions

EPILOG = """\
Each line is encoded to its latent variables and decoded from them. The output shows how much of the
line the variables represent.

examples:
  paraphrastic reconstruct runs/bgt english.txt --language en
  paraphrastic reconstruct runs/bgt english.txt --language en --sample --outputs 5 --seed 1"""


def configure(parser: Parser) -> None:
    parser.option("model", "generative model: model directory of a recipe of kind generative")
    parser.option("file", TEXTS)
    parser.option(
        "--language CODE", "language of the lines, such as en. Optional if there is only one"
    )
    add_writing_options(parser)


def run(arguments: argparse.Namespace) -> None:
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
