"""Convert a released sentencepiece model and the vocabulary of its pieces.

The releases look up pieces by text and ignore pieces without a row. Sentencepiece returns unknown
characters as they are, so the vocabulary may have rows for them too.

Here single characters of the vocabulary become pieces, with the score that sentencepiece gives to
unknown characters, so that the segmentation stays the same. A piece without a row gets a zero
vector, which changes the length of a mean but not its direction.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]

from paraphrastic_hf.conversion.vocabulary import UNKNOWN
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.subword import (
    CONTROL_PIECE,
    NORMAL_PIECE,
    UNKNOWN_ID,
    UNKNOWN_PIECE,
    SubwordTokenizer,
    set_pieces,
)

UNIGRAM = 1  # sentencepiece's enum
UNKNOWN_PENALTY = 10.0  # sentencepiece: lowest score minus the score of an unknown character


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
