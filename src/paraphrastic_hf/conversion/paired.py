"""Convert the PyTorch releases: "simple and effective" (2019), SIM (2019), at-scale (2021).

A file is a dict with `state_dict`, `args` and `vocab` (`vocab_words` in SIM), which maps pieces,
words or n-grams to rows. Models with two tables also have `vocab_fr`. The encoder is an average or
a bidirectional torch LSTM.

The releases look up pieces by text and ignore pieces without a row. Here these get a zero vector,
which changes the length of a mean but not its direction. Sentencepiece returns unknown characters
as they are, so the vocabulary may have rows for them too. They become pieces with the score that
sentencepiece gives to unknown characters, so that the segmentation stays the same.
"""

from __future__ import annotations

import zipfile
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]

from paraphrastic_hf.conversion.kinds import State, prefixed, torch_lstm_state
from paraphrastic_hf.conversion.release import NO_TOKEN, NORMALIZED, Choices, Converted, filled
from paraphrastic_hf.conversion.theano_file import check_numbers, check_vocabulary
from paraphrastic_hf.conversion.vocabulary import UNKNOWN, arrange, make_tokenizer
from paraphrastic_hf.errors import DataError, counted, in_a_line
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig
from paraphrastic_hf.models.families import families_by_type
from paraphrastic_hf.models.table import TableConfig
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.subword import (
    CONTROL_PIECE,
    NORMAL_PIECE,
    UNKNOWN_ID,
    UNKNOWN_PIECE,
    SubwordTokenizer,
    set_pieces,
)

SIDES = {"first": "", "second": "_fr"}
UNIGRAM = 1  # sentencepiece's enum
UNKNOWN_PENALTY = 10.0  # sentencepiece: lowest score minus the score of an unknown character
LSTM_ARRAYS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


@dataclass(frozen=True)
class Settings:
    """Entries of `args` that matter after training. The defaults are SIM's."""

    pool: str = "mean"
    ngrams: int = 0
    zero_unk: int = 1
    lower_case: int = 1
    tokenize: int = 0
    sp_model: str | None = None

    @classmethod
    def of(cls, args: Any) -> Settings:
        given = vars(args) if isinstance(args, Namespace) else {}
        names = cls.__dataclass_fields__
        return cls(**{name: value for name, value in given.items() if name in names})


