"""`paraphrastic transfer MODEL --source FILE --style FILE --language LANGUAGE`."""

import argparse
from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.shared.writing import (
    GENERATIVE,
    LINES_AT_A_TIME,
    add_writing_options,
    write_blocks,
    writing_of,
)
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.io.lines import read_blocks, shown_input

EPILOG = """\
Each output has the meaning of a source line and the style of the style line with the same number:
its length, punctuation and sentence type (thesis, 5.7.3). The style lines are in the language of
the output. The source lines may be in another language of the model. If either line has no known
token, the output is an empty line.

examples:
  paraphrastic transfer runs/bgt --source source.txt --style style.txt --language en"""


def configure(parser: Parser) -> None:
    parser.option("model", GENERATIVE)
    parser.option("--source FILE", "sentences that give the meaning, one per line", required=True)
    parser.option(
        "--style FILE", "sentences that give the style, one per line of --source", required=True
    )
    parser.option("--language CODE", "language to write, such as en. Optional if there is only one")
    add_writing_options(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.source, arguments.style)
    check_output(arguments.output)
    how = writing_of(arguments)
    from paraphrastic_hf.generation.latent import LatentGenerator

    generator = LatentGenerator.from_pretrained(arguments.model)

    def write(pairs: list[tuple[str, str]], how: GenerationOptions) -> list[list[GeneratedText]]:
        sources, styles = map(list, zip(*pairs, strict=True))
        return generator.transfer(sources, styles, language=arguments.language, writing=how)

    write_blocks(arguments, _pairs(arguments), write, how)


def _pairs(arguments: argparse.Namespace) -> Iterator[list[tuple[str, str]]]:
    source, style = (
        chain.from_iterable(read_blocks(path, bad_lines=arguments.bad_lines))
        for path in (arguments.source, arguments.style)
    )
    pairs = zip_longest(source, style)
    while block := list(islice(pairs, LINES_AT_A_TIME)):
        for pair in block:
            if None in pair:
                ended = arguments.source if pair[0] is None else arguments.style
                raise DataError(
                    f"{shown_input(ended)} has fewer lines than the other file. The files of "
                    "--source and --style must have equally many lines"
                )
        yield block
