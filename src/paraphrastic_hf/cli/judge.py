"""`paraphrastic judge -s mle.txt mrt.txt -r ref.txt`."""

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output, dump_json, open_output
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.simile import (
    add_resampling_arguments,
    add_scorer_arguments,
    read_segments,
    scorer_and_systems,
)
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import DataError

EPILOG = """\
The report has one line per system:
* corpus BLEU and chrF (sacrebleu), mean SIM and SimiLE, with two-sided p-values against the first
  system (paired permutation test)
* the share of repeated word bigrams, and the length relative to the references, in words
* F1 of words by frequency, and with --tagger by coarse part of speech (thesis, Table 70)
* the signatures of the metrics

Use as --judge an encoder that no system was trained on: it shows whether a gain goes beyond the
metric that was optimized. `paraphrastic compare` shows single segments of two systems.

examples:
  paraphrastic judge -s mle.txt simile.txt -r reference.txt --frequencies train.en \\
      --tagger runs/tagging --judge sentence-transformers/all-MiniLM-L6-v2 --output report.md"""


def configure(parser: Parser) -> None:
    add_scorer_arguments(parser)
    parser.option(
        "--frequencies FILE",
        "text for word frequencies, such as training text (default: references)",
    )
    parser.option(
        "--tagger MODEL", "tagger of `paraphrastic train`, for F1 by part of speech (default: none)"
    )
    parser.option(
        "--judge MODEL",
        "encoders of this package or of sentence-transformers, to report the mean cosine of "
        "output and reference",
        default=[],
        nargs="+",
    )
    parser.option(
        "--output FILE",
        "report, JSON if its name ends in .json, else Markdown (default: print)",
        default="-",
    )
    add_resampling_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    for name in arguments.judge:
        check_model_name(name)
    counted_file = [arguments.frequencies] if arguments.frequencies else []
    check_inputs(*arguments.systems, *arguments.references, *counted_file)
    check_output(arguments.output)
    if len(arguments.references) > 1:
        raise DataError(
            "judge takes one file of references. For several, use `paraphrastic simile`"
        )
    from paraphrastic_hf.evaluation.generation import generation_markdown, judge

    tag = None
    if arguments.tagger:
        from paraphrastic_hf.predictors.tagger import Tagger

        tag = Tagger.from_pretrained(arguments.tagger).tag
    scorer, references, systems = scorer_and_systems(arguments)
    report = judge(
        systems,
        references,
        scorer=scorer,
        counted=read_segments(counted_file[0], arguments.bad_lines) if counted_file else None,
        tag=tag,
        judges=[(name, name) for name in arguments.judge],
        samples=arguments.samples,
        seed=arguments.seed,
    )
    with open_output(arguments.output) as output:
        if arguments.output.endswith(".json"):
            dump_json(report.to_dict(), output)
        else:
            output.write(generation_markdown(report))