def read_torch(path: str | Path) -> Any:
    """Read a file of `torch.save`. One that refers to a class or function is refused."""
    try:
        if zipfile.is_zipfile(path):  # torch does not compare checksums
            with zipfile.ZipFile(path) as archive:
                if damaged := archive.testzip():
                    raise zipfile.BadZipFile(f"{damaged} is damaged")
        with torch.serialization.safe_globals([Namespace]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for damaged files
        reason = in_a_line(error.__context__ or error).partition(" Please")[0]
        raise DataError(
            f"Cannot read {path}: {reason}. If you trust the file, load it with the program that "
            "wrote it and save only its weights, vocab and args"
        ) from error


def convert_paired(checkpoint: Any, path: Path, choices: Choices) -> Converted:
    words_key = (
        "vocab_words" if isinstance(checkpoint, dict) and "vocab_words" in checkpoint else "vocab"
    )
    if not isinstance(checkpoint, dict) or not {"state_dict", words_key} <= checkpoint.keys():
        raise DataError(
            f"{path} is not a released model, which contains state_dict, vocab and args. The file "
            f"contains\n  {_described(checkpoint)}"
        )
    if choices.kind not in (None, "words", "trigrams"):
        raise DataError(
            f"{path} is a PyTorch release: --kind must be words or trigrams, got {choices.kind}"
        )
    settings = Settings.of(checkpoint.get("args"))
    table, cells = _weights(checkpoint, path, choices)
    suffix = SIDES[choices.side or "first"]
    words = checkpoint.get(f"vocab{suffix}") if suffix else checkpoint[words_key]
    words = checkpoint[words_key] if words is None else words
    check_vocabulary(words, str(path))
    if max(words.values(), default=0) >= len(table):
        raise DataError(
            f"{path} is inconsistent: its vocabulary has rows up to {max(words.values()):,}, but "
            f"its table has {len(table):,} rows"
        )
    lowercase = bool(settings.lower_case) and not choices.cased
    differences = [NORMALIZED, NO_TOKEN]
    if words_key == "vocab_words":  # SIM's look-up treats row 0 as "not found"
        words = {token: row for token, row in words.items() if row}
        differences.append(
            "SIM detokenizes text and tokenizes it by the Treebank rules. Here it does neither."
        )
    elif settings.tokenize:
        differences.append("The release tokenizes with Moses first: give text tokenized by Moses.")
    tokenizer, table = _tokenizer(words, table, settings, path, choices, lowercase, differences)
    config, state = _encoder(cells, table, settings, path)
    model = families_by_type()[config.model_type](config)
    kind = choices.kind or ("trigrams" if settings.ngrams else "pieces")
    kind += "-blstm" if cells else ""
    return Converted(
        filled(model, {"embedding.weight": table, **state}), tokenizer, kind, tuple(differences)
    )


def _weights(
    checkpoint: Mapping[str, Any], path: Path, choices: Choices
) -> tuple[np.ndarray, State]:
    """Return the embedding table of the chosen language, and the arrays of its LSTM, if any."""
    stored = checkpoint["state_dict"]
    sides: dict[str, dict[str, torch.Tensor]] = {"": {}, "_fr": {}}
    for name, tensor in stored.items() if isinstance(stored, dict) else ():
        module, _, rest = name.partition(".")
        kind = module.removesuffix("_fr")
        if kind not in ("embedding", "lstm") or not isinstance(tensor, torch.Tensor):
            raise DataError(
                f"{path} has weights {name!r}, which no released encoder has. The file contains\n "
                f" {_described(checkpoint)}"
            )
        sides[module.removeprefix(kind)][f"{kind}.{rest}"] = tensor
    if not sides["_fr"]:
        choices.refuse(str(path), {"side": "has one encoder and table for both languages"})
    if sides["_fr"] and choices.side is None:
        raise DataError(
            f"{path} has weights for two languages. Choose one with --side first or --side second"
        )
    # Weights shared by both languages are stored with the first side.
    chosen = {**sides[""], **sides[SIDES[choices.side or "first"]]}
    if "embedding.weight" not in chosen or len(chosen["embedding.weight"].shape) != 2:
        raise DataError(
            f"{path} has no token vectors. The file contains\n  {_described(checkpoint)}"
        )
    arrays = {
        name: check_numbers(tensor.detach().float().numpy(), f"{path}: {name}")
        for name, tensor in chosen.items()
    }
    return arrays.pop("embedding.weight"), arrays


def _tokenizer(
    words: dict[str, int],
    table: np.ndarray,
    settings: Settings,
    path: Path,
    choices: Choices,
    lowercase: bool,
    differences: list[str],
) -> tuple[TextTokenizer, np.ndarray]:
    keep_unknown = not settings.zero_unk and UNKNOWN in words
    if settings.ngrams or choices.kind in ("words", "trigrams"):
        tokens, table = arrange(words, table, str(path))
        made = make_tokenizer(
            tokens,
            is_words=choices.kind == "words",
            lowercase=lowercase,
            keep_unknown=keep_unknown,
            spaced=choices.spaced,
        )
        return made, table
    pieces = convert_pieces(
        _sentencepiece_file(settings, path, choices),
        words,
        table,
        lowercase=lowercase,
        keep_unknown=keep_unknown,
    )
    differences.append(
        "The space mark before an unknown character is left out. The release keeps it."
    )
    if pieces.missing:
        differences.append(
            f"The release leaves out {counted(len(pieces.missing), 'piece')} without a row "
            f"({_some(pieces.missing)}), which are zeros here. A mean gets shorter and keeps its "
            "direction. An LSTM reads the zeros, so its vectors of such texts differ."
        )
    if pieces.unreached:
        differences.append(
            f"The release has {counted(len(pieces.unreached), 'row')} for runs of characters "
            f"without a piece ({_some(pieces.unreached)}). Here such characters count one by one, "
            "or not at all."
        )
    return pieces.tokenizer, pieces.table


@dataclass(frozen=True)
class Pieces:
    """A tokenizer with its embedding table, (vocab, dim) float32.

    `missing` are pieces without a row in the release. `unreached` are entries of the vocabulary
    that the tokenizer never produces: runs of unknown characters, looked up as a whole there.
    """

    tokenizer: SubwordTokenizer
    table: np.ndarray
    missing: list[str]
    unreached: list[str]


def convert_pieces(
    path: str | Path,
    row_of: Mapping[str, int],
    table: np.ndarray,
    *,
    lowercase: bool,
    keep_unknown: bool,
) -> Pieces:
    """Convert the released sentencepiece model and embedding table, (rows, dim).

    With `keep_unknown`, pieces without a row get the vector of `UUUNKKK`, the release's unknown
    token, as with `--zero-unk 0`. Otherwise they get zeros.
    """
    proto = _read_model(Path(path))
    pieces = [piece for piece in proto.pieces if piece.type == NORMAL_PIECE]
    known = {piece.piece for piece in pieces}
    score = min((piece.score for piece in pieces), default=0.0) - UNKNOWN_PENALTY
    others = sorted(token for token in row_of if token not in known and token != UNKNOWN)
    characters = [token for token in others if len(token) == 1]

    kept = [(piece.piece, piece.score) for piece in pieces]
    proto.normalizer_spec.precompiled_charsmap = b""
    model = set_pieces(proto, [*kept, *((character, score) for character in characters)])
    tokenizer = SubwordTokenizer(model, lowercase=lowercase, keep_unknown=keep_unknown)
    tokens = tokenizer.tokens()[2:]
    missing = [token for token in tokens if token not in row_of]
    if len(missing) > len(tokens) // 2:
        raise DataError(
            f"{path} shares only {len(tokens) - len(missing):,} of its {len(tokens):,} pieces with "
            "the model's vocabulary. Give the sentencepiece model used to train it"
        )
    ours = np.zeros((len(tokens) + 2, table.shape[1]), np.float32)
    if UNKNOWN in row_of:
        ours[UNKNOWN_ID] = table[row_of[UNKNOWN]]
    absent = ours[UNKNOWN_ID] if keep_unknown else np.zeros(table.shape[1], np.float32)
    for row, token in enumerate(tokens, 2):
        ours[row] = table[row_of[token]] if token in row_of else absent
    return Pieces(tokenizer, ours, missing, [token for token in others if len(token) > 1])


def _read_model(path: Path) -> ModelProto:
    """Read a sentencepiece model. It must be Unigram and mark the starts of words."""
    try:
        proto = ModelProto.FromString(path.read_bytes())
    except (OSError, DecodeError) as error:
        raise DataError(f"Cannot read the sentencepiece model {path}: {error}") from error
    kinds = {piece.type for piece in proto.pieces}
    normalizer = proto.normalizer_spec
    if proto.trainer_spec.model_type != UNIGRAM or kinds - {
        NORMAL_PIECE,
        UNKNOWN_PIECE,
        CONTROL_PIECE,
    }:
        raise DataError(
            f"{path} is not a Unigram model of ordinary pieces. Give the release's model"
        )
    is_usual = normalizer.add_dummy_prefix and normalizer.escape_whitespaces
    if not is_usual or proto.trainer_spec.treat_whitespace_as_suffix:
        raise DataError(f"{path} does not mark the start of words. Give the release's model")
    return proto


def _sentencepiece_file(settings: Settings, path: Path, choices: Choices) -> Path:
    if choices.vocabulary is not None:
        return Path(choices.vocabulary)
    named = Path(settings.sp_model).name if settings.sp_model else "its sentencepiece model"
    if settings.sp_model and (path.parent / named).is_file():
        return path.parent / named
    raise DataError(
        f"{path} requires {named}, which is not in its folder. Pass that file as --tokenizer "
        "FILE, or use --kind words for a model over words"
    )


def _encoder(
    arrays: State, table: np.ndarray, settings: Settings, path: Path
) -> tuple[TableConfig, State]:
    if not arrays:
        if settings.pool != "mean":
            raise DataError(f"{path} pools by {settings.pool}. Only mean pooling can be converted")
        return AveragingConfig(vocab_size=len(table), hidden_size=table.shape[1]), {}
    wanted = {f"lstm.{name}{end}" for name in LSTM_ARRAYS for end in ("", "_reverse")}
    if arrays.keys() != wanted:
        raise DataError(
            f"{path} must have one bidirectional LSTM layer, got {', '.join(sorted(arrays))}"
        )
    size = arrays["lstm.weight_hh_l0"].shape[1]
    config = RecurrentConfig(
        vocab_size=len(table),
        hidden_size=2 * size,
        embedding_size=table.shape[1],
        peepholes=False,
        bidirectional=True,
        merge="concatenate",
        pooling=settings.pool,
    )
    state: State = {}
    for number, end in enumerate(("", "_reverse")):
        weight_x, weight_h, *biases = (arrays[f"lstm.{name}{end}"] for name in LSTM_ARRAYS)
        own = torch_lstm_state(weight_x, weight_h, biases[0] + biases[1])
        state.update(prefixed(f"cells.{number}.", own))
    return config, state


def _some(tokens: list[str]) -> str:
    return ", ".join(map(repr, tokens[:3])) + (", ..." if len(tokens) > 3 else "")


def _described(checkpoint: Any) -> str:
    if not isinstance(checkpoint, dict):
        return f"a {type(checkpoint).__name__}"
    weights = checkpoint.get("state_dict")
    named = {f"state_dict {k}": v for k, v in weights.items()} if isinstance(weights, dict) else {}
    return "\n  ".join(
        f"{name}: {type(item).__name__} {tuple(getattr(item, 'shape', ()))}".removesuffix(" ()")
        for name, item in {**checkpoint, **named}.items()
    )
