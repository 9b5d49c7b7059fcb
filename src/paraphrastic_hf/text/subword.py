"""Sentencepiece Unigram tokenizer of SP (thesis, section 5.1.1; settings of the at-scale release).

sentencepiece (fast) and `tokenizer.json` (for transformers and sentence-transformers) give the same
ids, for two reasons. `text/normalize.py` normalizes the text, instead of sentencepiece. Piece
scores are multiples of 1/256, so sums are exact in single precision, up to 65,536. Ids can differ
in a line with a larger sum, which needs about 6,000 pieces.

Ids are 0 for `<pad>`, 1 for `<unk>`, then pieces. Unless `keep_unknown`, unknown pieces are
dropped, as in SP. A lone space mark before an unknown piece is also dropped, because it would
otherwise represent every word of an unknown script.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import SPECIAL_TOKENS, write_bytes
from paraphrastic_hf.text.fast import FastTokenizer
from paraphrastic_hf.text.normalize import APART_PLANE, SPACE_MARK, build_normalizer, normalize
from paraphrastic_hf.text.ragged import Ragged

PAD_ID, UNKNOWN_ID = 0, 1
SCORE_STEP = 256
FEW_TEXTS = 256  # up to here, starting sentencepiece's threads costs more than it saves
DAMAGED = "Download or train the model again"
NORMAL_PIECE, UNKNOWN_PIECE, CONTROL_PIECE = 1, 2, 3  # sentencepiece's types


class SubwordTokenizer(FastTokenizer):
    """Tokenizer that splits text into the pieces of a serialized sentencepiece model."""

    kind = "sentencepiece"
    file = "spiece.model"
    keeps_to_words = True

    def __init__(
        self,
        model: bytes,
        *,
        lowercase: bool = True,
        keep_unknown: bool = False,
        num_threads: int = -1,
    ) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.num_threads = num_threads
        self.lowercase = lowercase
        self.keep_unknown = keep_unknown
        self.vocab_size = self._processor.get_piece_size()
        self._space_mark_id = self._processor.piece_to_id(SPACE_MARK)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        vocab_size: int,
        character_coverage: float = 0.9995,
        input_sentence_size: int = 10_000_000,
        hard_vocab_limit: bool = False,
        lowercase: bool = True,
        keep_unknown: bool = False,
        seed: int = 1,
    ) -> SubwordTokenizer:
        """Train on raw text in any number of languages (thesis 5.2.1: 20,000 pieces, joint).

        Args:
            vocab_size: Number of pieces, including `<pad>` and `<unk>`.
            character_coverage: Share of the text's characters that the vocabulary covers.
            input_sentence_size: Maximum number of lines to train on, sampled from the text.
            hard_vocab_limit: Raise an error if the text yields fewer than `vocab_size` pieces.
        """
        normalized = (line for line in (normalize(line, lowercase) for line in lines) if line)
        model = io.BytesIO()
        sentencepiece.set_random_generator_seed(seed)
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=normalized,
                model_writer=model,
                model_type="unigram",
                vocab_size=vocab_size,
                character_coverage=character_coverage,
                input_sentence_size=input_sentence_size,
                shuffle_input_sentence=True,
                hard_vocab_limit=hard_vocab_limit,
                normalization_rule_name="identity",
                pad_id=PAD_ID,
                unk_id=UNKNOWN_ID,
                bos_id=-1,
                eos_id=-1,
                num_threads=2,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise DataError(
                f"sentencepiece cannot build a vocabulary of {vocab_size} pieces from this text: "
                f"{str(error).strip()}. Use more text or another vocab_size, above the number of "
                "distinct characters"
            ) from error
        return cls(round_scores(model.getvalue()), lowercase=lowercase, keep_unknown=keep_unknown)

    @classmethod
    def load(
        cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool
    ) -> SubwordTokenizer:
        path = Path(directory) / cls.file
        try:
            tokenizer = cls(path.read_bytes(), lowercase=lowercase, keep_unknown=keep_unknown)
            tokenizer._check()
        except (OSError, RuntimeError, ValueError) as error:
            raise ModelError(f"Cannot read the sentencepiece model {path}: {error}") from error
        return tokenizer

    def _check(self) -> None:
        """Raise a `ValueError` for a model that this package cannot have saved."""
        if not self.vocab_size:
            raise ValueError(f"it is empty. {DAMAGED}")
        if (self._processor.pad_id(), self._processor.unk_id()) != (PAD_ID, UNKNOWN_ID):
            raise ValueError(f"its first two pieces are not <pad> and <unk>. {DAMAGED}")
        try:
            _, scores, _ = self.unigram()
        except UnicodeDecodeError as error:
            raise ValueError(f"a piece is not UTF-8 ({error}). {DAMAGED}") from error
        if not np.isfinite(scores).all():
            raise ValueError(f"the score of a piece is not finite. {DAMAGED}")

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        normalized = [normalize(text, self.lowercase) for text in texts]
        if len(texts) <= FEW_TEXTS:
            encoded = [self._processor.encode(text) for text in normalized]
        else:
            encoded = self._processor.encode(normalized, num_threads=self.num_threads)
        ids = Ragged.from_lists(encoded)
        return ids if self.keep_unknown else self._without_unknown(ids)

    def _without_unknown(self, ids: Ragged) -> Ragged:
        is_unknown = ids.ids == UNKNOWN_ID
        if not is_unknown.any():
            return ids
        # Every text starts with a space mark, so the mark and the next piece share a text.
        is_bare_mark = (ids.ids == self._space_mark_id) & np.append(is_unknown[1:], False)
        return ids.where(~(is_unknown | is_bare_mark))

    def without_apart(self) -> tuple[SubwordTokenizer, np.ndarray]:
        """Return a copy without the pieces that contain characters of `keep_apart`.

        Also return the id in this tokenizer of each of its pieces, (pieces,).
        """
        proto = _proto(self._model)
        kept = [
            number
            for number, piece in enumerate(proto.pieces)
            if not any(ord(character) >= APART_PLANE for character in piece.piece)
        ]
        pieces = [proto.pieces[number] for number in kept]
        del proto.pieces[:]
        proto.pieces.extend(pieces)
        proto.trainer_spec.vocab_size = len(pieces)
        tokenizer = SubwordTokenizer(
            proto.SerializeToString(), lowercase=self.lowercase, keep_unknown=self.keep_unknown
        )
        return tokenizer, np.array(kept)

    def unigram(self) -> tuple[list[str], np.ndarray, bool]:
        """Return the pieces ('' for special tokens), their scores and `keep_unknown`.

        The fast path of encoding uses them. The scores are (pieces,) float32.
        """
        ids = list(range(self.vocab_size))
        pieces = self._processor.id_to_piece(ids)
        special = zip(self._processor.is_control(ids), self._processor.is_unknown(ids), strict=True)
        pieces = ["" if any(kinds) else p for p, kinds in zip(pieces, special, strict=True)]
        return pieces, np.array(self._processor.get_score(ids), np.float32), self.keep_unknown

    def decode(self, ids: Sequence[int]) -> str:
        pieces = [int(number) for number in ids if number not in self.special.all]
        return str(self._processor.decode(pieces))

    def tokens(self) -> list[str]:
        return [self._processor.id_to_piece(i) for i in range(self.vocab_size)]

    def save(self, directory: str | Path) -> None:
        Path(directory).mkdir(parents=True, exist_ok=True)
        write_bytes(Path(directory) / self.file, self._model)
        super().save(directory)

    def to_fast(self) -> Tokenizer:
        """Build a tokenizer of the `tokenizers` library that gives the same ids.

        The pre-tokenizer removes characters without a piece or, with `keep_unknown`, splits the
        text around them. Control symbols get a very low score, because sentencepiece never finds
        them in text.
        """
        proto = _proto(self._model)
        pieces = [(p.piece, p.score if p.type == NORMAL_PIECE else -1e9) for p in proto.pieces]
        fast = Tokenizer(models.Unigram(pieces, UNKNOWN_ID, False))
        fast.normalizer = build_normalizer(self.lowercase)
        alphabet = {p.piece for p in proto.pieces if p.type == NORMAL_PIECE and len(p.piece) == 1}
        unknown = f"[^{_character_ranges(alphabet)}]"
        if self.keep_unknown:  # a run of unknown characters is one <unk>
            cut = pre_tokenizers.Split(Regex(f"{unknown}+"), "isolated")
        else:
            cut = pre_tokenizers.Split(Regex(f"{SPACE_MARK}?{unknown}"), "removed")
        words = pre_tokenizers.Metaspace(SPACE_MARK, "always", True)
        fast.pre_tokenizer = pre_tokenizers.Sequence([words, cut])
        fast.decoder = decoders.Metaspace(SPACE_MARK, "always", True)
        return fast


def round_scores(model: bytes) -> bytes:
    """Round the scores of a serialized sentencepiece model to multiples of 1/256."""
    proto = _proto(model)
    for piece in proto.pieces:
        piece.score = round(piece.score * SCORE_STEP) / SCORE_STEP
    return bytes(proto.SerializeToString())


def set_pieces(proto: Any, pieces: Iterable[tuple[str, float]]) -> bytes:
    """Give a model `<pad>`, `<unk>` and these pieces with scores, and serialize it."""
    del proto.pieces[:]
    for token, kind in zip(SPECIAL_TOKENS.values(), (CONTROL_PIECE, UNKNOWN_PIECE), strict=True):
        proto.pieces.add(piece=token, score=0.0, type=kind)
    for piece, score in pieces:
        proto.pieces.add(piece=piece, score=score, type=NORMAL_PIECE)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    proto.trainer_spec.pad_id, proto.trainer_spec.unk_id = PAD_ID, UNKNOWN_ID
    proto.trainer_spec.bos_id = proto.trainer_spec.eos_id = -1
    proto.normalizer_spec.name = "identity"  # our tokenizer normalizes first
    return bytes(proto.SerializeToString())


def _proto(model: bytes) -> Any:
    """Parse a serialized sentencepiece model with protobuf, which encoding does not need."""
    require("train", "google.protobuf", what="changing or saving a sentencepiece tokenizer")
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]

    return ModelProto.FromString(model)


def _character_ranges(characters: Iterable[str]) -> str:
    """Return the body of a character class: `a`, `b`, `c`, `x` -> `\\x{61}-\\x{63}\\x{78}`."""
    ranges: list[list[int]] = []
    for code in sorted(map(ord, characters)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\x{{{a:X}}}-\\x{{{b:X}}}" if a < b else f"\\x{{{a:X}}}" for a, b in ranges)
