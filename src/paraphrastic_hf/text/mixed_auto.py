"""A mixture of tokenizers that `AutoTokenizer` can load.

Token names start with the index of the tokenizer: `0:the` may be a word and `1:the` a trigram.
`MixedTokenizer` (`mixed.py`) returns the same ids faster.
"""

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.files import PARTS_FOLDER, SPECIAL_TOKENS, read_json, write_json
from paraphrastic_hf.io.remote_code import write_remote_code
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.normalize import valid_unicode
from paraphrastic_hf.text.pretrained import OwnTokenizer

MOST_PARTS = 6
STOCK, NGRAMS, SETTINGS = FILES = ("tokenizer.json", "ngrams.json", "tokenizer_config.json")
NGRAM_SETTINGS = ("orders", "padding_mode", "spans_spaces", "lowercase", "keep_unknown")


class MixtureTokenizer(OwnTokenizer):
    """Tokenizer that concatenates the ids of several tokenizers (thesis, 4.5.6).

    `files` are paths by the keys of `vocab_files_names`, or None for files that do not exist.
    """

    vocab_files_names = {
        f"part_{k}_{name.split('.')[0]}": f"{PARTS_FOLDER}/{k}/{name}"
        for k in range(MOST_PARTS)
        for name in FILES
    }

    def __init__(self, parts: int, **files: Any) -> None:
        paths = {key: files.pop(key, None) for key in self.vocab_files_names}
        self._files = {key: Path(path) for key, path in paths.items() if path is not None}
        self._parts: list[Tokenizer | CharNgramTokenizer] = []
        for k in range(parts):
            if (part := self._read(k)) is None:
                raise ModelError(f"{PARTS_FOLDER}/{k} has neither {STOCK} nor {NGRAMS}")
            self._parts.append(part)
        sizes = [
            part.get_vocab_size() if isinstance(part, Tokenizer) else part.vocab_size
            for part in self._parts
        ]
        self._first_ids = [sum(sizes[:k]) for k in range(len(sizes))]
        self._size = sum(sizes)
        super().__init__(parts=parts, **{**SPECIAL_TOKENS, "split_special_tokens": True, **files})

    def _read(self, k: int) -> Tokenizer | CharNgramTokenizer | None:
        stock, ngrams, settings = (
            self._files.get(f"part_{k}_{name.split('.')[0]}") for name in FILES
        )
        if ngrams is not None and settings is not None:
            known = read_json(settings)
            chosen = {name: known[name] for name in NGRAM_SETTINGS}
            return CharNgramTokenizer(str(ngrams), **chosen)
        if stock is None:
            return None
        part = Tokenizer.from_file(str(stock))
        part.encode_special_tokens = True  # treat a literal <pad> as text
        return part

    @property
    def vocab_size(self) -> int:
        return self._size

    @cached_property
    def _ids(self) -> dict[str, int]:
        ids = {"<pad>": 0, "<unk>": 1}
        for k, (first, part) in enumerate(zip(self._first_ids, self._parts, strict=True)):
            for token, number in part.get_vocab().items():
                if first + number > 1:
                    ids[f"{k}:{token}"] = first + number
        return ids

    @cached_property
    def _names(self) -> dict[int, str]:
        return {number: token for token, number in self._ids.items()}

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids)

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        text = valid_unicode(text)
        found = []
        for first, part in zip(self._first_ids, self._parts, strict=True):
            if isinstance(part, Tokenizer):
                own = part.encode(text).ids
            else:
                own = part.encode_batch([text]).ids.tolist()
            found += [self._names[first + number] for number in own]
        return found

    def _convert_token_to_id(self, token: str) -> int:
        return self._ids.get(token, 1)

    def _convert_id_to_token(self, index: int) -> str:
        return self._names[index]

    def save_vocabulary(
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        written = []
        for key, path in self._files.items():
            target = Path(save_directory) / self.vocab_files_names[key]
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.resolve() != target.resolve():
                shutil.copyfile(path, target)
            written.append(str(target))
        return tuple(written)


def write_auto_config(directory: Path, parts: int) -> None:
    """Write the config and code with which `AutoTokenizer` loads a mixture of tokenizers.

    Nothing is written for more than `MOST_PARTS` tokenizers, which `AutoTokenizer` cannot load.
    """
    if parts > MOST_PARTS:
        return
    name = write_remote_code(MixtureTokenizer, directory)
    write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": MixtureTokenizer.__name__,
            "auto_map": {"AutoTokenizer": [name, None]},
            "parts": parts,
            **SPECIAL_TOKENS,
            "split_special_tokens": True,
            "model_input_names": MixtureTokenizer.model_input_names,
        },
    )
