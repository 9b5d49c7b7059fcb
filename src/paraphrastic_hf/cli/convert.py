"""`paraphrastic convert SOURCE --output DIR`."""

import argparse

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import shows_progress
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.corpora.readers.words import BAD_ROWS

EPILOG = """\
examples:
  paraphrastic convert paragram-phrase-XXL.txt --output runs/paragram-phrase
  paraphrastic convert charagram_phrase.pickle --output runs/charagram \\
      --tokenizer charagram_phrase_features_234.txt
  paraphrastic convert model.para.lc.100.pt --output runs/at-scale --tokenizer paranmt.model"""


def configure(parser: Parser) -> None:
    parser.option(
        "source",
        "vectors in GloVe's text format (also .gz, .xz, .zip or archive.zip/name), a Theano "
        "release (.pickle) or a PyTorch release (.pt). No code in the file is executed",
    )
    parser.option("--output DIR", "model directory to write", required=True)
    parser.flag("--overwrite", "replace an earlier conversion in --output")
    parser.flag("--quiet", "show no progress bar")
    parser.option(
        "--kind",
        "kind of encoder, required if the arrays in the file fit several kinds: words, "
        "trigrams, charagram, projection, lstm (last state), lstm-avg, lstm-max, bilstm-avg, "
        "bilstm-max, gran, gran-2 to gran-4, bigran, trigrams+words, trigrams+lstm-avg, "
        "words+lstm-avg, trigrams+words+lstm-avg",
    )
    parser.option(
        "--tokenizer FILE",
        "file with the token of each table row: a sentencepiece model, CHARAGRAM's list of "
        "features, or vectors as text",
    )
    parser.option(
        "--combine",
        "combination of two directions or of several encoders",
        choices=("add", "concatenate"),
    )
    parser.option(
        "--activation",
        "activation of a charagram encoder (default: tanh) or projection (default: linear)",
        choices=("tanh", "linear", "relu"),
    )
    parser.option(
        "--side", "language to convert, if each language has a table", choices=("first", "second")
    )
    parser.flag("--spaced", "split at spaces only, for text that is already tokenized")
    parser.flag("--cased", "keep capital letters (default: lower-case, as the releases do)")
    parser.option(
        "--bad-rows",
        "treatment of malformed rows and repeated words in a text file of vectors. refuse: "
        "stop with an error. skip: drop malformed rows, keep the first row of each word. "
        "last: drop malformed rows, keep the last row of each word",
        default="refuse",
        choices=BAD_ROWS,
    )


@holds_output("converting")
def run(arguments: argparse.Namespace) -> None:
    from paraphrastic_hf.conversion.convert import convert
    from paraphrastic_hf.conversion.release import Choices

    names = ("kind", "combine", "activation", "side", "spaced", "cased", "bad_rows")
    given = {name: getattr(arguments, name) for name in names}
    choices = Choices(vocabulary=arguments.tokenizer, **given)
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
