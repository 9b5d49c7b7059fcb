"""Several tokenizers side by side, for jointly trained encoders (thesis, 4.5.6).

The ids of a text are the first tokenizer's ids, then the second tokenizer's, and so on. The ids of
a tokenizer are shifted by the vocabulary sizes of the tokenizers before it, so that no two share an
id. The padding id is 0.
"""

from collections.abc import Sequence
from pathlib import Path

from paraphrastic_hf.io.files import PARTS_FOLDER, write_json
from paraphrastic_hf.text.contract import SpecialIds, TextTokenizer
from paraphrastic_hf.text.ragged import Ragged


class MixedTokenizer:
    """Tokenizer that concatenates the ids of two or more tokenizers, equal in `lowercase`."""

    keeps_to_words = False

    def __init__(self, parts: Sequence[TextTokenizer]) -> None:
        if len({part.lowercase for part in parts}) != 1:
            raise ValueError("All tokenizers of a mixture must have the same lowercase setting")
        self.parts = list(parts)
        self.lowercase = parts[0].lowercase
        sizes = [part.vocab_size for part in parts]
        self.first_ids = [sum(sizes[:k]) for k in range(len(sizes))]
        self.vocab_size = sum(sizes)

        placed = list(zip(self.first_ids, self.parts, strict=True))
        self.special = SpecialIds(
            start=tuple(first + mark for first, part in placed for mark in part.special.start),
            end=tuple(first + mark for first, part in placed for mark in part.special.end),
        )

    def decode(self, ids: Sequence[int]) -> str:
        raise TypeError("A mixture has ids of several tokenizers. Decode with one of its `parts`")

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        texts = list(texts)
        encoded = [part.encode_batch(texts) for part in self.parts]
        return Ragged.side_by_side(
            [
                Ragged(part.ids + first, part.offsets)
                for first, part in zip(self.first_ids, encoded, strict=True)
            ]
        )

    def tokens(self) -> list[str]:
        """Return the token of every id. Several tokenizers may have the same token."""
        return [token for part in self.parts for token in part.tokens()]

    def save(self, directory: str | Path) -> None:
        """Write each tokenizer to its own folder, and the files that `AutoTokenizer` needs."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for k, part in enumerate(self.parts):
            part.save(directory / PARTS_FOLDER / str(k))
        write_json(
            directory / "paraphrastic_tokenizer.json", {"kind": "mixed", "parts": len(self.parts)}
        )
        from paraphrastic_hf.text.mixed_auto import write_auto_config  # imports transformers

        write_auto_config(directory, len(self.parts))
