"""Mining from text to pairs of lines, through a work folder that lets an interrupted run go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.encoding.fingerprint import has_weights, tokenizer_hash, weights_hash
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.mining.bitext import PAIRS_AT_A_TIME, Pairs, check_options, mine
from paraphrastic_hf.mining.store import LINES_AT_A_TIME, TextStore
from paraphrastic_hf.mining.vectors import UnitRows

BYTES_A_LINE = 4096  # of text, words and vectors while a block is encoded


@dataclass(frozen=True)
class TextSide:
    """One side's text.

    Attributes:
        blocks: Its lines, some at a time, read once at most.
        stamp: Where they come from and when they last changed; empty if nobody knows.
    """

    blocks: Iterable[list[str]]
    stamp: str = ""


@dataclass(frozen=True)
class MinedLines:
    """What was found, with the lines to look up.

    Attributes:
        pairs: Numbers of lines, from 0, best pair first.
        source: Lines of either side.
        target: Likewise.
    """

    pairs: Pairs
    source: TextStore
    target: TextStore

    def rows(self) -> Iterator[dict[str, list[Any]]]:
        """Columns `score`, `source`, `target`, `source_line`, `target_line` (from 1), some pairs at
        a time."""
        for start in range(0, len(self.pairs.score), PAIRS_AT_A_TIME):
            part = Pairs(*(column[start : start + PAIRS_AT_A_TIME] for column in self.pairs))
            yield {
                "score": part.score.tolist(),
                "source": list(self.source.lines(part.source)),
                "target": list(self.target.lines(part.target)),
                "source_line": (part.source + 1).tolist(),
                "target_line": (part.target + 1).tolist(),
            }


def mine_lines(
    source: TextSide,
    target: TextSide,
    encoder: Any,
    folder: str | Path,
    *,
    different: bool = False,
    memory: float = 1024,
    progress: bool = False,
    **options: Any,
) -> MinedLines:
    """Find the lines of two texts that mean the same.

    Lines that are equal but for white space around them are one sentence, which stands where it
    came first. Lines without text or without a token the model knows are in no pair. Where both
    texts are the same, every line's best partner is itself: see `different`.

    Args:
        source: One text.
        target: The other.
        encoder: Anything with `encode`.
        folder: Work folder: a copy of the texts, their vectors and the search. What an earlier run
            finished there is used again if texts, model, tokenizer and settings are the same;
            candidates, score and threshold may change. What shows no weights is known by its
            class and its `name`, if it has one.
        different: Never pair a line with an equal one; for paraphrases within one text.
        memory: MB; beside the model, about 200 bytes a line for numbers and the neighbours found.
        progress: Show progress bars.
        **options: Of `bitext.mine`.

    Raises:
        DataError: A line cannot be read, or an option is out of range.
        ModelError: `encode` returns something else than finite vectors.
    """
    folder = Path(folder)
    check_options(**options)
    if memory <= 0:
        raise DataError(f"memory must be more than 0 MB, got {memory:g}")
    own = TextStore.write(folder / "source", source.blocks, source.stamp, progress=progress)
    other = TextStore.write(folder / "target", target.blocks, target.stamp, progress=progress)
    if other.digest == own.digest:
        other = own
    model = f"{weights_hash(encoder)} {tokenizer_hash(getattr(encoder, 'tokenizer', None))}"
    if not has_weights(encoder):
        model += f" {getattr(encoder, 'name', '')}"
    lines = max(1, min(LINES_AT_A_TIME, int(memory * 2**20 / 4 / BYTES_A_LINE)))
    sides = []
    for store, name in ((own, "source"), (other, "target")):
        vectors = store.vectors(encoder, model, lines_at_a_time=lines, progress=progress)
        sides.append(UnitRows(vectors, store.first_of_each(), name))
    skip = other.places_of(own.hashes) if different else None
    pairs = (
        mine(
            *sides,
            skip=skip,
            memory=memory,
            keep=folder / "search.npz",
            key=f"{own.digest} {other.digest} {model}",
            progress=progress,
            **options,
        )
        if len(own) and len(other)
        else Pairs(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64))
    )
    return MinedLines(pairs, own, other)
