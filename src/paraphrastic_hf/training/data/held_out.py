"""Bitext pairs held out of training to measure translation retrieval.

A hash of the text selects them, so they do not depend on the seed and the order of the sources.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import CheckpointError, DataError, refused
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.evaluation.measures.similarity import Encode
from paraphrastic_hf.evaluation.suites.retrieval import judged_translations
from paraphrastic_hf.io.files import read_json, write_json
from paraphrastic_hf.io.pairs import Pair
from paraphrastic_hf.training.data.sources import SourcePairs

MOST = 500  # maximum number of held-out pairs per language pair
SHARE = 20  # hold out at most one in 20 pairs of a language pair
FILE = "held_out.json"
HeldOut = dict[str, list[Pair]]


def hold_out(sources: Sequence[SourcePairs]) -> tuple[list[SourcePairs], HeldOut]:
    """Hold out sentence pairs of each language pair.

    Return the remaining sources, and the held-out pairs by language pair, such as `en-fr`. Pairs
    that share a sentence with a held-out pair, ignoring case, are removed from the sources.
    """
    bitext: dict[str, dict[Pair, None]] = {}
    for item in sources:
        for name, pair, _ in _oriented(item) if item.source.hold_out else ():
            bitext.setdefault(name, {})[pair] = None
    held_out = {name: _chosen(list(pairs)) for name, pairs in bitext.items()}
    if not any(held_out.values()):
        raise DataError(
            f"run.development clean-and-bitext holds out one in {SHARE} pairs of two languages "
            f"(at most {MOST}), but there are too few such pairs. Set languages for each of "
            "data.sources, or set run.development to clean."
        )
    sides = {
        name: [frozenset(pair[side].casefold() for pair in pairs) for side in (0, 1)]
        for name, pairs in held_out.items()
    }
    return [_without(item, sides) for item in sources], {k: v for k, v in held_out.items() if v}


def judged_retrieval(encode: Encode, held_out: HeldOut) -> list[Judged]:
    """Return the retrieval accuracy of each language pair, averaged over both directions."""
    return [
        judged_translations(
            "held out",
            name,
            *(checked_vectors(encode(list(side)), len(pairs)) for side in zip(*pairs, strict=True)),
        )
        for name, pairs in held_out.items()
    ]


def write_held_out(held_out: HeldOut, work: Path) -> None:
    work.mkdir(parents=True, exist_ok=True)
    write_json(work / FILE, held_out)


def read_held_out(work: Path) -> HeldOut:
    fix = "Remove its folder and run the same command again"
    with refused(CheckpointError, f"{work / FILE} is damaged. {fix}"):
        found = read_json(work / FILE)
        return {name: [(first, second) for first, second in pairs] for name, pairs in found.items()}


def _oriented(item: SourcePairs) -> Iterator[tuple[str, Pair, int]]:
    """Yield the languages of each pair, such as `en-fr`, its texts in that order, and its index."""
    first, second = item.source.languages or ("", "")
    if first == second:
        return
    name = "-".join(sorted((first, second)))
    for number, pair in enumerate(item.pairs):
        yield name, pair if first < second else (pair[1], pair[0]), number


def _chosen(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs with the smallest hashes, without repeated sentences."""
    wanted = min(MOST, len(pairs) // SHARE)
    found: list[Pair] = []
    seen: set[tuple[int, str]] = set()
    for pair in sorted(pairs, key=_digest) if wanted else []:
        sides = {(number, side.casefold()) for number, side in enumerate(pair)}
        if len(found) < wanted and not sides & seen:
            found.append(pair)
            seen |= sides
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
