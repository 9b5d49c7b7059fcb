"""Loads tokenizers from a model directory or a `tokenizer.json`.

Other libraries save only `tokenizer.json`. From the vocabulary in such a file, this module rebuilds
candidate tokenizers of this package. It returns the first candidate that would write an equal file.
"""

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
from paraphrastic_hf.text.subword import SubwordTokenizer, set_pieces
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


NOT_COMPARED = ("decoder", "truncation", "padding")  # they do not affect ids
Rebuilt = SubwordTokenizer | WordTokenizer | CharTokenizer


def rebuild_tokenizer(path: Path) -> Rebuilt | MarkedTokenizer:
    """Rebuild the tokenizer that wrote a `tokenizer.json`, including start and end marks."""
    with refused(ModelError, f"Cannot read the tokenizer {path}"):
        wanted = _described(Tokenizer.from_file(str(path)))
    not_ours = f"{path} is not a tokenizer of this package. {other_loader(path.parent)}"
    added = tuple(token["content"] for token in wanted["added_tokens"])
    marks = next((name for name, known in MARKS.items() if known == added), None)
    if _begins_as_ours(wanted["model"].get("vocab")) and (marks or not added):
        try:
            for tokenizer in _candidates(wanted["model"], marks):
                if _described(tokenizer.to_fast()) == wanted:
                    return tokenizer
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


def _candidates(model: dict[str, Any], marks: str | None) -> Iterator[Rebuilt | MarkedTokenizer]:
    """Yield tokenizers that may have written the `model` section of a `tokenizer.json`."""
    for flags in product((True, False), (False, True), (False, True)):  # defaults first
        tokenizer = _rebuilt(model, *flags)
        if tokenizer is None:
            continue
        if marks is None:
            yield tokenizer
            continue
        for opens_prompts in (False, True):
            yield MarkedTokenizer(tokenizer, marks, opens_prompts=opens_prompts)


def _begins_as_ours(entries: Any) -> bool:
    """Return whether the first vocabulary entries are `<pad>` and `<unk>`.

    Rejects tokenizers of other libraries early, because rebuilding a large tokenizer takes seconds.
    """
    if isinstance(entries, dict):
        names = sorted(entries, key=entries.__getitem__)
    else:
        names = [text for text, _ in entries or ()]
    return names[: len(SPECIAL_TOKENS)] == list(SPECIAL_TOKENS.values())


def _rebuilt(
    model: dict[str, Any], lowercase: bool, keep_unknown: bool, spaced: bool
) -> Rebuilt | None:
    entries, kind = model["vocab"], model["type"]
    settings = {"lowercase": lowercase, "keep_unknown": keep_unknown}
    if kind == "Unigram" and not spaced:
        from sentencepiece.sentencepiece_model_pb2 import (  # type: ignore[attr-defined]  # slow
            ModelProto,
        )

        proto = ModelProto()
        proto.trainer_spec.model_type = proto.trainer_spec.UNIGRAM
        return SubwordTokenizer(set_pieces(proto, entries[len(SPECIAL_TOKENS) :]), **settings)
    if kind != "BPE":
        return None
    ordered = sorted(entries, key=entries.__getitem__)[len(SPECIAL_TOKENS) :]
    if max(map(len, ordered)) > 1:
        return WordTokenizer([entry[1:] for entry in ordered], **settings, spaced=spaced)
    return None if spaced else CharTokenizer(ordered, **settings)
