"""`paraphrastic convert SOURCE --output DIR`."""

from __future__ import annotations

import argparse

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import shows_progress
from paraphrastic_hf.corpora.readers.words import BAD_ROWS

EPILOG = """\
examples:
  paraphrastic convert paragram-phrase-XXL.txt --output runs/paragram-phrase
  paraphrastic convert glove.840B.300d.zip --output runs/glove --cased --bad-rows skip
  paraphrastic convert charagram_phrase.pickle --output runs/charagram \\
      --tokenizer charagram_phrase_features_234.txt
  paraphrastic convert ngram-word-concat-40.pickle --output runs/paranmt --combine concatenate
  paraphrastic convert bilstmavg-4096-40.pickle --output runs/blstm --kind bilstm-avg \\
      --combine concatenate
  paraphrastic convert model.para.lc.100.pt --output runs/at-scale --tokenizer paranmt.model"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        help="vectors in GloVe's text format (also .gz, .xz, .zip or archive.zip/name), a Theano "
        "release (.pickle) or a PyTorch release (.pt). No code in the file is executed",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="model directory to write")
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace an earlier conversion in --output",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    parser.add_argument(
        "--kind",
        help=(
            "kind of encoder, required if the arrays in the file fit several kinds: words, "
            "trigrams, charagram, projection, lstm (last state), lstm-avg, lstm-max, bilstm-avg, "
            "bilstm-max, gran, gran-2 to gran-4, bigran, trigrams+words, trigrams+lstm-avg, "
            "words+lstm-avg, trigrams+words+lstm-avg"
        ),
    )
    parser.add_argument(
        "--tokenizer",
        metavar="FILE",
        help=(
            "file with the token of each table row: a sentencepiece model, CHARAGRAM's list of "
            "features, or vectors as text"
        ),
    )
    parser.add_argument(
        "--combine",
        choices=("add", "concatenate"),
        help="how to combine the vectors of two directions or of several encoders",
    )
    parser.add_argument(
        "--activation",
        choices=("tanh", "linear", "relu"),
        help="activation of a charagram encoder (default: tanh) or projection (default: linear)",
    )
    parser.add_argument(
        "--side",
        choices=("first", "second"),
        help="language to convert, for a release with one table per language",
    )
    parser.add_argument(
        "--spaced",
        action="store_true",
        help="split at spaces only, for tokenized text, which the releases expect (default: "
        "tokenize)",
    )
    parser.add_argument(
        "--cased",
        action="store_true",
        help="keep capital letters (default: lower-case, as in training of the releases)",
    )
    parser.add_argument(
        "--bad-rows",
        choices=BAD_ROWS,
        default="refuse",
        help=(
            "treatment of malformed rows and repeated words in a text file of vectors. refuse: "
            "stop with an error. skip: drop malformed rows, keep the first row of each word. "
            "last: drop malformed rows, keep the last row of each word"
        ),
    )


@holds_output("converting")
def run(arguments: argparse.Namespace) -> None:
    from pathlib import Path

    from paraphrastic_hf.conversion.release import Choices, checked_form

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
        progress=shows_progress(arguments),
    )
    size = converted.model.config.hidden_size
    print(
        f"{arguments.output}: {converted.kind}, {size} dimensions, "
        f"{converted.tokenizer.vocab_size:,} entries"
    )
    for difference in converted.differences:
        print(f"  {difference}")
