"""Start and end marks around the tokens of another tokenizer (Wieting and Gimpel, 2017, footnote 4;
thesis, 3.6.2).
"""

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
    """Tokenizer that adds marks before or after the tokens of another tokenizer.

    The marks (`start`, `end` or `both`) follow all other tokens in the vocabulary. A text without
    known tokens gets no marks, so that its embedding is zero. For such a text, the tokenizer that
    `AutoTokenizer` loads returns only the marks. With `opens_prompts`, the saved `tokenizer.json`
    has no end mark, so that `generate` can continue prompts.
    """

    keeps_to_words = False

    def __init__(
        self, tokenizer: TextTokenizer, marks: str, *, opens_prompts: bool = False
    ) -> None:
        self.inner = tokenizer
        self.marks, self.opens_prompts = marks, opens_prompts
        self.lowercase = tokenizer.lowercase
        self.vocab_size = tokenizer.vocab_size + len(MARKS[marks])
        ids = dict(zip(MARKS[marks], range(tokenizer.vocab_size, self.vocab_size), strict=True))
        start, end = ((ids[mark],) if mark in ids else () for mark in (START, END))
        self.special = replace(tokenizer.special, start=start, end=end)

    def encode_batch(self, texts: Sequence[str]) -> Ragged:
        inner = self.inner.encode_batch(texts)
        has_ids = np.diff(inner.offsets) > 0
        offsets = np.concatenate([[0], np.cumsum(has_ids)])  # a mark for each text with ids
        start, end = (
            [Ragged(np.full(offsets[-1], mark, np.int32), offsets) for mark in marks]
            for marks in (self.special.start, self.special.end)
        )
        return Ragged.side_by_side([*start, inner, *end])

    def for_prompts(self) -> MarkedTokenizer:
        """Return a copy with `opens_prompts`, to save with a language model."""
        return MarkedTokenizer(self.inner, self.marks, opens_prompts=True)

    def decode(self, ids: Sequence[int]) -> str:
        return self.inner.decode([number for number in ids if number < self.inner.vocab_size])

    def to_fast(self) -> Tokenizer:
        """Convert to a tokenizer of the `tokenizers` library, which adds marks to every text."""
        inner: Any = self.inner
        return self._marked(Tokenizer.from_str(inner.to_fast().to_str()))

    def _marked(self, fast: Tokenizer) -> Tokenizer:
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
        return [*self.inner.tokens(), *MARKS[self.marks]]

    def save(self, directory: str | Path) -> None:
        directory = Path(directory)
        self.inner.save(directory)
        write_tokenizer(directory, self._marked(Tokenizer.from_file(str(directory / FILE))))
        names = {"bos_token": START, "eos_token": END}
        kept = {name: mark for name, mark in names.items() if mark in MARKS[self.marks]}
        own: dict[str, Any] = {"marks": self.marks}
        if self.opens_prompts:
            kept["padding_side"] = "left"  # generated text must directly follow each prompt
            own["opens_prompts"] = True
        add_settings(directory / "tokenizer_config.json", kept)
        add_settings(directory / "paraphrastic_tokenizer.json", own)


def add_settings(path: Path, settings: dict[str, Any]) -> None:
    known = read_json(path)
    write_json(path, {**known, **settings})
