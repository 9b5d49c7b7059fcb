"""Word tokenizer of WORD (thesis, 4.4; the 200,000 most frequent types, 5.2.1).

Text is normalized and cut into words, suffixes with an apostrophe (`don 't`) and single punctuation
marks. Text that is tokenized already, as that of the papers was, is cut at spaces only (`spaced`).
It is saved as a `tokenizer.json` alone: words are entries of a BPE model without merges, which is
the stock model that drops what it does not know. Ids are 0 for `<pad>`, 1 for `<unk>` (used if
`keep_unknown`, as in PARAGRAM), then words by frequency.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from paraphrastic_hf.errors import DataError, ModelError, counted
from paraphrastic_hf.io.files import SPECIAL_TOKENS, write_json, write_tokenizer
from paraphrastic_hf.text.contract import SpecialIds
from paraphrastic_hf.text.normalize import SPACE_MARK, build_normalizer, valid_unicode
from paraphrastic_hf.text.ragged import Ragged

LETTER = r"[\w\x{F0000}-\x{FFFFD}]"  # with the private-use characters that `keep_apart` maps to
WORD_PATTERN = rf"(?<={LETTER})'\w{{1,2}}\b|{LETTER}+|(?!{LETTER})\S"


class WordTokenizer:
    """Turns text into the ids of its words.

    Args:
        words: The words in the order of their ids, from id 2 on, most frequent first.
        keep_unknown: Give unknown words id 1 instead of dropping them.
    """

    file = "tokenizer.json"
    keeps_to_words = True
    special = SpecialIds()

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
        entries = [*SPECIAL_TOKENS.values(), *(SPACE_MARK + word for word in words)]
        vocab = {entry: i for i, entry in enumerate(entries)}
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
        vocab = counter.get_vocab()
        words = [word for word in sorted(vocab, key=vocab.__getitem__) if word not in special]
        if not words:
            raise DataError("the training text holds no word to build a vocabulary from")
        if hard_vocab_limit and len(words) + len(special) < vocab_size:
            raise DataError(
                f"vocab_size is {vocab_size}, but the text has {counted(len(words), 'word type')}; "
                f"use at most {len(words) + len(special)}"
            )
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown)

    @classmethod
    def load(
        cls, directory: str | Path, *, lowercase: bool, keep_unknown: bool, spaced: bool = False
    ) -> WordTokenizer:
        """Read `tokenizer.json` from a model directory."""
        path = Path(directory) / cls.file
        try:
            vocab = Tokenizer.from_file(str(path)).get_vocab(with_added_tokens=False)
        except Exception as error:  # tokenizers raises bare Exception
            raise ModelError(f"cannot read the tokenizer {path}: {error}") from error
        words = sorted(vocab, key=vocab.__getitem__)[len(SPECIAL_TOKENS) :]
        words = [word[1:] for word in words]
        return cls(words, lowercase=lowercase, keep_unknown=keep_unknown, spaced=spaced)

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        """Return the ids of each text; unknown words have none unless `keep_unknown`."""
        encodings = self._fast.encode_batch_fast(
            [valid_unicode(t) for t in texts], add_special_tokens=False
        )
        return Ragged.from_lists([encoding.ids for encoding in encodings])

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
        return [token.removeprefix(SPACE_MARK) for token in self._ordered_entries()]

    def _ordered_entries(self) -> Iterator[str]:
        vocab = self._fast.get_vocab()
        yield from sorted(vocab, key=vocab.__getitem__)

    def save(self, directory: str | Path) -> None:
        """Write `tokenizer.json` and `tokenizer_config.json`."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        write_tokenizer(directory, self._fast)
        settings = {"kind": "word", "lowercase": self.lowercase, "keep_unknown": self.keep_unknown}
        if self.spaced:
            settings["spaced"] = True
        write_json(directory / "paraphrastic_tokenizer.json", settings)


def word_splitter() -> pre_tokenizers.PreTokenizer:
    """Build what cuts normalized text into words, suffixes with an apostrophe, and punctuation."""
    return pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)
