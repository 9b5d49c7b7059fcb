"""Character n-gram tokenizer of TRIGRAM (thesis, 4.4 and 5.1.1; 200,000 types, 5.2.1) and CHARAGRAM
(3.7.2.2, 3.7.5).

A space is added before and after the normalized text. Every n-gram of the result is a token, and
may span words unless `spans_spaces` is false. `padding_mode="left"` omits the space at the end, as
in the ParaNMT release. No stock tokenizer supports overlapping n-grams, so saved models include
this code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.files import SPECIAL_TOKENS, read_json, write_bytes
from paraphrastic_hf.text.contract import SpecialIds, check_size
from paraphrastic_hf.text.normalize import normalize
from paraphrastic_hf.text.pretrained import OwnTokenizer
from paraphrastic_hf.text.ragged import Ragged

PADDINGS = {"both": (" ", " "), "left": (" ", ""), "none": ("", "")}


class CharNgramTokenizer(OwnTokenizer):
    """Tokenizer that splits text into overlapping `ngrams`, given in the order of their ids from 2.

    `padding_mode` adds a space on `both` sides, only on the `left`, or `none`.
    """

    vocab_files_names = {"vocab_file": "ngrams.json"}
    file = "ngrams.json"
    keeps_to_words = False
    special = SpecialIds()

    def __init__(
        self,
        vocab_file: str | None = None,
        *,
        ngrams: Sequence[str] | None = None,
        orders: Sequence[int] = (3,),
        padding_mode: str = "both",
        spans_spaces: bool = True,
        lowercase: bool = True,
        keep_unknown: bool = False,
        **kwargs: Any,
    ) -> None:
        if padding_mode not in PADDINGS:
            raise ValueError(f"padding_mode {padding_mode!r} is not one of {', '.join(PADDINGS)}")
        if ngrams is None:
            if vocab_file is None:
                raise ModelError("ngrams.json (the vocabulary of the tokenizer) does not exist")
            ngrams = read_json(Path(vocab_file))
        missing = sorted(set(orders) - {len(ngram) for ngram in ngrams})
        if missing:
            raise ModelError(
                f"The vocabulary has no n-grams of order {missing[0]}. Remove it from orders, "
                f"{list(orders)}, or use another vocabulary"
            )
        self._entries = ["<pad>", "<unk>", *ngrams]
        # Text may contain n-grams spelled like the special tokens, which must not be looked up.
        self._lookup = {ngram: i for i, ngram in enumerate(self._entries) if i > 1}
        self.orders = tuple(orders)
        self.padding_mode = padding_mode
        self.spans_spaces = spans_spaces
        self.lowercase = lowercase
        self.keep_unknown = keep_unknown
        super().__init__(
            orders=list(orders),
            padding_mode=padding_mode,
            spans_spaces=spans_spaces,
            lowercase=lowercase,
            keep_unknown=keep_unknown,
            **{"split_special_tokens": True, **SPECIAL_TOKENS, **kwargs},
        )

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        *,
        vocab_size: int,
        orders: Sequence[int] = (3,),
        padding_mode: str = "both",
        spans_spaces: bool = True,
        min_count: int = 1,
        most_per_order: int | None = None,
        hard_vocab_limit: bool = False,
        lowercase: bool = True,
        keep_unknown: bool = False,
    ) -> CharNgramTokenizer:
        """Build a tokenizer from the `vocab_size - 2` most frequent n-grams of raw text.

        Ties are broken alphabetically. `min_count` and `most_per_order` are C and k in thesis
        3.7.5: the minimum frequency of an n-gram, and the maximum number of n-grams of an order.
        With `hard_vocab_limit`, a text with too few distinct n-grams raises an error.
        """
        counts: Counter[str] = Counter()
        for line in lines:
            text = normalize(line, lowercase)
            counts.update(extract_ngrams(text, orders, padding_mode, spans_spaces))
        ranked = [ngram for ngram in counts if counts[ngram] >= min_count]
        ranked.sort(key=lambda ngram: (-counts[ngram], ngram))
        if most_per_order is not None:
            ranked = _leading(ranked, most_per_order)
        ranked = ranked[: vocab_size - 2]
        missing = sorted(set(orders) - {len(ngram) for ngram in ranked})
        if missing:
            raise DataError(
                f"The vocabulary would lack character n-grams of order {missing[0]}: the text "
                f"has none with min_count {min_count}, or vocab_size {vocab_size} is too small"
            )
        if hard_vocab_limit:
            check_size(len(ranked), vocab_size, "n-gram type")
        return cls(
            ngrams=ranked,
            orders=orders,
            padding_mode=padding_mode,
            spans_spaces=spans_spaces,
            lowercase=lowercase,
            keep_unknown=keep_unknown,
        )

    @property
    def vocab_size(self) -> int:
        return len(self._entries)

    def get_vocab(self) -> dict[str, int]:
        return {entry: i for i, entry in enumerate(self._entries)}

    def tokens(self) -> list[str]:
        return list(self._entries)

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        get = self._lookup.get
        encoded = []
        for text in texts:
            found = map(get, self._ngrams(text))
            encoded.append(
                [1 if i is None else i for i in found if self.keep_unknown or i is not None]
            )
        return Ragged.from_lists(encoded)

    def _ngrams(self, text: str) -> list[str]:
        text = normalize(text, self.lowercase)
        return extract_ngrams(text, self.orders, self.padding_mode, self.spans_spaces)

    def save(self, directory: str | Path) -> None:
        self.save_pretrained(str(directory))

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        ngrams = self._ngrams(text)
        return ngrams if self.keep_unknown else [ngram for ngram in ngrams if ngram in self._lookup]

    def _convert_token_to_id(self, token: str) -> int:
        return self._lookup.get(token, 1)

    def _convert_id_to_token(self, index: int) -> str:
        return self._entries[index]

    def save_vocabulary(
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str]:
        path = Path(save_directory) / ((filename_prefix or "") + self.file)
        write_bytes(path, json.dumps(self._entries[2:], ensure_ascii=False).encode("utf-8"))
        return (str(path),)


def extract_ngrams(
    text: str, orders: Sequence[int], padding_mode: str = "both", spans_spaces: bool = True
) -> list[str]:
    """Return the n-grams of a normalized text, order by order."""
    if not text:
        return []
    left, right = PADDINGS[padding_mode]
    pieces = [left + piece + right for piece in ([text] if spans_spaces else text.split(" "))]
    return [piece[i : i + n] for n in orders for piece in pieces for i in range(len(piece) - n + 1)]


def _leading(ranked: Sequence[str], most: int) -> list[str]:
    seen: Counter[int] = Counter()
    kept = []
    for ngram in ranked:
        seen[len(ngram)] += 1
        if seen[len(ngram)] <= most:
            kept.append(ngram)
    return kept
