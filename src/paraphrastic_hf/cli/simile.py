"""`paraphrastic simile -s hyp.txt -r ref.txt`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import (
    add_bad_lines,
    check_inputs,
    check_output,
    dump_json,
    open_output,
)
from paraphrastic_hf.cli.shared.options import add_encoder_options, data_errors, named_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.io.blocks import read_blocks
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
  paraphrastic simile -s system.txt -r first.txt second.txt         # two references a segment
  paraphrastic simile -s system.txt -r reference.txt --segments > segments.tsv
  paraphrastic simile -s system.en --source source.de                # no references"""
WITH_REFERENCES = {  # options that need --references, and their defaults
    "model": "simile",
    "similarity": None,
    "alpha": 0.25,
    "penalty": "both",
    "length": "tokens",
    "lowercase": False,
    "several": "best",
    "latent": None,
    "trust_remote_code": False,
}


def add_scorer_arguments(
    parser: argparse.ArgumentParser, systems: int | str = "+", *, sources: bool = False
) -> None:
    """Add the arguments for systems and references, and the options of `SimileScorer`.

    Args:
        systems: Number of systems, as `nargs` of argparse.
        sources: Also add `--source`, in place of references.
    """
    parser.add_argument(
        "-s",
        "--systems",
        nargs=systems,
        required=True,
        metavar="FILE",
        help="one file per system, one segment per line (also .gz, .xz, .bz2)",
    )
    texts = parser.add_mutually_exclusive_group(required=True)
    if sources:
        texts.add_argument(
            "--source",
            metavar="FILE",
            help="source texts, one per line, to score without references",
        )
        parser.add_argument(
            "--languages",
            nargs=2,
            metavar=("SRC", "TGT"),
            help="with --source: language codes such as de en (default: identified from the first "
            "system)",
        )
    texts.add_argument(
        "-r",
        "--references",
        nargs="+",
        metavar="FILE",
        help="files of references, one segment per line, several files for several references",
    )
    parser.add_argument(
        "-m",
        "--model",
        default="simile",
        help="encoder: model directory, packaged model (simile, english, multilingual, tiny) or "
        "Hub repository. The model simile is english with more equal row norms, tuned on "
        "newstest2015",
    )
    parser.add_argument(
        "--similarity",
        choices=SIMILARITIES,
        help="how SIM compares texts. sentences: cosine of the sentence embeddings, as in the "
        "thesis. windows: best match of every five consecutive tokens of the first "
        "1,024, for averaging models of this package and english-window. strict-windows: the "
        "same, but errors and another order lower SIM more. It agrees best with human "
        "judgments (default: windows for simile, sentences for other models)",
    )
    parser.add_argument(
        "--alpha", type=float, default=0.25, help="weight of the length penalty, 0 or more"
    )
    parser.add_argument(
        "--penalty",
        default="both",
        choices=PENALTIES,
        help="hypotheses to penalize for their length: those shorter than the reference (brevity), "
        "longer (excess), both, or none",
    )
    parser.add_argument(
        "--length",
        default="tokens",
        choices=UNITS,
        help="unit of length: tokens or their characters",
    )
    parser.add_argument("--lowercase", action="store_true", help="lower-case the texts first")
    parser.add_argument(
        "--several", default="best", choices=SEVERAL, help="score with several references"
    )
    add_bad_lines(parser, "A blank line scores 0. ")
    add_encoder_options(parser)


def add_resampling_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--samples", type=int, default=1000, help="samples for intervals and p-values, 1 or more"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the samples, 0 or more")


def configure(parser: argparse.ArgumentParser) -> None:
    add_scorer_arguments(parser, sources=True)
    parser.add_argument(
        "--segments", action="store_true", help="write scores of each segment instead of the corpus"
    )
    parser.add_argument(
        "--output",
        default="-",
        metavar="FILE",
        help=("file to write, as JSON if its name ends in .json (default: print)"),
    )
    add_resampling_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    check_model_name(arguments.model)
    check_inputs(*arguments.systems, *(arguments.references or [arguments.source]))
    check_output(arguments.output)
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.metrics.systems import compare_systems, segment_rows, system_table

    if arguments.source:
        for name, default in WITH_REFERENCES.items():
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
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.metrics.scorer import SimileScorer
    from paraphrastic_hf.metrics.systems import check_systems

    files = [read_segments(name, arguments.bad_lines) for name in arguments.references]
    if len({len(lines) for lines in files}) > 1:
        counts = zip(arguments.references, files, strict=True)
        raise DataError(
            "The reference files have different numbers of lines: "
            + ", ".join(f"{name}: {len(lines):,}" for name, lines in counts)
        )
    references = (
        files[0] if len(files) == 1 else [list(texts) for texts in zip(*files, strict=True)]
    )
    systems = [(name, read_segments(name, arguments.bad_lines)) for name in arguments.systems]
    check_systems(systems, references, samples=arguments.samples, seed=arguments.seed)
    model = arguments.model
    if arguments.latent or arguments.trust_remote_code:
        model = named_encoder(arguments)
    with data_errors():
        scorer = SimileScorer(
            model,
            similarity=arguments.similarity,
            alpha=arguments.alpha,
            penalty=arguments.penalty,
            length=arguments.length,
            lowercase=arguments.lowercase,
            several=arguments.several,
        )
    return scorer, references, systems


def estimator_and_systems(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    """Return the scorer without references, the sources, and the systems."""
    from paraphrastic_hf.metrics.quality import QualityEstimator, identify
    from paraphrastic_hf.metrics.systems import check_systems

    sources = read_segments(arguments.source, arguments.bad_lines)
    systems = [(name, read_segments(name, arguments.bad_lines)) for name in arguments.systems]
    resampling = {"samples": arguments.samples, "seed": arguments.seed}
    check_systems(systems, sources, **resampling, name="sources")
    languages = arguments.languages or identify(systems[0][1], sources)
    return QualityEstimator(languages), sources, systems


def read_segments(path: str, bad_lines: str) -> list[str]:
    """Read the lines of a file. Raise an error if it is empty."""
    from paraphrastic_hf.errors import DataError

    lines = [line for block in read_blocks(path, bad_lines=bad_lines) for line in block]
    if not lines:
        raise DataError(f"{path} is empty. Expected one text per line")
    return lines
