"""Pairs of bitext that a run holds out of its training, to see how well translations are found.

They are chosen by a hash of their text, so among the same pairs they are the same whatever the seed
and the order of the sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import CheckpointError, DataError
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.evaluation.measures.similarity import Encode
from paraphrastic_hf.evaluation.suites.retrieval import judged_translations
from paraphrastic_hf.io.files import read_json, write_json
from paraphrastic_hf.io.pairs import Pair
from paraphrastic_hf.training.data.sources import SourcePairs

MOST = 500  # pairs of each two languages
SHARE = 20  # and at most one in so many of their pairs
FILE = "held_out.json"
HeldOut = dict[str, list[Pair]]


def hold_out(sources: Sequence[SourcePairs]) -> tuple[list[SourcePairs], HeldOut]:
    """Take pairs of each two languages out of the sources.

    A pair that shares a sentence with one of them, but for case, is left out of training too, also
    in sources that none is taken of (`hold_out: false`).

    Returns:
        The sources without them, and the pairs held out, by their languages, such as `en-fr`. A
        pair is in the order of these names.
    """
    bitext: dict[str, dict[Pair, None]] = {}
    for item in sources:
        for name, pair, _ in _oriented(item) if item.source.hold_out else ():
            bitext.setdefault(name, {})[pair] = None
    held_out = {name: _chosen(list(pairs)) for name, pairs in bitext.items()}
    if not any(held_out.values()):
        raise DataError(
            "development clean-and-bitext holds out a twentieth of the pairs of two languages, at "
            f"most {MOST}, and the sources have too few or none: name the languages of sources, or "
            "take development clean"
        )
    sides = {
        name: [frozenset(pair[side].casefold() for pair in pairs) for side in (0, 1)]
        for name, pairs in held_out.items()
    }
    return [_without(item, sides) for item in sources], {k: v for k, v in held_out.items() if v}


def judged_retrieval(encode: Encode, held_out: HeldOut) -> list[Judged]:
    """How often the nearest sentence is the translation, as the mean of both directions, for each
    two languages.

    Args:
        encode: A function from texts to vectors, (texts, dim).
    """
    found = []
    for name, pairs in held_out.items():
        vectors = [
            checked_vectors(encode(list(side)), len(pairs)) for side in zip(*pairs, strict=True)
        ]
        found.append(judged_translations("held out", name, *vectors))
    return found


def write_held_out(held_out: HeldOut, work: Path) -> None:
    """Keep the pairs for a run that resumes."""
    work.mkdir(parents=True, exist_ok=True)
    write_json(work / FILE, held_out)


def read_held_out(work: Path) -> HeldOut:
    """The pairs that `write_held_out` kept."""
    path = work / FILE
    try:
        found = read_json(path)
        return {name: [(first, second) for first, second in pairs] for name, pairs in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path}, the pairs held out of training, is damaged ({error}); remove that folder and "
            "run the same command again"
        ) from error


def _oriented(item: SourcePairs) -> Iterator[tuple[str, Pair, int]]:
    """The name of the languages, the pair in the order of the name, and the pair's number; nothing
    of a source in one language."""
    first, second = item.source.languages or ("", "")
    if first == second:
        return
    name = "-".join(sorted((first, second)))
    for number, pair in enumerate(item.pairs):
        yield name, pair if first < second else (pair[1], pair[0]), number


def _chosen(pairs: list[Pair]) -> list[Pair]:
    """The pairs of the smallest hashes, no sentence twice."""
    wanted = min(MOST, len(pairs) // SHARE)
    found: list[Pair] = []
    seen: tuple[set[str], set[str]] = set(), set()
    for pair in sorted(pairs, key=_digest) if wanted else []:
        sides = [side.casefold() for side in pair]
        if len(found) < wanted and not any(map(set.__contains__, seen, sides)):
            found.append(pair)
            for of_side, side in zip(seen, sides, strict=True):
                of_side.add(side)
    return found


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b("\t".join(pair).casefold().encode(), digest_size=8).digest()


def _without(item: SourcePairs, sides: dict[str, list[frozenset[str]]]) -> SourcePairs:
    dropped = {
        number
        for name, (a, b), number in _oriented(item)
        if name in sides and (a.casefold() in sides[name][0] or b.casefold() in sides[name][1])
    }
    if not dropped:
        return item
    kept = [number for number in range(len(item.pairs)) if number not in dropped]
    return replace(
        item,
        pairs=[item.pairs[number] for number in kept],
        beside={name: [of[number] for number in kept] for name, of in item.beside.items()},
    )
