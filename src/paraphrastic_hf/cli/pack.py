"""`paraphrastic pack MODEL --output DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import add_dimension_option, smaller
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.locate import check_model_name
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import WEIGHTS

PRECISIONS = ("float32", "bfloat16", "float16", "int8", "int4")
OF_RUNS = ("run.json", "recipe.yaml")  # files of `paraphrastic train`
EPILOG = """\
The copy loads here and by transformers' AutoModel. Stock sentence-transformers reads it with
--precision float32 or float16, and where this package is installed any, by trust_remote_code=True.
Any prefix of the dimensions of the packaged models is a good model; of others it need not be.
Of a generative model over averages (encoder: average) the copy is the table of its meaning.
In Python: encoder.with_dimension(N).save_pretrained(DIR, precision=...), or push_to_hub.

examples:
  paraphrastic pack english --dimension 128 --output runs/small    # a table of 4 MB
  paraphrastic pack runs/mine --precision int8 --output runs/mine-int8
  paraphrastic evaluate runs/small --data DATA"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("model", help="a model directory, a packaged model, or one on the Hub")
    parser.add_argument("--output", required=True, help="the model directory to write")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the model if --output holds one"
    )
    add_dimension_option(parser)
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="int4",
        help="how numbers are written: int4, in half a byte (default), int8, in one, float16 or "
        "bfloat16, in two, float32, in four",
    )
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


@holds_output("packing")
def run(arguments: argparse.Namespace) -> None:
    """Write a smaller copy and say how large it is."""
    from paraphrastic_hf.encoders.storage.locate import holds_model

    check_model_name(arguments.model)
    output, precision = Path(arguments.output), arguments.precision
    if any((output / name).exists() for name in OF_RUNS):
        raise DataError(f"{output} holds a training run: choose another --output")
    if holds_model(output) and not arguments.overwrite:
        raise DataError(f"{output} holds a model: choose another --output, or give --overwrite")
    if output.is_dir() and any(output.iterdir()) and not holds_model(output):
        raise DataError(f"{output} holds other things than a model: choose another --output")
    encoder = _average(arguments.model)
    if precision == "float16":  # which is of files alone
        arguments.precision = None
    encoder = smaller(encoder, arguments, arguments.model)
    try:
        encoder.save_pretrained(output, precision=precision)
    except ValueError as error:
        raise ModelError(f"{arguments.model}, --precision {precision}: {error}") from error
    size = (output / WEIGHTS).stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    print(f"{output}: {encoder.dimension} dimensions, {shown} of weights")


def _average(name: str) -> SentenceEncoder:
    """The averaging model of a name."""

    encoder = SentenceEncoder.from_pretrained(name)
    if encoder.table(slice(0, 0)) is None:
        from paraphrastic_hf.encoders.averaged import averaged

        try:
            encoder = averaged(encoder)
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error
    if encoder.table(slice(0, 0)) is None:
        raise ModelError(f"{name} is no average, and only averages are packed")
    return encoder
