from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged


@dataclass(frozen=True)
class Sentences:
    """Sentences for a tagger: distinct words with their tokens, and indices of words."""

    words: list[str]
    tokens: Ragged
    numbers: Ragged

    @classmethod
    def of(cls, sentences: Sequence[Sequence[str]], tokenizer: TextTokenizer) -> Sentences:
        number_of: dict[str, int] = {}
        numbers = []
        for sentence in sentences:
            if isinstance(sentence, str):
                raise DataError(
                    f"A sentence must be a list of words, got {sentence[:40]!r}. Split it first"
                )
            numbers.append([number_of.setdefault(word, len(number_of)) for word in sentence])
        words = list(number_of)
        return cls(words, tokenizer.encode_batch(words), Ragged.from_lists(numbers))

    def __len__(self) -> int:
        return len(self.numbers)

    def batch(
        self, chosen: Sequence[int] | np.ndarray, max_tokens: int | None = None
    ) -> dict[str, np.ndarray]:
        """Return the sentences with indices `chosen`, (batch,), as arguments of `TaggerModel`.

        `input_ids` and `attention_mask`, both (words, tokens), are of the distinct words in the
        batch. `capitals`, (words,), is 1 for words with a capital letter. `word_index`, (batch,
        seq), is the row of each word in `input_ids`, or -1 for padding.
        """
        numbers, mask = self.numbers.padded(np.asarray(chosen, np.int64))
        distinct, index = np.unique(numbers[mask == 1], return_inverse=True)
        word_index = np.full(mask.shape, -1)
        word_index[mask == 1] = index
        ids, attention_mask = self.tokens.padded(distinct, max_tokens)
        capitals = [int(has_capital(self.words[number])) for number in distinct]
        return {
            "input_ids": ids,
            "attention_mask": attention_mask,
            "capitals": np.array(capitals, np.int64),
            "word_index": word_index,
        }


def has_capital(word: str) -> bool:
    """Return whether a word contains an upper-case letter (thesis, 3.7.3)."""
    return any(character.isupper() for character in word)
