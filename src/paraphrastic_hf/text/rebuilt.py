"""A tokenizer of this package from its `tokenizer.json` alone, which is all that other libraries
keep of it: sentence-transformers writes no other file of a `StaticEmbedding`.

Words or pieces are read from the file, the tokenizer is made of them, and the `tokenizer.json` that
it would write is compared with the one that was read. So it cuts every text as the file does, or is
refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]
from tokenizers import Tokenizer

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.files import SPECIAL_TOKENS
from paraphrastic_hf.text.subword import NORMAL_PIECE, PAD_ID, UNKNOWN_ID, SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer

UNKNOWN_PIECE, CONTROL_PIECE = 2, 3  # sentencepiece's types
NOT_COMPARED = ("decoder", "truncation", "padding")  # they change no ids of a text
NOT_OURS = (
    "is no tokenizer of this package; load the model with sentence_transformers.SentenceTransformer"
)
SETTINGS = (True, False), (False, True), (False, True)  # the defaults first


def rebuild_tokenizer(path: Path) -> SubwordTokenizer | WordTokenizer:
    """The tokenizer of pieces or words that wrote a `tokenizer.json`.

    Args:
        path: The file.

    Raises:
        ModelError: It is missing or damaged, or another tokenizer's.
    """
    try:
        given = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelError(f"cannot read the tokenizer {path}: {error}") from error
    wanted = _described(given)
    kind, entries = wanted["model"].get("type"), wanted["model"].get("vocab")
    if kind in ("Unigram", "BPE") and _begins_as_ours(entries):
        candidates: Iterator[SubwordTokenizer | WordTokenizer]
        candidates = _subwords(entries) if kind == "Unigram" else _words(entries)
        try:
            for tokenizer in candidates:
                if _described(tokenizer.to_fast()) == wanted:
                    return tokenizer
        except Exception as error:  # of tokenizers or sentencepiece, for entries none of ours has
            raise ModelError(f"{path} {NOT_OURS}") from error
    raise ModelError(f"{path} {NOT_OURS}")


def _described(tokenizer: Tokenizer) -> dict[str, Any]:
    description = json.loads(tokenizer.to_str())
    return {key: value for key, value in description.items() if key not in NOT_COMPARED}


def _begins_as_ours(entries: Any) -> bool:
    """Whether the first entries are padding and unknown text; large tokenizers of others, which
    take seconds to make, have other ones there."""
    names = (
        [text for text, _ in entries]
        if isinstance(entries, list)
        else sorted(entries, key=entries.__getitem__)
    )
    return names[: len(SPECIAL_TOKENS)] == list(SPECIAL_TOKENS.values())


def _subwords(entries: list[Any]) -> Iterator[SubwordTokenizer]:
    proto = ModelProto()
    proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
    proto.trainer_spec.vocab_size = len(entries)
    proto.trainer_spec.unk_id, proto.trainer_spec.pad_id = UNKNOWN_ID, PAD_ID
    proto.trainer_spec.bos_id = proto.trainer_spec.eos_id = -1
    proto.normalizer_spec.name = "identity"
    for number, (text, score) in enumerate(entries):
        special = {PAD_ID: CONTROL_PIECE, UNKNOWN_ID: UNKNOWN_PIECE}.get(number)
        score = 0.0 if special else score
        proto.pieces.add(piece=text, score=score, type=special or NORMAL_PIECE)
    model = proto.SerializeToString()
    for lowercase, keep_unknown in product(*SETTINGS[:2]):
        yield SubwordTokenizer(model, lowercase=lowercase, keep_unknown=keep_unknown)


def _words(entries: dict[str, int]) -> Iterator[WordTokenizer]:
    ordered = sorted(entries, key=entries.__getitem__)[len(SPECIAL_TOKENS) :]
    words = [entry[1:] for entry in ordered]
    for lowercase, keep_unknown, spaced in product(*SETTINGS):
        yield WordTokenizer(words, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)
