"""Word tokenizer of WORD (thesis, 4.4; the 200,000 most frequent types, 5.2.1).

Normalized text is split into words, suffixes with an apostrophe (`don 't`) and single punctuation
marks. With `spaced`, for tokenized text, it is split only at spaces, as in the papers. Ids are 0
for `<pad>`, 1 for `<unk>`, then words by frequency. The tokenizer is saved as a BPE model without
merges, because this stock model can drop unknown tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import SPECIAL_TOKENS
from paraphrastic_hf.text.contract import check_size
from paraphrastic_hf.text.fast import FastTokenizer, entries
from paraphrastic_hf.text.normalize import SPACE_MARK, build_normalizer, valid_unicode

LETTER = r"[\w\x{F0000}-\x{FFFFD}]"  # includes the private-use characters of `keep_apart`
WORD_PATTERN = rf"(?<={LETTER})'\w{{1,2}}\b|{LETTER}+|(?!{LETTER})\S"


class WordTokenizer(FastTokenizer):
    """Tokenizer that splits text into `words`, given in the order of their ids from 2."""

    kind = "word"
    keeps_to_words = True

    def __init__(
        self,
        words: Sequence[str],
        *,
        lowercase: bool = True,
        keep_unknown: bool = False,
        spaced: bool = False,
    ) -> None:
        # Entries start with the space mark, unlike single characters. So an unknown word splits
        # into unknown characters and is dropped completely.
        marked = [*SPECIAL_TOKENS.values(), *(SPACE_MARK + word for word in words)]
        vocab = {entry: i for i, entry in enumerate(marked)}
        unknown = SPECIAL_TOKENS["unk_token"] if keep_unknown else None
        self._fast = Tokenizer(
            models.BPE(vocab, [], unk_token=unknown, fuse_unk=keep_unknown, ignore_merges=True)
        )
        self._fast.normalizer = build_normalizer(lowercase)
        self._fast.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.WhitespaceSplit() if spaced else word_splitter(),
                pre_tokenizers.Metaspace(SPACE_MARK, "always", False),
            ]
        )
        self._fast.decoder = decoders.Metaspace(SPACE_MARK, "always", False)
        self.spaced = spaced
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
    ) -> WordTokenizer:
        """Build a tokenizer from the `vocab_size - 2` most frequent words of raw text.

        With `hard_vocab_limit`, a text with too few distinct words raises an error.
        """
        counter = Tokenizer(models.WordLevel({}, unk_token=SPECIAL_TOKENS["unk_token"]))
        counter.normalizer = build_normalizer(lowercase)
        counter.pre_tokenizer = word_splitter()
        special = list(SPECIAL_TOKENS.values())
        trainer = trainers.WordLevelTrainer(
            vocab_size=vocab_size, special_tokens=special, show_progress=False
        )
        counter.train_from_iterator(map(valid_unicode, lines), trainer)
        words = [word for word in entries(counter) if word not in special]
        if not words:
            raise DataError("The training text has no words, so it yields no vocabulary")
        if hard_vocab_limit:
            check_size(len(words), vocab_size, "word type")
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown)

    @classmethod
    def load(
        cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool, spaced: bool = False
    ) -> WordTokenizer:
        words = [word[1:] for word in entries(cls.read(directory))[len(SPECIAL_TOKENS) :]]
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)

    def decode(self, ids: Sequence[int]) -> str:
        tokens = self._fast.id_to_token
        words = (tokens(int(number)) for number in ids if number not in self.special.all)
        return " ".join(word.removeprefix(SPACE_MARK) for word in words if word)

    def tokens(self) -> list[str]:
        return [token.removeprefix(SPACE_MARK) for token in super().tokens()]

    def settings(self) -> dict[str, Any]:
        return super().settings() | ({"spaced": True} if self.spaced else {})


def word_splitter() -> pre_tokenizers.PreTokenizer:
    """Build the pre-tokenizer that splits off apostrophe suffixes and punctuation marks."""
    return pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)
