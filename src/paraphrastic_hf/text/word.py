"""Word tokenizer of WORD (thesis, 4.4; the 200,000 most frequent types, 5.2.1).

Text is normalized and cut into words, suffixes with an apostrophe (`don 't`) and single punctuation
marks. Text that is tokenized already, as that of the papers was, is cut at spaces only (`spaced`).
It is saved as a `tokenizer.json` alone: words are entries of a BPE model without merges, which is
the stock model that drops what it does not know. Ids are 0 for `<pad>`, 1 for `<unk>` (used if
`keep_unknown`, as in PARAGRAM), then words by frequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import SPECIAL_TOKENS
from paraphrastic_hf.text.fast import FastTokenizer, check_size, entries
from paraphrastic_hf.text.normalize import SPACE_MARK, build_normalizer, valid_unicode

LETTER = r"[\w\x{F0000}-\x{FFFFD}]"  # with the private-use characters that `keep_apart` maps to
WORD_PATTERN = rf"(?<={LETTER})'\w{{1,2}}\b|{LETTER}+|(?!{LETTER})\S"


class WordTokenizer(FastTokenizer):
    """Turns text into the ids of its words.

    Args:
        words: The words in the order of their ids, from id 2 on, most frequent first.
        keep_unknown: Give unknown words id 1 instead of dropping them.
    """

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
        # Entries carry the space mark, which no single character does: an unknown word falls apart
        # into characters that are unknown too, and leaves nothing.
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
        """Make a tokenizer of the `vocab_size - 2` most frequent words of some lines of text.

        Args:
            lines: Raw text; it is normalized here.
            vocab_size: Number of entries, with `<pad>` and `<unk>`.
            hard_vocab_limit: Refuse, rather than shrink, if the text has fewer words.
            keep_unknown: Give unknown words id 1 instead of dropping them.
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
            raise DataError("the training text holds no word to build a vocabulary from")
        if hard_vocab_limit:
            check_size(len(words), vocab_size, "word type")
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown)

    @classmethod
    def load(
        cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool, spaced: bool = False
    ) -> WordTokenizer:
        """Read `tokenizer.json` from a model directory."""
        words = [word[1:] for word in entries(cls.read(directory))[len(SPECIAL_TOKENS) :]]
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)

    def decode(self, ids: Sequence[int]) -> str:
        """The words of ids with a space between; special ids leave nothing."""
        tokens = self._fast.id_to_token
        words = (tokens(int(number)) for number in ids if number not in self.special.all)
        return " ".join(word.removeprefix(SPACE_MARK) for word in words if word)

    def to_fast(self) -> Tokenizer:
        """The same tokenizer for the `tokenizers` library."""
        return self._fast

    def tokens(self) -> list[str]:
        """Return the word of every id."""
        return [token.removeprefix(SPACE_MARK) for token in super().tokens()]

    def settings(self) -> dict[str, Any]:
        """With `spaced`, if it is."""
        return super().settings() | ({"spaced": True} if self.spaced else {})


def word_splitter() -> pre_tokenizers.PreTokenizer:
    """Build what cuts normalized text into words, suffixes with an apostrophe, and punctuation."""
    return pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)
