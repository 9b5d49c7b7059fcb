"""Export of encoders to the formats of sentence-transformers, model2vec and ONNX.

The vectors of a copy equal those of `SentenceEncoder.encode` up to rounding. model2vec and ONNX
read a token table and a `tokenizer.json`, so they need an averaging model whose tokenizer has one.
ONNX can also express a packed window encoder.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.errors import ModelError, nearest_name
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import (
    WEIGHTS,
    open_to_readers,
    replacing,
    write_bytes,
    write_json,
    write_tokenizer,
)
from paraphrastic_hf.text.marks import MarkedTokenizer


def export(encoder: SentenceEncoder, to: str, directory: str | Path) -> None:
    """Write an encoder in a format of `FORMATS`: `sentence-transformers` (any encoder), `model2vec`
    (averages) or `onnx` (averages and packed window encoders). A folder of this name is replaced.
    """
    if to not in FORMATS:
        raise ValueError(f"Unknown format {to!r}. {nearest_name(to, FORMATS)}")
    with replacing(Path(directory)) as partial:
        FORMATS[to](encoder, partial)


def write_model2vec(encoder: SentenceEncoder, directory: Path) -> None:
    """Write the folder that `model2vec.StaticModel.from_pretrained` loads."""
    table, tokenizer = _parts(encoder, "model2vec")
    if table.window is not None:
        raise ModelError(f"model2vec ignores word order, but {encoder.name} reads it")
    rows = table.rows()
    if encoder.tokenizer.keep_unknown:  # type: ignore[attr-defined]
        raise ModelError(
            f"model2vec drops unknown tokens, but {encoder.name} averages their vector with the "
            "others"
        )
    directory.mkdir(parents=True)
    save_file({"embeddings": rows}, directory / WEIGHTS)
    open_to_readers(directory / WEIGHTS)
    write_bytes(directory / "tokenizer.json", tokenizer.to_str().encode())
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": rows.shape[1],
        "embedding_dtype": "float32",
        "normalize": False,  # as in `encode`
        "max_length": None,  # texts are not cut
    }
    write_json(directory / "config.json", config)


def write_graphs(encoder: SentenceEncoder, directory: Path) -> None:
    """Write `model.onnx` and `model_quantized.onnx`."""
    table, _ = _parts(encoder, "onnx")
    require("export", "onnx", what="exporting to ONNX")
    from paraphrastic_hf.encoders.onnx_graph import encoder_graph, quantized

    directory.mkdir(parents=True)
    rows = table.rows()
    for name, numbers in (("model", rows), ("model_quantized", quantized(rows))):
        content = encoder_graph(numbers, table.window).SerializeToString()
        write_bytes(directory / f"{name}.onnx", content)


def _write_onnx(encoder: SentenceEncoder, directory: Path) -> None:
    table, tokenizer = _parts(encoder, "onnx")
    write_graphs(encoder, directory / "onnx")
    write_tokenizer(directory, tokenizer)
    config = {
        "model_type": "paraphrastic-averaging" if table.window is None else "paraphrastic-window",
        "hidden_size": table.dimension,
        "vocab_size": len(table.numbers),
        "pad_token_id": 0,
    }
    write_json(directory / "config.json", config)


def _parts(encoder: SentenceEncoder, to: str) -> tuple[Table, Any]:
    """Return the table and a tokenizer of the `tokenizers` library, if both exist."""
    table, tokenizer = encoder._weights.table(), encoder.tokenizer
    if table is None:
        kind = type(encoder.model_apart()).__name__
        raise ModelError(f"{to} needs an averaging model, but {encoder.name} is a {kind}")
    # A stock tokenizer also marks texts without known tokens, whose vectors are zero here.
    if isinstance(tokenizer, MarkedTokenizer) or not hasattr(tokenizer, "to_fast"):
        kind = type(tokenizer).__name__
        raise ModelError(f"{to} cannot express the {kind} of {encoder.name}")
    return table, tokenizer.to_fast()


FORMATS: dict[str, Callable[[SentenceEncoder, Path], None]] = {
    "sentence-transformers": SentenceEncoder.save_pretrained,
    "model2vec": write_model2vec,
    "onnx": _write_onnx,
}
# Copies that a repository may hold beside the model, each in the folder of its name.
COPIES = {"model2vec": write_model2vec, "onnx": write_graphs}
