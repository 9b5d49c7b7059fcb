"""`paraphrastic corpus sample CORPUS --output DIR`, and `--answers FILE ...`."""

import argparse
import math
import sys

from paraphrastic_hf.cli.shared.corpora import CORPORA, add_score_options, batches_of, chosen_score
from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError, counted

EPILOG = """\
The first example samples 100 rows from each bin of the thesis's Table 27. It writes a page for
annotators, a table that they may fill in instead, and a key with the scores, which they should not
see. The second prints their answers by bin. The third needs no annotators: another encoder gives
the mean similarity of each bin, and a language model the perplexity of the translations.

examples:
  paraphrastic corpus sample corpora/es --score paraphrase_score --output judged
  paraphrastic corpus sample --answers ann.tsv ben.tsv --output judged
  paraphrastic corpus sample pairs.tsv --independent runs/other --language-model runs/lm"""


def configure(parser: Parser) -> None:
    parser.option("corpus", CORPORA, nargs="*")
    parser.option(
        "--bins EDGE",
        "edges of the score bins. A bin includes its upper edge, but not its lower edge "
        "(default: -0.1 0.2 0.4 0.6 0.8 1)",
        type=float,
        nargs="+",
    )
    parser.option("--per-bin", "rows sampled from each bin", default=100, least=1)
    parser.option("--seed", "seed of the sample", default=1)
    add_score_options(parser, "the scores for the bins")
    parser.option("--independent MODEL", "second encoder, for the mean similarity of each bin")
    parser.option(
        "--language-model MODEL",
        "language model (ours or KenLM) for the perplexity of translations",
    )
    parser.option("--output DIR", "folder of the page, the table and the key")
    parser.option(
        "--answers FILE",
        "answers of annotators to summarize. --output is the sample's folder",
        nargs="+",
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.answers:
        if arguments.corpus or not arguments.output:
            raise DataError(
                "With --answers, set --output to the folder of the sample and name no corpus"
            )
        _print_answers(arguments)
        return
    if not arguments.corpus:
        raise DataError("Name a corpus or pass --answers")
    _sample(arguments)


@holds_output("drawing a sample")
def _sample(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.io.markdown import Markdown, markdown_table
    from paraphrastic_hf.pipelines.statistics.annotation import (
        EDGES,
        fill_bins,
        refuse_sample,
        sampled,
        write_sample,
    )
    from paraphrastic_hf.pipelines.steps.judges import CrossEntropy
    from paraphrastic_hf.pipelines.steps.scores import ParaphraseScore

    if arguments.output:
        refuse_sample(arguments.output)
    bins, outside = fill_bins(
        batches_of(arguments),
        chosen_score(arguments),
        edges=arguments.bins or EDGES,
        of_a_bin=arguments.per_bin,
        seed=arguments.seed,
    )
    header = ["score", "rows", "trigram overlap"]
    cells = [[Markdown(str(each)), f"{each.count:,}", _spread(each.overlap)] for each in bins]
    if arguments.independent:
        header.append(f"similarity by {arguments.independent}")
        means = sampled(bins, ParaphraseScore(model=arguments.independent).score)
        _add(cells, [f"{mean:.2f}" for mean in means])
    if arguments.language_model:
        from paraphrastic_hf.generation.likelihood import perplexity_of

        header.append("perplexity of translations")
        means = sampled(bins, CrossEntropy(model=arguments.language_model).score)
        _add(cells, [f"{perplexity_of(mean):.0f}" for mean in means])
    print("\n".join(markdown_table(header, cells)))
    if outside:
        print(f"{counted(outside, 'row')} outside all bins", file=sys.stderr)
    if arguments.output:
        count = write_sample(bins, arguments.output, seed=arguments.seed)
        print(f"{counted(count, 'row')} to judge: {arguments.output}", file=sys.stderr)


def _print_answers(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.io.markdown import markdown_table
    from paraphrastic_hf.pipelines.statistics.annotation import QUESTIONS, RATINGS, read_answers

    bins, agreement = read_answers(arguments.output, arguments.answers)
    header = ["score", "rows", "trigram overlap"]
    header += [f"{question} {rating}" for question in QUESTIONS for rating in RATINGS]
    cells = [
        [
            str(each),
            f"{each.count:,}",
            _spread(each.overlap),
            *(str(count) for question in QUESTIONS for count in each.ratings[question]),
        ]
        for each in bins
    ]
    print("\n".join(markdown_table(header, cells)))
    if not math.isnan(agreement):
        print(f"two annotators agree on {100 * agreement:.0f} % of ratings", file=sys.stderr)


def _spread(overlap: tuple[float, float]) -> str:
    return "" if math.isnan(overlap[0]) else f"{overlap[0]:.2f} ± {overlap[1]:.1f}"


def _add(rows: list[list[str]], cells: list[str]) -> None:
    for row, cell in zip(rows, cells, strict=True):
        row.append(cell.replace("nan", ""))
