"""`paraphrastic translate MODEL FILE`."""

import argparse
from collections.abc import Callable

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.options import TEXTS, add_trust_option, data_errors
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.shared.writing import add_writing_options, write_lines, writing_of
from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.metrics.names import SIMILARITIES, UTILITIES

EPILOG = """\
A generative model of sentence pairs (kind generative) writes from one vector per sentence, so long
sentences lose details. All other models attend to every word. A blank line, or one without a known
token, gives an empty line.

examples:
  paraphrastic translate runs/de-en german.txt --output english.txt
  echo 'ein Hund schl\u00e4ft' | paraphrastic translate runs/de-en - --outputs 8 --beams 8
  paraphrastic translate runs/de-en german.txt --sample --top-p 1 --outputs 64 --decode mbr
  paraphrastic translate facebook/m2m100_418M english.txt --from en --to fr"""


def configure(parser: Parser) -> None:
    parser.option(
        "model",
        "translator: model directory of a recipe of kind translation or generative, or an "
        "encoder-decoder of transformers, as directory or Hub repository",
    )
    parser.option("file", TEXTS)
    parser.option(
        "--to CODE", "language to write, such as fr. Optional if the model writes only one language"
    )
    parser.option("--from CODE", "language of the lines, for NLLB, M2M100 and mBART", dest="source")
    parser.option(
        "--prefix TEXT", "prefix of every line, for T5: 'translate English to German: '", default=""
    )
    add_writing_options(parser)
    parser.option(
        "--decode",
        "output for each line. likely: all --outputs translations, most likely first. mbr: "
        "the translation with the highest mean similarity to all translations (minimum Bayes "
        "risk). The mean is weighted by likelihood, or uniform with --sample",
        default="likely",
        choices=("likely", "mbr"),
    )
    parser.option(
        "--metric",
        "similarity of translations for --decode mbr (default: simile)",
        choices=UTILITIES,
    )
    parser.option(
        "--metric-model MODEL",
        "encoder of --metric simile or sim (default: simile, or multilingual if the output is "
        "known not to be English)",
    )
    parser.option(
        "--metric-similarity",
        "unit that --metric simile or sim compares: sentences, or windows of five tokens (slower), "
        "as in paraphrastic simile",
        default="sentences",
        choices=SIMILARITIES,
    )
    parser.flag(
        "--aggregate",
        "compare each translation with the mean vector of all translations. Faster than "
        "comparing all pairs, with equal choices for --metric sim and nearly equal choices "
        "for simile",
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(arguments.file)
    check_output(arguments.output)
    how = writing_of(arguments)
    with data_errors():
        decide = decider(arguments)
        from paraphrastic_hf.generation.any_translator import load_translator

        translate = load_translator(
            arguments.model,
            source=arguments.source,
            to=arguments.to,
            prefix=arguments.prefix,
            trust_remote_code=arguments.trust_remote_code,
        )

    def write(lines: list[str], how: GenerationOptions) -> list[list[GeneratedText]]:
        return decide(translate(lines, how, scores=how.outputs > 1))

    write_lines(arguments, write, how)


def decider(
    arguments: argparse.Namespace,
) -> Callable[[list[list[GeneratedText]]], list[list[GeneratedText]]]:
    metric = arguments.metric or "simile"
    by_windows = arguments.metric_similarity != "sentences"
    of_simile = {
        "--metric-model": arguments.metric_model,
        "--metric-similarity": by_windows,
        "--aggregate": arguments.aggregate,
    }
    given = [option for option, value in of_simile.items() if value]
    if arguments.decode == "likely":
        if given or arguments.metric:
            raise DataError(f"{[*given, '--metric'][0]} requires --decode mbr")
        return lambda lines: lines
    if arguments.outputs < 2:
        raise DataError(
            "--decode mbr requires several translations. Set --outputs to 16 or more. Also pass "
            "--sample, or set --beams to at least as many"
        )
    if given and metric not in ("simile", "sim"):
        raise DataError(f"{given[0]} requires --metric simile or sim, got {metric}")
    if arguments.aggregate and by_windows:
        raise DataError(
            "--aggregate works only with --metric-similarity sentences, got "
            f"{arguments.metric_similarity}"
        )
    from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
    from paraphrastic_hf.metrics.utilities import CODES_OF_ENGLISH, make_utility

    model = arguments.metric_model or "simile"
    if not arguments.metric_model and metric in ("simile", "sim"):
        to = arguments.to or written_language(local_directory(arguments.model))
        if to not in (None, *CODES_OF_ENGLISH):  # `simile` reads English only
            model = "multilingual"
    utility = make_utility(metric, model=model, similarity=arguments.metric_similarity)

    def decide(lines: list[list[GeneratedText]]) -> list[list[GeneratedText]]:
        found = minimum_bayes_risk(
            [[each.text for each in line] for line in lines],
            utility,
            weights=None if arguments.sample else [likelihood_weights(line) for line in lines],
            aggregate=arguments.aggregate,
        )
        return [[line[choice.index]] for line, choice in zip(lines, found, strict=True)]

    return decide
