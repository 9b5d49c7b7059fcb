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
from paraphrastic_hf.cli.shared.options import add_encoder_options, named_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.io.blocks import read_blocks
from paraphrastic_hf.metrics.names import PENALTIES, SEVERAL, SIMILARITIES, UNITS

EPILOG = """\
examples:
  paraphrastic simile -s system.txt -r reference.txt
  paraphrastic simile -s baseline.txt new.txt -r reference.txt      # p of each against the first
  paraphrastic simile -s system.txt -r first.txt second.txt         # two references a segment
  paraphrastic simile -s system.txt -r reference.txt --segments > segments.tsv

Scores are times 100. The brackets hold 95 % of the means of resampled segments (bootstrap). p is
how likely two equally good systems differ at least as much (two-sided paired permutation test). The
test goes through all exchanges of outputs up to 20 segments, and through --samples random ones
above. The smallest p of n segments is 2 / 2^n, so 0.0625 for five. Compare scores only if their
signatures are equal."""


def add_scorer_arguments(parser: argparse.ArgumentParser, systems: int | str = "+") -> None:
    """The systems, the references and the options of `SimileScorer`.

    Args:
        systems: How many systems there are, as `nargs` of argparse.
    """
    parser.add_argument(
        "-s",
        "--systems",
        nargs=systems,
        required=True,
        metavar="FILE",
        help="a file for each system, with one segment a line; .gz, .xz and .bz2 are unpacked",
    )
    parser.add_argument(
        "-r",
        "--references",
        nargs="+",
        required=True,
        metavar="FILE",
        help="the references, one segment a line; several files if a segment has several "
        "references",
    )
    parser.add_argument(
        "-m",
        "--model",
        default="simile",
        help="the sentence encoder: simile (default: the packaged model english, with the lengths "
        "of its rows evened out; how much, and the width of windows, was chosen on newstest2015), "
        "english, tiny or multilingual (packaged), a model directory, or the name of a model on "
        "the Hub",
    )
    parser.add_argument(
        "--similarity",
        choices=SIMILARITIES,
        help="what SIM compares: windows, every five tokens in a row with their best match on the "
        "other side (default for simile, and for averaging models of this package alone; of a "
        "text the first 1,024 tokens); or "
        "sentences, the cosine of two sentence embeddings, which is the thesis's (default for "
        "every other model)",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.25,
        help="the weight of the length penalty (default: 0.25; 0 leaves it out)",
    )
    parser.add_argument(
        "--penalty",
        default="both",
        choices=PENALTIES,
        help="which hypotheses lose score for their length: both shorter and longer ones "
        "(default), only shorter ones (brevity), only longer ones (excess), or none",
    )
    parser.add_argument(
        "--length",
        default="tokens",
        choices=UNITS,
        help="the unit of length: the model's tokens (default), or the characters of these",
    )
    parser.add_argument(
        "--lowercase", action="store_true", help="lower-case the texts before they are scored"
    )
    parser.add_argument(
        "--several",
        default="best",
        choices=SEVERAL,
        help="which score counts where there are several references: the best (default) or the "
        "mean",
    )
    add_bad_lines(parser, "a blank line scored 0 and ")
    add_encoder_options(parser)


def add_resampling_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of intervals and p-values."""
    parser.add_argument(
        "--samples",
        type=int,
        default=1000,
        help="number of random samples for the intervals and p-values (default: 1000)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the random samples (default: 1)"
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    add_scorer_arguments(parser)
    parser.add_argument(
        "--segments",
        action="store_true",
        help="print the scores of each segment, tab-separated and from -1 to 1, not those of the "
        "corpus",
    )
    parser.add_argument(
        "--output",
        default="-",
        help="write the scores to this file, as JSON if its name ends in .json, and then from -1 "
        "to 1, as in Python (default: print them)",
    )
    add_resampling_arguments(parser)
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Score each system, and print one table or the segments."""
    check_model_name(arguments.model)
    check_inputs(*arguments.systems, *arguments.references)
    check_output(arguments.output)
    from paraphrastic_hf.metrics.systems import compare_systems, segment_rows, system_table

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
    """The scorer that the options describe; the references, a text or a list a segment; and the
    segments of each system, by its name."""
    from paraphrastic_hf.errors import DataError
    from paraphrastic_hf.metrics.scorer import SimileScorer
    from paraphrastic_hf.metrics.systems import check_systems

    files = [read_segments(name, arguments.bad_lines) for name in arguments.references]
    if len({len(lines) for lines in files}) > 1:
        counts = zip(arguments.references, files, strict=True)
        raise DataError(
            "the reference files must have equally many lines, got "
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
    try:
        scorer = SimileScorer(
            model,
            similarity=arguments.similarity,
            alpha=arguments.alpha,
            penalty=arguments.penalty,
            length=arguments.length,
            lowercase=arguments.lowercase,
            several=arguments.several,
        )
    except ValueError as error:
        raise DataError(str(error)) from error
    return scorer, references, systems


def read_segments(path: str, bad_lines: str) -> list[str]:
    """The lines of a file, which must have some; a blank one is an empty segment."""
    from paraphrastic_hf.errors import DataError

    lines = [line for block in read_blocks(path, bad_lines=bad_lines) for line in block]
    if not lines:
        raise DataError(f"{path} is empty; give one text a line")
    return lines
