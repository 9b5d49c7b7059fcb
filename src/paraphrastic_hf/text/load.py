"""Loads tokenizers from a model directory or a `tokenizer.json`.

Other libraries save only `tokenizer.json`. From the vocabulary in such a file, this module rebuilds
candidate tokenizers of this package. It returns the first candidate that would write an equal file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from paraphrastic_hf.errors import ModelError, ParaphrasticError, in_a_line, refused
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import PARTS_FOLDER, SPECIAL_TOKENS, other_loader, read_json
from paraphrastic_hf.text.bpe import BytePairTokenizer
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MARKS, MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import NORMAL_PIECE, PAD_ID, UNKNOWN_ID, SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer

CHAR_NGRAMS = "ngrams.json"
STOCK = "tokenizer.json"
WRITTEN = "use a directory written by `paraphrastic train`"
Loaded = SubwordTokenizer | WordTokenizer | CharTokenizer | BytePairTokenizer
TOKENIZERS: dict[str, type[Loaded]] = {
    "sentencepiece": SubwordTokenizer,
    "word": WordTokenizer,
    "char": CharTokenizer,
    "bpe": BytePairTokenizer,
}


def load_tokenizer(directory: str | Path) -> TextTokenizer:
    """Load the tokenizer of a model directory of this package.

    If sentence-transformers or transformers saved the model, it is rebuilt from `tokenizer.json`.
    """
    directory = Path(directory)
    if (directory / CHAR_NGRAMS).exists():
        return _char_ngrams(directory)
    path = directory / "paraphrastic_tokenizer.json"
    if not path.exists() and (directory / STOCK).exists():
        require("train", "google.protobuf", what=f"{directory} (saved by other software)")
        return rebuild_tokenizer(directory / STOCK)
    if not path.exists() and (directory / PARTS_FOLDER).is_dir():
        path = directory / "tokenizer_config.json"  # a mixture saved again by transformers
    try:
        settings = read_json(path)
        if path.name == "tokenizer_config.json":
            settings = {"kind": "mixed", "parts": settings["parts"]}
        kind, marks = settings.pop("kind"), settings.pop("marks", None)
        opens_prompts = bool(settings.pop("opens_prompts", False))
        flags = {name: value for name, value in settings.items() if name != "parts"}
        if any(not isinstance(value, bool) for value in flags.values()):
            raise ValueError(f"the settings must be true or false, got {str(flags)[:200]}")
        if kind == "mixed":
            folders = (directory / PARTS_FOLDER / str(k) for k in range(settings["parts"]))
            return MixedTokenizer([load_tokenizer(folder) for folder in folders])
        loaded = TOKENIZERS[kind].load(directory, **settings)
        if marks is None:
            return loaded
        return MarkedTokenizer(loaded, marks, opens_prompts=opens_prompts)
    except FileNotFoundError as error:
        raise ModelError(
            f"{directory} has no tokenizer of this package ({Path(error.filename or path).name} "
            f"does not exist). {other_loader(directory)}, or {WRITTEN}"
        ) from error
    except ParaphrasticError:
        raise
    except Exception as error:  # other libraries raise many kinds
        raise ModelError(
            f"{directory} has no tokenizer of this package ({path.name}: {in_a_line(error)}). "
            f"{other_loader(directory)}, or {WRITTEN}"
        ) from error


def _char_ngrams(directory: Path) -> TextTokenizer:
    require("train", "transformers", what=f"{directory} (character n-grams)")
    from paraphrastic_hf.text.char_ngram import CharNgramTokenizer  # imports transformers

    path = directory / "tokenizer_config.json"
    with refused(ModelError, f"The n-gram tokenizer in {directory} is incomplete"):
        if "orders" not in read_json(path):
            raise ValueError("the key `orders` is missing")  # the defaults would give other tokens
        tokenizer: TextTokenizer = CharNgramTokenizer.from_pretrained(
            str(directory), trust_remote_code=False
        )
    return tokenizer


UNKNOWN_PIECE, CONTROL_PIECE = 2, 3  # sentencepiece's types
NOT_COMPARED = ("decoder", "truncation", "padding")  # they do not affect ids
SETTINGS = (True, False), (False, True), (False, True)  # defaults first
Rebuilt = SubwordTokenizer | WordTokenizer | CharTokenizer


def rebuild_tokenizer(path: Path) -> Rebuilt | MarkedTokenizer:
    """Rebuild the tokenizer that wrote a `tokenizer.json`, including start and end marks."""
    try:
        given = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelError(f"Cannot read the tokenizer {path}: {error}") from error
    wanted = _described(given)
    not_ours = f"{path} is not a tokenizer of this package. {other_loader(path.parent)}"
    added = tuple(token["content"] for token in wanted["added_tokens"])
    marks = next((name for name, known in MARKS.items() if known == added), None)
    if _begins_as_ours(wanted["model"].get("vocab")) and (marks or not added):
        try:
            for tokenizer in _candidates(wanted["model"]):
                for kind in _kinds(tokenizer, marks):
                    if _described(kind.to_fast()) == wanted:
                        return kind
        except Exception as error:  # tokenizers and sentencepiece reject foreign entries
            raise ModelError(not_ours) from error
    raise ModelError(not_ours)


def _described(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the contents of a `tokenizer.json` that affect ids.

    This leaves out the added tokens `<pad>` and `<unk>` and the empty template of transformers.
    """
    description = json.loads(tokenizer.to_str())
    stated = [{"id": k, "content": text} for k, text in enumerate(SPECIAL_TOKENS.values())]
    tokens = [
        token
        for token in description["added_tokens"]
        if {"id": token["id"], "content": token["content"]} not in stated
    ]
    template = description["post_processor"] or {}
    if template.get("type") == "TemplateProcessing" and not template["special_tokens"]:
        description["post_processor"] = None
    described = {**description, "added_tokens": tokens}
    return {key: value for key, value in described.items() if key not in NOT_COMPARED}


