"""`paraphrastic convert SOURCE --output DIR`."""

from __future__ import annotations

import argparse
import sys

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.corpora.readers.words import BAD_ROWS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "source",
        help="vectors in GloVe's text format (also .gz, .xz, .zip or archive.zip/name), a Theano "
        "release (.pickle) or a PyTorch release (.pt); nothing in it is run",
    )
    parser.add_argument("--output", required=True, help="the model directory to write")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace the model if --output holds an earlier conversion",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.add_argument(
        "--kind",
        help="the kind of encoder in the file, needed where its arrays alone cannot tell: words, "
        "trigrams, charagram, "
        "projection, lstm (last state), lstm-avg, lstm-max, bilstm-avg, bilstm-max, gran, gran-2 "
        "to gran-4, bigran, trigrams+words, trigrams+lstm-avg, words+lstm-avg, "
        "trigrams+words+lstm-avg",
    )
    parser.add_argument(
        "--tokenizer",
        help="the file that names the rows of the model's table: a sentencepiece model, "
        "CHARAGRAM's list of features, or vectors as text, whose words they are",
    )
    parser.add_argument(
        "--combine",
        choices=("add", "concatenate"),
        help="how the states of two directions, or the vectors of several encoders, become one "
        "vector",
    )
    parser.add_argument(
        "--activation",
        choices=("tanh", "linear", "relu"),
        help="the activation of a charagram (default: tanh) or projection (default: linear) "
        "encoder",
    )
    parser.add_argument(
        "--side",
        choices=("first", "second"),
        help="which of the two languages to convert, of a release that has a table for each",
    )
    parser.add_argument(
        "--spaced",
        action="store_true",
        help="split texts at spaces only, for text that is tokenized already, as the releases "
        "expect it",
    )
    parser.add_argument(
        "--cased",
        action="store_true",
        help="keep capital letters; the releases were trained on lower-cased text",
    )
    parser.add_argument(
        "--bad-rows",
        choices=BAD_ROWS,
        default="refuse",
        help="what to do about a malformed row or a repeated word among vectors as text: refuse "
        "the file (default), skip the row, or, of a repeated word, keep the last row",
    )
    parser.epilog = (
        "examples:\n"
        "  paraphrastic convert paragram-phrase-XXL.txt --output runs/paragram-phrase\n"
        "  paraphrastic convert glove.840B.300d.zip --output runs/glove --cased --bad-rows skip\n"
        "  paraphrastic convert charagram_phrase.pickle --output runs/charagram \\\n"
        "      --tokenizer charagram_phrase_features_234.txt\n"
        "  paraphrastic convert ngram-word-concat-40.pickle --output runs/paranmt "
        "--combine concatenate\n"
        "  paraphrastic convert bilstmavg-4096-40.pickle --output runs/blstm "
        "--kind bilstm-avg \\\n      --combine concatenate\n"
        "  paraphrastic convert model.para.lc.100.pt --output runs/at-scale "
        "--tokenizer paranmt.model"
    )
    parser.set_defaults(run=run)


@holds_output("converting")
def run(arguments: argparse.Namespace) -> None:
    """Convert, and say what the release does otherwise."""
    from pathlib import Path

    from paraphrastic_hf.conversion.forms import checked_form
    from paraphrastic_hf.conversion.release import Choices

    choices = Choices(
        kind=arguments.kind,
        vocabulary=arguments.tokenizer,
        combine=arguments.combine,
        activation=arguments.activation,
        side=arguments.side,
        spaced=arguments.spaced,
        cased=arguments.cased,
        bad_rows=arguments.bad_rows,
    )
    checked_form(
        Path(arguments.source), Path(arguments.output), choices, overwrite=arguments.overwrite
    )
    from paraphrastic_hf.conversion.convert import convert

    converted = convert(
        arguments.source,
        arguments.output,
        choices,
        overwrite=arguments.overwrite,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )
    size = converted.model.config.hidden_size
    print(
        f"{arguments.output}: {converted.kind}, {size} dimensions, "
        f"{converted.tokenizer.vocab_size:,} entries"
    )
    for difference in converted.differences:
        print(f"  {difference}")
