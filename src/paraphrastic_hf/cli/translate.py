"""`paraphrastic translate MODEL FILE`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.mbr import add_decoding_options, decider
from paraphrastic_hf.cli.shared.options import TEXTS, add_trust_option, data_errors
from paraphrastic_hf.cli.shared.writing import add_writing_options, write_lines, writing_of
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions

EPILOG = """\
A generative model of sentence pairs (kind generative) writes from one vector per sentence, so long
sentences lose details. All other models attend to every word. A blank line, or one without a known
token, gives an empty line.

examples:
  paraphrastic translate runs/de-en german.txt --output english.txt
  echo 'ein Hund schl\u00e4ft' | paraphrastic translate runs/de-en - --outputs 8 --beams 8
  paraphrastic translate Helsinki-NLP/opus-mt-en-de english.txt --sample --outputs 64
  paraphrastic translate runs/de-en german.txt --sample --top-p 1 --outputs 64 --decode mbr
  paraphrastic translate facebook/m2m100_418M english.txt --from en --to fr
  paraphrastic translate runs/bgt english.txt --to fr --output french.txt"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model",
        help="translator: model directory of a recipe of kind translation or generative, or an "
        "encoder-decoder of transformers, as directory or Hub repository",
    )
    parser.add_argument("file", help=TEXTS)
    parser.add_argument(
        "--to",
        metavar="CODE",
        help="language to write, such as fr. Optional if the model writes only one language",
    )
    parser.add_argument(
        "--from",
        dest="source",
        metavar="CODE",
        help="language of the lines, for NLLB, M2M100 and mBART",
    )
    parser.add_argument(
        "--prefix",
        default="",
        metavar="TEXT",
        help="text put before every line, for T5: 'translate English to German: '",
    )
    add_writing_options(parser)
    add_decoding_options(parser)
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.file)
    check_output(arguments.output)
    how = writing_of(arguments)
    from paraphrastic_hf.generation.tasks import check_translation

    languages = {"source": arguments.source, "to": arguments.to, "prefix": arguments.prefix}
    with data_errors():
        check_translation(arguments.model, **languages)
        decide = decider(arguments)
        from paraphrastic_hf.generation.any_translator import load_translator

        translate = load_translator(
            arguments.model,
            **languages,
            trust_remote_code=arguments.trust_remote_code,
        )

    def write(lines: list[str], how: GenerationOptions) -> list[list[GeneratedText]]:
        return decide(translate(lines, how, scores=how.outputs > 1))

    write_lines(arguments, write, how)
