"""`paraphrastic simile -s hyp.txt -r ref.txt`."""

import argparse
from collections.abc import Sequence
from typing import Any

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    dump_json,
    open_output,
)
from paraphrastic_hf.cli.shared.options import add_encoder_options, data_errors, named_encoder
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import read_blocks
from paraphrastic_hf.metrics.names import PENALTIES, SEVERAL, SIMILARITIES, UNITS

EPILOG = """\
The table shows scores times 100. --segments and JSON show them as fractions. Brackets show the 95 %
bootstrap interval of the mean over segments. p is the two-sided p-value of a paired permutation
test against the first system. The test uses all permutations for up to 20 segments, else --samples
random ones. With n segments p is at least 2 / 2^n: 0.0625 for five. Compare scores only if their
signatures are equal.

With --source instead of --references, SIM compares translations with their source, by the packaged
model multilingual. Use it to find broken translations, not to rank good ones. SIM is scaled for
each language: unrelated sentences have 0 on average, good translations 100. SimiLE is lower for
segments that look empty, untranslated, truncated or in the wrong language. The table lists them.
Needs py3langid: pip install 'paraphrastic-hf[identify]'

examples:
  paraphrastic simile -s system.txt -r reference.txt
  paraphrastic simile -s baseline.txt new.txt -r reference.txt      # p of each against the first
  paraphrastic simile -s system.en --source source.de                # no references"""
OF_SCORER = ("similarity", "alpha", "penalty", "length", "lowercase", "several")
WITH_REFERENCES = ("model", *OF_SCORER, "latent", "trust_remote_code")  # not for --source


def add_scorer_arguments(
    parser: Parser, systems: int | str = "+", *, sources: bool = False
) -> None:
    """Add the arguments for systems and references, and the options of `SimileScorer`.

    `systems` is their number, as `nargs` of argparse. `sources` adds `--source`.
    """
    parser.option(
        "-s, --systems FILE",
        "one file per system, one segment per line (also .gz, .xz, .bz2)",
        nargs=systems,
        required=True,
    )
    texts = parser.add_mutually_exclusive_group(required=True)
    if sources:
        parser.option(
            "--source FILE",
            "source texts, one per line, to score without references",
            group=texts,
        )
        parser.option(
            "--languages",
            "with --source: language codes such as de en (default: identified from the first "
            "system)",
            nargs=2,
            metavar=("SRC", "TGT"),
        )
    parser.option(
        "-r, --references FILE",
        "files of references, one segment per line, several files for several references",
        nargs="+",
        group=texts,
    )
    parser.option(
        "-m, --model",
        "encoder: model directory, packaged model (simile, english, multilingual, tiny) or Hub "
        "repository. The model simile is english with more equal row norms, tuned on newstest2015",
        default="simile",
    )
    parser.option(
        "--similarity",
        "how SIM compares texts. sentences: cosine of the sentence embeddings, as in the thesis. "
        "windows: best match of every five consecutive tokens of the first 1,024, for averaging "
        "models of this package and english-window. strict-windows: the same, but errors and "
        "another order lower SIM more. It agrees best with human judgments (default: windows for "
        "simile, sentences for other models)",
        choices=SIMILARITIES,
    )
    parser.option("--alpha", "weight of the length penalty, 0 or more", default=0.25)
    parser.option(
        "--penalty",
        "hypotheses to penalize for their length: those shorter than the reference (brevity), "
        "longer (excess), both, or none",
        default="both",
        choices=PENALTIES,
    )
    parser.option(
        "--length", "unit of length: tokens or their characters", default="tokens", choices=UNITS
    )
    parser.flag("--lowercase", "lower-case the texts first")
    parser.option("--several", "score with several references", default="best", choices=SEVERAL)
    add_bad_lines(parser, "A blank line scores 0. ")
    add_encoder_options(parser)
    parser.set_defaults(usual={name: parser.get_default(name) for name in WITH_REFERENCES})


def add_resampling_arguments(parser: Parser) -> None:
    parser.option("--samples", "samples for intervals and p-values", default=1000, least=1)
    parser.option("--seed", "seed of the samples", default=1, least=0)


def configure(parser: Parser) -> None:
    add_scorer_arguments(parser, sources=True)
    parser.flag("--segments", "write scores of each segment instead of the corpus")
    parser.option(
        "--output FILE",
        "file to write, as JSON if its name ends in .json (default: print)",
        default="-",
    )
    add_resampling_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    check_inputs(*arguments.systems, *(arguments.references or [arguments.source]))
    check_output(arguments.output)
    from paraphrastic_hf.metrics.systems import compare_systems, segment_rows, system_table

    if arguments.source:
        for name, default in arguments.usual.items():
            if getattr(arguments, name) != default:
                raise DataError(f"--{name.replace('_', '-')} has no effect with --source. Omit it")
        scorer, references, systems = estimator_and_systems(arguments)
    elif arguments.languages:
        raise DataError("--languages has no effect without --source. Omit it")
    else:
        scorer, references, systems = scorer_and_systems(arguments)
    results = compare_systems(
        scorer, systems, references, samples=arguments.samples, seed=arguments.seed
    )
    with open_output(arguments.output) as output:
        if arguments.output.endswith(".json"):
            values = [system.to_dict(segments=arguments.segments) for system in results]
            dump_json(values, output)
        elif arguments.segments:
            output.writelines(segment_rows(results))
        else:
            output.write(system_table(results))


def scorer_and_systems(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    """Return the scorer, the references (a text or a list of texts per segment) and the systems
    (pairs of name and segments).
    """
    from paraphrastic_hf.metrics.scorer import SimileScorer

    first, *others = arguments.references
    references: Any = read_segments(first, arguments.bad_lines)
    files = [lines for _, lines in _read(arguments, others, references)]
    systems = _read(arguments, arguments.systems, references)
    if files:
        references = [list(texts) for texts in zip(references, *files, strict=True)]
    model = arguments.model
    if arguments.latent or arguments.trust_remote_code:
        model = named_encoder(arguments)
    with data_errors():
        scorer = SimileScorer(model, **{name: getattr(arguments, name) for name in OF_SCORER})
    return scorer, references, systems


def estimator_and_systems(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    """Return the scorer without references, the sources, and the systems."""
    from paraphrastic_hf.metrics.quality import QualityEstimator, identify

    sources = read_segments(arguments.source, arguments.bad_lines)
    systems = _read(arguments, arguments.systems, sources, name="sources")
    languages = arguments.languages or identify(systems[0][1], sources)
    return QualityEstimator(languages), sources, systems


def _read(
    arguments: argparse.Namespace, paths: Sequence[str], beside: Sequence[str], **name: str
) -> list[tuple[str, list[str]]]:
    """Read files that must have as many segments as `beside`."""
    from paraphrastic_hf.metrics.systems import check_systems

    found = [(path, read_segments(path, arguments.bad_lines)) for path in paths]
    check_systems(found, beside, samples=arguments.samples, seed=arguments.seed, **name)
    return found


def read_segments(path: str, bad_lines: str) -> list[str]:
    """Read the lines of a file. Raise an error if it is empty."""
    lines = [line for block in read_blocks(path, bad_lines=bad_lines) for line in block]
    if not lines:
        raise DataError(f"{path} is empty. Expected one text per line")
    return lines