def _candidates(model: dict[str, Any]) -> Iterator[Rebuilt]:
    """Yield tokenizers that may have written the `model` section of a `tokenizer.json`."""
    entries = model["vocab"]
    if model["type"] == "Unigram":
        yield from _subwords(entries)
    elif model["type"] == "BPE":
        ordered = sorted(entries, key=entries.__getitem__)[len(SPECIAL_TOKENS) :]
        yield from _characters(ordered) if max(map(len, ordered)) == 1 else _words(ordered)


def _begins_as_ours(entries: Any) -> bool:
    """Return whether the first vocabulary entries are `<pad>` and `<unk>`.

    Rejects tokenizers of other libraries early, because rebuilding a large tokenizer takes seconds.
    """
    if not entries:
        return False
    names = (
        [text for text, _ in entries]
        if isinstance(entries, list)
        else sorted(entries, key=entries.__getitem__)
    )
    return names[: len(SPECIAL_TOKENS)] == list(SPECIAL_TOKENS.values())


def _kinds(tokenizer: Rebuilt, marks: str | None) -> list[Rebuilt | MarkedTokenizer]:
    """Return the tokenizer, or with `marks` its two marked variants (`opens_prompts`)."""
    if marks is None:
        return [tokenizer]
    return [MarkedTokenizer(tokenizer, marks, opens_prompts=opens) for opens in (False, True)]


def _subwords(entries: list[Any]) -> Iterator[SubwordTokenizer]:
    from sentencepiece.sentencepiece_model_pb2 import (  # type: ignore[attr-defined]  # slow
        ModelProto,
    )

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


def _words(entries: list[str]) -> Iterator[WordTokenizer]:
    words = [entry[1:] for entry in entries]
    for lowercase, keep_unknown, spaced in product(*SETTINGS):
        yield WordTokenizer(words, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)


def _characters(entries: list[str]) -> Iterator[CharTokenizer]:
    for lowercase, keep_unknown in product(*SETTINGS[:2]):
        yield CharTokenizer(entries, lowercase=lowercase, keep_unknown=keep_unknown)
