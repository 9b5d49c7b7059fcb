"""Mining of line pairs from text files. Interrupted runs resume from a work folder."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from paraphrastic_hf.encoders.storage.fingerprint import has_weights, identity
from paraphrastic_hf.mining.bitext import PAIRS_AT_A_TIME, Pairs, check_options, mine
from paraphrastic_hf.mining.store import LINES_AT_A_TIME, SEARCH, TextStore
from paraphrastic_hf.mining.vectors import UnitRows
from paraphrastic_hf.text.contract import TextTokenizer

logger = logging.getLogger(__name__)

SAMPLE = 1000  # lines of a side that are checked for known letters
LEAST_KNOWN = 0.5  # unknown scripts measured at most 0.04, known ones at least 0.58
BYTES_A_LINE = 4096  # memory for the text, words and vector of a line during encoding


@dataclass(frozen=True)
class TextSide:
    """One of the two texts of a mining run."""

    blocks: Iterable[list[str]]  # the lines, read at most once
    stamp: str = ""  # identifies the lines, as from `file_stamp`; empty if unknown


@dataclass(frozen=True)
class MinedLines:
    """Mined pairs of line indices, best first, with the lines of both texts."""

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "score", "source", "target", "source_line", "target_line",
    )  # fmt: skip

    pairs: Pairs
    source: TextStore
    target: TextStore

    def rows(self) -> Iterator[dict[str, list[Any]]]:
        """Yield the pairs in blocks, each with the columns `COLUMNS`. Line numbers start at 1."""
        for start in range(0, len(self.pairs.score), PAIRS_AT_A_TIME):
            part = Pairs(*(column[start : start + PAIRS_AT_A_TIME] for column in self.pairs))
            yield {
                "score": part.score.tolist(),
                "source": list(self.source.lines(part.source)),
                "target": list(self.target.lines(part.target)),
                "source_line": (part.source + 1).tolist(),
                "target_line": (part.target + 1).tolist(),
            }


def letters_known(tokenizer: TextTokenizer, texts: Sequence[str]) -> float:
    """Return the share of distinct letters of each text that are part of known tokens, 0 to 1."""
    names, special = tokenizer.tokens(), tokenizer.special.all
    known, total, batch = 0, 0, tokenizer.encode_batch(texts)
    for place, text in enumerate(texts):
        letters = {letter for letter in text.lower() if letter.isalpha()}
        total += len(letters)
        held = {letter for i in set(batch[place].tolist()) - special for letter in names[i].lower()}
        known += len(letters & held)
    return known / total if total else 1.0


def _warn_of_unknown_letters(encoder: Any, store: TextStore, name: str) -> None:
    lines = store.first_of_each()
    tokenizer: Any = getattr(encoder, "tokenizer", None)
    if not len(lines) or not hasattr(tokenizer, "special"):  # another package's model
        return
    some = lines[np.linspace(0, len(lines) - 1, min(len(lines), SAMPLE)).astype(np.int64)]
    known = letters_known(tokenizer, list(store.lines(some)))
    if known < LEAST_KNOWN:
        logger.warning(
            "The model knows only %.0f %% of the letters of the %s side, so its pairs will "
            "be random. Use a model of that language",
            100 * known,
            name,
        )


def mine_lines(
    source: TextSide,
    target: TextSide,
    encoder: Any,
    folder: Path,
    *,
    different: bool = False,
    memory: float = 1024,
    progress: bool = False,
    **options: Any,
) -> MinedLines:
    """Find the lines of two texts that have the same meaning.

    Lines that are equal except for surrounding white space count as one sentence, at the position
    of the first, and never pair with each other if `different` is set. Lines without a token that
    the model knows are in no pair.

    `folder` keeps the texts, the vectors and the state of the search, which a later run with equal
    texts, model and settings reuses. Only `candidates`, `score`, `one_to_one` and `threshold` may
    differ. The caller must lock the folder until the rows of the result have been read. `memory` is
    in megabytes, in addition to the model and about 200 bytes per line. The other options are those
    of `mine`.
    """
    check_options(memory=memory, **options)
    own = TextStore.write(folder / "source", source.blocks, source.stamp, progress=progress)
    other = TextStore.write(folder / "target", target.blocks, target.stamp, progress=progress)
    if other.digest == own.digest:
        other = own
    for store, name in ((own, "source"), (other, "target")):
        _warn_of_unknown_letters(encoder, store, name)
    model = " ".join(identity(encoder).values())
    if not has_weights(encoder):
        model += f" {getattr(encoder, 'name', '')}"
    lines = max(1, min(LINES_AT_A_TIME, int(memory * 2**20 / 4 / BYTES_A_LINE)))
    rows = []
    for store, name in ((own, "source"), (other, "target")):
        vectors = store.vectors(encoder, model, lines_at_a_time=lines, progress=progress)
        rows.append(UnitRows(vectors, store.first_of_each(), name))
    skip = other.places_of(own.hashes) if different else None
    pairs = (
        mine(
            *rows,
            skip=skip,
            memory=memory,
            keep=folder / SEARCH,
            key=f"{own.digest} {other.digest} {model}",
            progress=progress,
            **options,
        )
        if len(own) and len(other)
        else Pairs(np.empty(0, np.float32), np.empty(0, np.int64), np.empty(0, np.int64))
    )
    return MinedLines(pairs, own, other)
