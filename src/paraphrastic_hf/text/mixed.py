"""Several tokenizers side by side, for encoders that are trained as one (thesis, 4.5.6).

The ids of a text are those of the first tokenizer, then those of the second, and so on, in one
sequence. To the ids of part k the vocabulary sizes of the parts before it are added, so that no two
parts share an id. Every part has an id for padding, but only that of the first, id 0, is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paraphrastic_hf.io.files import PARTS_FOLDER, write_json
from paraphrastic_hf.text.contract import SpecialIds, TextTokenizer
from paraphrastic_hf.text.ragged import Ragged


class MixedTokenizer:
    """Turns text into the ids of several tokenizers, one after the other.

    Args:
        parts: Two tokenizers or more, all of which lower-case text, or none of which does.
    """

    keeps_to_words = False

    def __init__(self, parts: Sequence[TextTokenizer]) -> None:
        if len({part.lowercase for part in parts}) != 1:
            raise ValueError("all tokenizers of a mixture must lower-case, or none: set lowercase")
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
        """A mixture cannot be decoded."""
        raise TypeError(
            "the ids of a mixture hold every text once for each part; decode the ids of one part"
        )

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        """Return the ids of each text by all parts."""
        texts = list(texts)
        encoded = [part.encode_batch(texts) for part in self.parts]
        lengths = np.stack([np.diff(part.offsets) for part in encoded], 1)  # (texts, parts)
        ends = lengths.cumsum().reshape(lengths.shape)
        ids = np.empty(int(lengths.sum()), np.int32)
        for k, (first, part) in enumerate(zip(self.first_ids, encoded, strict=True)):
            shift = ends[:, k] - part.offsets[1:]
            place = np.arange(len(part.ids)) + np.repeat(shift, lengths[:, k])
            ids[place] = part.ids + first
        return Ragged(ids, np.concatenate([[0], ends[:, -1]]))

    def tokens(self) -> list[str]:
        """Return the token of every id; two parts may have the same token."""
        return [token for part in self.parts for token in part.tokens()]

    def save(self, directory: str | Path) -> None:
        """Write each part to a folder of its own, their number, and what `AutoTokenizer` needs."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for k, part in enumerate(self.parts):
            part.save(directory / PARTS_FOLDER / str(k))
        write_json(
            directory / "paraphrastic_tokenizer.json", {"kind": "mixed", "parts": len(self.parts)}
        )
        from paraphrastic_hf.text.mixed_auto import write_auto_config  # imports transformers

        write_auto_config(directory, len(self.parts))
