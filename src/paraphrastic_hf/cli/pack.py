"""`paraphrastic pack MODEL --output DIR`."""

import argparse
from pathlib import Path

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import MODEL, add_dimension_option, smaller
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.locate import holds_model
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import WEIGHTS

PRECISIONS = ("float32", "bfloat16", "float16", "int8", "int4")
RUN_FILES = ("run.json", "recipe.yaml")  # files of `paraphrastic train`
EPILOG = """\
The copy loads with this package and with transformers' AutoModel. sentence-transformers loads
float32 and float16 copies, and with this package and trust_remote_code=True every precision.

Fewer dimensions work well with the packaged models, which are trained for this. Other models may
lose more. The copy of a generative model (encoder: average) is the averaging
model of its semantic variable.

In Python: encoder.with_dimension(N).save_pretrained(DIR, precision=...), or push_to_hub.

examples:
  paraphrastic pack english --dimension 128 --output runs/small    # a table of 4 MB"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("--output DIR", "model directory to write", required=True)
    parser.flag("--overwrite", "replace a model in --output")
    add_dimension_option(parser)
    parser.option(
        "--precision",
        "number format of the table: float32 (4 bytes), bfloat16 or float16 (2), int8 (1), "
        "int4 (half a byte)",
        default="int4",
        choices=PRECISIONS,
    )


@holds_output("packing")
def run(arguments: argparse.Namespace) -> None:
    output, precision = Path(arguments.output), arguments.precision
    is_run = any((output / name).exists() for name in RUN_FILES)
    is_replaced = arguments.overwrite and holds_model(output) and not is_run
    if output.is_dir() and any(output.iterdir()) and not is_replaced:
        raise DataError(
            f"{output} is not empty. Choose another --output. --overwrite replaces a model, but no "
            "training run"
        )
    encoder = _average(arguments.model)
    if precision == "float16":  # exists only in files, not in memory
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
    encoder = SentenceEncoder.from_pretrained(name)
    if encoder.needs_torch:
        from paraphrastic_hf.encoders.averaged import averaged

        try:
            encoder = averaged(encoder)
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error
    if encoder.needs_torch:
        raise ModelError(f"{name} is not an averaging model, so it cannot be packed")
    return encoder
