"""`paraphrastic judge -s mle.txt mrt.txt -r ref.txt`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output, dump_json, open_output
from paraphrastic_hf.encoders.storage.locate import check_model_kind, check_model_name

EPILOG = """\
A table with a line for each system: corpus BLEU and chrF (sacrebleu's), mean SIM and SimiLE, with
two-sided p-values against the first system (paired permutation test); the share of word pairs that
an output has twice; words for each word of the references. Then F1 of words by how frequent they
are, in the references or in --frequencies, and by coarse part of speech if there is a --tagger
(thesis, Table 70). A --judge is an encoder that no system was trained on, for a check on gains that
a metric may have taught. Signatures stand below. `paraphrastic compare` shows single segments of
two systems.

examples:
  paraphrastic judge -s mle.txt bleu.txt simile.txt -r reference.txt
  paraphrastic judge -s mle.txt simile.txt -r reference.txt --frequencies train.en \\
      --tagger runs/tagging --judge sentence-transformers/all-MiniLM-L6-v2 --output report.md"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    from paraphrastic_hf.cli.simile import add_resampling_arguments, add_scorer_arguments

    add_scorer_arguments(parser)
    parser.add_argument(
        "--frequencies",
        metavar="FILE",
        help="sentences whose words say how frequent a word is, such as the training text "
        "(default: the references)",
    )
    parser.add_argument(
        "--tagger",
        metavar="MODEL",
        help="a tagger that `paraphrastic train` made, for F1 by part of speech",
    )
    parser.add_argument(
        "--judge",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="further encoders, of this package or of sentence-transformers, by whose cosines the "
        "systems are judged",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="write the report to this file, as JSON if its name ends in .json (default: print it)",
    )
    add_resampling_arguments(parser)
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Judge the systems, and print or write the report."""
    for name in (arguments.model, *arguments.judge):
        check_model_name(name)
    if arguments.tagger:
        check_model_kind(arguments.tagger, "Tagger")
    counted_file = [arguments.frequencies] if arguments.frequencies else []
    check_inputs(*arguments.systems, *arguments.references, *counted_file)
    check_output(arguments.output)

    from paraphrastic_hf.cli.simile import read_segments, scorer_and_systems
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.evaluation.generation import generation_markdown, judge

    if len(arguments.references) > 1:
        raise DataError(
            "judge takes one file of references, since words are right by one; `paraphrastic "
            "simile` takes several"
        )
    scorer, references, systems = scorer_and_systems(arguments)
    tag = None
    if arguments.tagger:
        from paraphrastic_hf.predictors.tagger import Tagger

        tag = Tagger.from_pretrained(arguments.tagger).tag
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
