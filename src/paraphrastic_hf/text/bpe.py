"""Byte-pair tokenizer from existing codes (Sennrich et al., 2016), as in SCPN (thesis, 6.3.1).

The first line of a codes file is `#version: 0.2`. Every other line is a merge, most frequent first.
The last piece of a word ends in `</w>`. Every piece that the codes can produce has an id. (The
released SCPN drops pieces missing from its `vocab.txt`.)
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import SPECIAL_TOKENS
from paraphrastic_hf.text.fast import FastTokenizer
from paraphrastic_hf.text.normalize import build_normalizer
from paraphrastic_hf.text.word import word_splitter

END_OF_WORD = "</w>"


class BytePairTokenizer(FastTokenizer):
    """Tokenizer that splits text into byte-pair pieces."""

    kind = "bpe"
    keeps_to_words = True

    def __init__(self, fast: Tokenizer, *, lowercase: bool) -> None:
        self._fast, self.lowercase = fast, lowercase
        self.vocab_size = fast.get_vocab_size(with_added_tokens=False)

    @classmethod
    def from_codes(cls, path: str | Path, *, lowercase: bool = True) -> BytePairTokenizer:
        merges: list[tuple[str, str]] = []
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"Cannot read the codes in {path}: {error}") from error
        for number, line in enumerate(lines, 1):
            parts = line.split(" ")
            if line.startswith("#version") or not line.strip():
                continue
            if len(parts) != 2 or not all(parts):
                raise DataError(f"{path}:{number} is not a merge of two pieces: {line[:80]!r}")
            merges.append((parts[0], parts[1]))
        if not merges:
            raise DataError(f"{path} has no merges. Expected one per line, such as 't h'")
        chars = set(string.printable) - set(string.whitespace)
        chars |= {char for pair in merges for part in pair for char in part.removesuffix("</w>")}
        merged = (first + second for first, second in merges)
        pieces = [*sorted(chars), *(char + END_OF_WORD for char in sorted(chars)), *merged]
        vocab = {piece: number for number, piece in enumerate(SPECIAL_TOKENS.values())}
        for piece in pieces:
            vocab.setdefault(piece, len(vocab))
        fast = Tokenizer(models.BPE(vocab, merges, end_of_word_suffix=END_OF_WORD))
        fast.add_special_tokens(list(SPECIAL_TOKENS.values()))
        fast.normalizer = build_normalizer(lowercase)
        fast.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), word_splitter()]
        )
        fast.decoder = decoders.BPEDecoder(suffix=END_OF_WORD)
        return cls(fast, lowercase=lowercase)

    @classmethod
    def load(
        cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool = False
    ) -> BytePairTokenizer:
        fast = cls.read(directory)
        fast.no_truncation()
        if END_OF_WORD not in str(getattr(fast.model, "end_of_word_suffix", "")):
            raise ModelError(f"{directory} has no BPE tokenizer with the word suffix {END_OF_WORD}")
        return cls(fast, lowercase=lowercase)

    def decode(self, ids: Sequence[int]) -> str:
        known = [int(number) for number in ids if int(number) not in self.special.all]
        return str(self._fast.decode(known, skip_special_tokens=True)).strip()
