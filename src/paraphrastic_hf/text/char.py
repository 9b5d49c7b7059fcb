"""Character tokenizer of charLSTM and charCNN (thesis, 3.6.2).

Every character of the normalized text, including spaces, is a token. Ids are 0 for `<pad>`, 1 for
`<unk>`, then characters by frequency. The tokenizer is saved as a BPE model without merges, because
this stock model can drop unknown tokens. `text/marks.py` adds the thesis's start and end marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import SPECIAL_TOKENS
from paraphrastic_hf.text.contract import check_size
from paraphrastic_hf.text.fast import FastTokenizer, entries
from paraphrastic_hf.text.normalize import build_normalizer, normalize


class CharTokenizer(FastTokenizer):
    """Tokenizer that splits text into `characters`, given in the order of their ids from 2."""

    kind = "char"
    keeps_to_words = False

    def __init__(
        self, characters: Sequence[str], *, lowercase: bool = True, keep_unknown: bool = False
    ) -> None:
        self._entries = [*SPECIAL_TOKENS.values(), *characters]
        vocab = {entry: i for i, entry in enumerate(self._entries)}
        unknown = SPECIAL_TOKENS["unk_token"] if keep_unknown else None
        self._fast = Tokenizer(models.BPE(vocab, [], unk_token=unknown))
        self._fast.normalizer = build_normalizer(lowercase)
        self._fast.decoder = decoders.Fuse()
        self.lowercase = lowercase
        self.keep_unknown = keep_unknown
        self.vocab_size = len(vocab)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        vocab_size: int,
        hard_vocab_limit: bool = False,
        lowercase: bool = True,
        keep_unknown: bool = False,
    ) -> CharTokenizer:
        """Build a tokenizer from the `vocab_size - 2` most frequent characters of raw text.

        Ties are broken by code point. With `hard_vocab_limit`, a text with too few distinct
        characters raises an error.
        """
        counts: Counter[str] = Counter()
        for line in lines:
            counts.update(normalize(line, lowercase))
        if not counts:
            raise DataError("The training text is empty, so it yields no vocabulary")
        ranked = sorted(counts, key=lambda character: (-counts[character], character))
        if hard_vocab_limit:
            check_size(len(ranked), vocab_size, "character")
        return cls(ranked[: vocab_size - 2], lowercase=lowercase, keep_unknown=keep_unknown)

    @classmethod
    def load(cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool) -> CharTokenizer:
        characters = entries(cls.read(directory))[len(SPECIAL_TOKENS) :]
        return cls(characters, lowercase=lowercase, keep_unknown=keep_unknown)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self._entries[number] for number in ids if number not in self.special.all)
