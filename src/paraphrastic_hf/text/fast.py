from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from paraphrastic_hf.errors import ModelError, refused
from paraphrastic_hf.io.files import write_json, write_tokenizer
from paraphrastic_hf.text.contract import SpecialIds
from paraphrastic_hf.text.normalize import valid_unicode
from paraphrastic_hf.text.ragged import Ragged


class FastTokenizer:
    """Base class of tokenizers saved as `tokenizer.json`. `<pad>` has id 0 and `<unk>` id 1."""

    file = "tokenizer.json"
    kind: str
    special = SpecialIds()
    _fast: Tokenizer
    lowercase: bool
    keep_unknown = False

    @classmethod
    def read(cls, directory: str | Path) -> Tokenizer:
        path = Path(directory) / cls.file
        with refused(ModelError, f"Cannot read the tokenizer {path}"):
            return Tokenizer.from_file(str(path))

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        """Return the ids of each text. Unknown tokens are dropped unless `keep_unknown`."""
        encodings = self._fast.encode_batch_fast(
            [valid_unicode(text) for text in texts], add_special_tokens=False
        )
        return Ragged.from_lists([encoding.ids for encoding in encodings])

    def to_fast(self) -> Tokenizer:
        return self._fast

    def tokens(self) -> list[str]:
        return entries(self._fast)

    def settings(self) -> dict[str, Any]:
        """Return the settings saved in `paraphrastic_tokenizer.json`."""
        return {"lowercase": self.lowercase, "keep_unknown": self.keep_unknown}

    def save(self, directory: str | Path) -> None:
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        write_tokenizer(directory, self.to_fast())
        write_json(
            directory / "paraphrastic_tokenizer.json", {"kind": self.kind, **self.settings()}
        )


def entries(fast: Tokenizer) -> list[str]:
    """Return the vocabulary entries in order of their ids."""
    vocab = fast.get_vocab(with_added_tokens=False)
    return sorted(vocab, key=vocab.__getitem__)
