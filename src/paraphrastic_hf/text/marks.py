"""Start- and end-of-sequence tokens around the tokens of another tokenizer (Wieting and Gimpel,
2017, footnote 4; thesis, 3.6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from paraphrastic_hf.io.files import read_json, write_json, write_tokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged

FILE = "tokenizer.json"
START, END = "<s>", "</s>"
MARKS = {"start": (START,), "end": (END,), "both": (START, END)}


class MarkedTokenizer:
    """Adds a mark before or after each text, or both, to the ids of another tokenizer.

    The ids of the marks come after all others. A text without any known token stays empty, so that
    it has the zero vector. `AutoTokenizer` cannot express this and gives such a text the marks
    alone.

    Args:
        tokenizer: What cuts the text; it must save a `tokenizer.json`.
        marks: Which marks to add, `start`, `end` or `both`.
        opens_prompts: Whether the saved `tokenizer.json` leaves out the end, so that what
            `AutoTokenizer` makes of a text can be continued by `generate`.
    """

    keeps_to_words = False

    def __init__(
        self, tokenizer: TextTokenizer, marks: str, *, opens_prompts: bool = False
    ) -> None:
        self.inner = tokenizer
        self.marks, self.opens_prompts = marks, opens_prompts
        self.lowercase = tokenizer.lowercase
        self.vocab_size = tokenizer.vocab_size + len(MARKS[marks])
        first, last = tokenizer.vocab_size, self.vocab_size - 1
        self.special = replace(
            tokenizer.special,
            start=(first,) if START in MARKS[marks] else (),
            end=(last,) if END in MARKS[marks] else (),
        )

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        """Return the ids of each text, marks included."""
        inner = self.inner.encode_batch(texts)
        lengths = np.diff(inner.offsets)
        is_marked = lengths > 0
        offsets = np.zeros(len(inner.offsets), np.int64)
        np.cumsum(lengths + is_marked * len(MARKS[self.marks]), out=offsets[1:])
        ids = np.empty(int(offsets[-1]), np.int32)
        start, end = self.special.start, self.special.end
        shift = offsets[:-1] - inner.offsets[:-1] + len(start)
        ids[np.arange(len(inner.ids)) + np.repeat(shift, lengths)] = inner.ids
        if start:
            ids[offsets[:-1][is_marked]] = start[0]
        if end:
            ids[offsets[1:][is_marked] - 1] = end[0]
        return Ragged(ids, offsets)

    def for_prompts(self) -> MarkedTokenizer:
        """This tokenizer, to be saved beside a model that continues texts."""
        return MarkedTokenizer(self.inner, self.marks, opens_prompts=True)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; the marks leave nothing."""
        return self.inner.decode([number for number in ids if number < self.inner.vocab_size])

    def to_fast(self) -> Tokenizer:
        """The same tokenizer for the `tokenizers` library, which gives a text without any known
        token the marks alone."""
        inner: Any = self.inner
        return self._marked(Tokenizer.from_str(inner.to_fast().to_str()))

    def _marked(self, fast: Tokenizer) -> Tokenizer:
        """A tokenizer without marks after they were added to it."""
        fast.add_special_tokens(list(MARKS[self.marks]))
        before = [START] if self.special.start else []
        after = [END] if self.special.end and not self.opens_prompts else []
        fast.post_processor = TemplateProcessing(
            single=[*before, "$A", *after],
            pair=[*before, "$A", *after, *(f"{mark}:1" for mark in before), "$B:1"]
            + [f"{mark}:1" for mark in after],
            special_tokens=[(mark, fast.token_to_id(mark)) for mark in (*before, *after)],
        )
        return fast

    def tokens(self) -> list[str]:
        """Return the token of every id."""
        return [*self.inner.tokens(), *MARKS[self.marks]]

    def save(self, directory: str | Path) -> None:
        """Write the inner tokenizer's files, with the marks in them."""
        directory = Path(directory)
        self.inner.save(directory)
        write_tokenizer(directory, self._marked(Tokenizer.from_file(str(directory / FILE))))
        names = {"bos_token": START, "eos_token": END}
        kept = {name: mark for name, mark in names.items() if mark in MARKS[self.marks]}
        own: dict[str, Any] = {"marks": self.marks}
        if self.opens_prompts:
            kept["padding_side"] = "left"  # so that what is generated follows each prompt at once
            own["opens_prompts"] = True
        add_settings(directory / "tokenizer_config.json", kept)
        add_settings(directory / "paraphrastic_tokenizer.json", own)


def add_settings(path: Path, settings: dict[str, Any]) -> None:
    """Add keys to a JSON file that holds a mapping."""
    known = read_json(path)
    write_json(path, {**known, **settings})
