"""`paraphrastic export MODEL --to FORMAT --output DIR`."""

import argparse
from pathlib import Path

from paraphrastic_hf.cli.shared.lines import holds_output
from paraphrastic_hf.cli.shared.options import MODEL, add_dimension_option, smaller
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.export import FORMATS, export
from paraphrastic_hf.errors import DataError

EPILOG = """\
formats:
  sentence-transformers  loads with SentenceTransformer(DIR). Averages of words, word pieces or
                         characters need only sentence-transformers, others this package, too
  model2vec              loads with StaticModel.from_pretrained(DIR)
  onnx                   onnx/model.onnx and onnx/model_quantized.onnx, for ONNX Runtime and
                         transformers.js. Inputs: input_ids, attention_mask. Outputs:
                         last_hidden_state (token vectors), sentence_embedding (their mean)

The vectors equal those of `paraphrastic encode`, up to rounding. model2vec needs an averaging
model, onnx an averaging model or a packed window encoder. The quantized graph is exact for a table
in int4, such as those of the packaged models. Other tables are rounded to int8.

examples:
  paraphrastic export english --to model2vec --output english-model2vec
  paraphrastic export english --to onnx --dimension 128 --output web/english"""


def configure(parser: Parser) -> None:
    parser.option("model", MODEL)
    parser.option("--to", "format of the copy", required=True, choices=FORMATS)
    parser.option("--output DIR", "new folder to write", required=True)
    add_dimension_option(parser)


@holds_output("exporting")
def run(arguments: argparse.Namespace) -> None:
    output = Path(arguments.output)
    if output.is_dir() and any(output.iterdir()):
        raise DataError(f"{output} is not empty. Choose a new folder")
    encoder = smaller(SentenceEncoder.from_pretrained(arguments.model), arguments, arguments.model)
    export(encoder, arguments.to, output)
    print(f"{output}: {arguments.to}, {encoder.dimension} dimensions")
