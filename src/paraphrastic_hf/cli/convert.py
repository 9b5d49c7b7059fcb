"""`paraphrastic convert SOURCE --output DIR`."""

from __future__ import annotations

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "source",
        help="vectors in GloVe's text format (also .gz, .xz, .zip or archive.zip/name), a Theano "
        "release (.pickle) or a PyTorch release (.pt); nothing in it is run",
    )
    parser.add_argument("--output", required=True, help="model directory to write")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an earlier conversion in --output"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument(
        "--kind",
        help="what the file is, where its arrays cannot tell: words, trigrams, charagram, "
        "projection, lstm (last state), lstm-avg, lstm-max, bilstm-avg, bilstm-max, gran, gran-2 "
        "to gran-4, bigran, trigrams+words, trigrams+lstm-avg, words+lstm-avg, "
        "trigrams+words+lstm-avg",
    )
    parser.add_argument(
        "--tokenizer",
        help="file beside the model: sentencepiece model, CHARAGRAM's features, or the vectors "
        "whose words the rows are",
    )
    parser.add_argument(
        "--combine",
        choices=("add", "concatenate"),
        help="two directions' states, or several encoders",
    )
    parser.add_argument(
        "--activation",
        choices=("tanh", "linear", "relu"),
        help="of charagram (default tanh) and projection (default linear)",
    )
    parser.add_argument(
        "--side", choices=("first", "second"), help="language of a release with a table for each"
    )
    parser.add_argument(
        "--spaced",
        action="store_true",
        help="words are what stands between spaces: text comes tokenized, as the releases expect",
    )
    parser.add_argument("--cased", action="store_true", help="do not lower-case; releases do")
    parser.add_argument(
        "--bad-rows",
        choices=("refuse", "skip", "last"),
        default="refuse",
        help="vectors as text: bad rows and words that come twice; last keeps the last of two",
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


def run(arguments: argparse.Namespace) -> None:
    """Convert, and say what the release does otherwise."""
    from paraphrastic_hf.conversion.convert import convert
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
