"""Memory-mapped tokenized text, built once per run and read by all processes.

A corpus is a folder of named columns, which contain numbers or the token ids of texts.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components
from tqdm.auto import tqdm

from paraphrastic_hf.errors import CheckpointError, DataError, counted, refused
from paraphrastic_hf.io.files import read_json, replacing, write_json
from paraphrastic_hf.text.contract import SpecialIds, TextTokenizer
from paraphrastic_hf.text.overlap import lemmatize
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.sources import SourcePairs

logger = logging.getLogger(__name__)

PAIRS_AT_A_TIME = 20_000
META = "meta.json"
BESIDE = "beside."  # prefix for the names of columns in `PairCorpus.beside`
Column = np.ndarray | Ragged


def write_columns(directory: Path, columns: Mapping[str, Column], meta: Mapping[str, Any]) -> None:
    """Write named columns and metadata to a folder, which is replaced atomically."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with replacing(directory) as partial:
        partial.mkdir()
        for name, column in columns.items():
            if isinstance(column, Ragged):
                np.save(partial / f"{name}.npy", column.ids)
                np.save(partial / f"{name}.offsets.npy", column.offsets)
            else:
                np.save(partial / f"{name}.npy", column)
        write_json(partial / META, {**meta, "columns": list(columns)})


def read_columns(directory: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Memory-map the columns that `write_columns` wrote. Return them with the metadata."""
    columns: dict[str, Column] = {}
    with refused(CheckpointError, f"{directory} is damaged. Remove it and run the command again"):
        meta = read_json(directory / META)
        for name in meta.pop("columns"):
            array = np.load(directory / f"{name}.npy", mmap_mode="r")
            offsets = directory / f"{name}.offsets.npy"
            columns[name] = (
                Ragged(array, np.load(offsets, mmap_mode="r")) if offsets.exists() else array
            )
    return columns, meta


def has_columns(directory: Path) -> bool:
    """Return whether a folder contains a corpus."""
    return (directory / META).exists()


@dataclass(frozen=True)
class PairCorpus:
    """Tokenized sentence pairs. Pair i consists of sentences 2i and 2i + 1.

    Attributes:
        sentences: Token ids of the 2N sentences.
        language: Index of each sentence's language, (2N,).
        group: Group of each sentence, (2N,). Sentences of a group are never negatives of each
            other.
        never: For each group, other groups that are never negatives of its sentences. None if there
            are no such groups.
        source: Index of each pair's source, (N,).
        names: Path of each source.
        weights: Number of times that each source's pairs are used per epoch.
        swaps: Whether the sides of each source's pairs are swapped at random.
        languages: Names of the languages, by index.
        beside: Additional columns by name (`SourceArguments.beside`): (N,) float32 if all values
            are numbers, else the token ids of N texts. Missing values are NaN or an empty text.
    """

    sentences: Ragged
    language: np.ndarray
    group: np.ndarray
    never: Ragged | None
    source: np.ndarray
    names: list[str]
    weights: list[float]
    swaps: list[bool]
    languages: list[str]
    special: SpecialIds
    beside: Mapping[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def pairs_in_epoch(self) -> int:
        return size_of_epoch(self.source, self.weights)

    def evened(self, exponent: float) -> PairCorpus:
        """Return a corpus whose source weights balance the language pairs.

        The share of a language pair becomes proportional to its number of pairs to the power of
        `exponent`: 1 changes nothing, 0 makes all shares equal. An epoch keeps its length, and
        sources in the same languages keep their relative weights.
        """
        if exponent == 1:
            return self
        present, first, members = np.unique(self.source, return_index=True, return_counts=True)
        languages = np.sort(self.language.reshape(-1, 2)[first], 1)
        _, group = np.unique(languages, axis=0, return_inverse=True)
        group = group.reshape(-1)
        seen = np.bincount(group, np.asarray(self.weights)[present] * members)
        if not seen.any():
            return self
        wanted = seen.sum() * language_shares(seen, exponent)
        factors = wanted / np.where(seen > 0, seen, 1)
        weights = list(self.weights)
        for number, own in zip(present.tolist(), group.tolist(), strict=True):
            weights[number] *= float(factors[own])
        return replace(self, weights=weights)

    def epoch_order(self, seed: int, epoch: int, in_file_order: bool = False) -> np.ndarray:
        """Return the pairs of an epoch, as the index of each pair's first sentence.

        If a source swaps sides, the first sentence may be from either side. The other sentence of
        the pair with index i has index i ^ 1.
        """
        random = np.random.default_rng([seed, epoch])
        order = seen_in_epoch(self.source, self.weights, random, in_file_order)
        if not in_file_order:
            random.shuffle(order)
        swapped = np.asarray(self.swaps)[self.source[order]] & (random.random(len(order)) < 0.5)
        return order * 2 + swapped


def count_by_source(corpus: Any) -> dict[str, int]:
    """Return the number of examples of each source, by name."""
    counts = np.bincount(corpus.source, minlength=len(corpus.names))
    return dict(zip(corpus.names, counts.tolist(), strict=True))


def language_shares(counts: np.ndarray, exponent: float) -> np.ndarray:
    """Return shares of language pairs, proportional to their counts to the power of `exponent`.

    Language pairs without pairs get share 0. `counts` are not all 0.
    """
    weights = np.where(counts > 0, np.where(counts > 0, counts, 1) ** float(exponent), 0.0)
    return weights / weights.sum()


def size_of_epoch(source: np.ndarray, weights: Sequence[float]) -> int:
    """Return the length of the result of `seen_in_epoch`."""
    members = np.bincount(source, minlength=len(weights)).tolist()
    return sum(
        int(weight) * count + round((weight - int(weight)) * count)
        for weight, count in zip(weights, members, strict=True)
    )


def seen_in_epoch(
    source: np.ndarray,
    weights: Sequence[float],
    random: np.random.Generator,
    in_file_order: bool = False,
) -> np.ndarray:
    """Return the indices of the examples in an epoch, source by source.

    A weight of 1.5 uses all examples of a source once and a random half twice.
    """
    drawn = []
    for number, weight in enumerate(weights):
        members = np.flatnonzero(source == number)
        whole, part = int(weight), weight - int(weight)
        extra = random.choice(members, round(part * len(members)), replace=False)
        drawn += [np.tile(members, whole), np.sort(extra) if in_file_order else extra]
    return np.concatenate(drawn)


def build_corpus(
    sources: Sequence[SourcePairs],
    tokenizer: TextTokenizer,
    directory: Path,
    *,
    exclude: str = "duplicates",
    progress: bool = False,
) -> PairCorpus:
    """Tokenize all pairs, write them to `directory` and memory-map them.

    A pair is left out, with a warning, if a side has no known token.
    """
    languages = sorted({name for item in sources for name in item.source.languages or ()})
    parts, language, number_of, lemmas = [], [], [], []
    beside: dict[str, list[str]] = {name: [] for item in sources for name in item.beside}
    total = sum(len(item.pairs) for item in sources)
    with tqdm(
        total=total, desc="tokenizing", unit=" pairs", unit_scale=True, disable=not progress
    ) as bar:
        for number, item in enumerate(sources):
            sides = [languages.index(name) for name in item.source.languages or ()]
            for start in range(0, len(item.pairs), PAIRS_AT_A_TIME):
                pairs = item.pairs[start : start + PAIRS_AT_A_TIME]
                sides_of_pairs = [side for pair in pairs for side in pair]
                ids = tokenizer.encode_batch(sides_of_pairs)
                lengths = np.diff(ids.offsets).reshape(-1, 2)
                known = np.flatnonzero(lengths.min(1) > 0)
                parts.append(_select_pairs(ids, known))
                if exclude == "partners_and_lemmas":
                    of_sides = tokenizer.encode_batch(lemmatize(sides_of_pairs))
                    lemmas.append(_select_pairs(of_sides, known))
                language.append(np.tile(np.asarray(sides, np.int16), len(known)))
                number_of.append(np.full(len(known), number, np.int16))
                for name, values in beside.items():
                    own = item.beside.get(name)
                    values += ["" if own is None else own[start + row] for row in known.tolist()]
                bar.update(len(pairs))
    sentences = Ragged.concatenate(parts)
    lost = total - len(sentences) // 2
    if lost:
        logger.warning("Skipped %s: a side has no token in the vocabulary", counted(lost, "pair"))
    if not len(sentences):
        raise DataError("The training set is empty: no pair has a known token on both sides")
    group, never = exclusions(sentences, exclude, Ragged.concatenate(lemmas) if lemmas else None)
    columns: dict[str, Column] = {
        "sentences": sentences,
        "language": np.concatenate(language),
        "group": group,
        "source": np.concatenate(number_of),
    }
    if never is not None:
        columns["never"] = never
    for name, values in beside.items():
        columns[BESIDE + name] = _column(values, tokenizer)
    meta = {
        "names": [item.source.name for item in sources],
        "weights": [item.source.weight for item in sources],
        "swaps": [item.source.swap for item in sources],
        "languages": languages,
        "special": asdict(tokenizer.special),
    }
    write_columns(directory, columns, meta)
    return load_corpus(directory)


def exclusions(
    sentences: Ragged, exclude: str, lemmas: Ragged | None = None
) -> tuple[np.ndarray, Ragged | None]:
    """Group sentences so that two sentences of one group are never negatives of each other.

    * `duplicates`: a group contains all sentences with equal ids.
    * `clusters`: a group contains all sentences that a chain of pairs connects.
    * `partners`: as `duplicates`. In addition, partners of a group's sentences are never negatives
      of the group.
    * `partners_and_lemmas`: as `partners`. In addition, sentences that equal the `lemmas` of a
      partner are never negatives of the group (thesis, 3.5.1).

    Pair i consists of sentences 2i and 2i + 1. `exclude` is the recipe key `training.exclude`.
    Return the group of each sentence, and, for `partners` and `partners_and_lemmas`, the other
    groups that are never negatives of each group.
    """
    keys = _keys(sentences)
    if exclude == "duplicates":
        return keys, None
    unique, node = np.unique(keys, return_inverse=True)
    if exclude == "clusters":
        links = _links(node[::2], node[1::2], len(unique))
        return np.asarray(connected_components(links, directed=False)[1][node], np.int64), None
    partner = node.reshape(-1, 2)[:, ::-1].reshape(-1)
    anchors, barred = [node], [partner]
    if lemmas is not None:
        key = _keys(lemmas).reshape(-1, 2)[:, ::-1].reshape(-1)  # each partner's lemmas
        place = np.searchsorted(unique, key).clip(max=len(unique) - 1)
        is_in_corpus = unique[place] == key
        anchors, barred = [*anchors, node[is_in_corpus]], [*barred, place[is_in_corpus]]
    links = _links(np.concatenate(anchors), np.concatenate(barred), len(unique))
    return node.astype(np.int64), Ragged(links.indices, links.indptr.astype(np.int64))


def _links(first: np.ndarray, second: np.ndarray, count: int) -> csr_matrix:
    """Return the (count, count) adjacency matrix of groups."""
    return coo_matrix((np.ones(len(first), bool), (first, second)), (count, count)).tocsr()


def _keys(sentences: Ragged) -> np.ndarray:
    """Return a hash of each sentence's ids, (sentences,) int64."""
    digests = (
        hashlib.blake2b(sentences[row].tobytes(), digest_size=8).digest()
        for row in range(len(sentences))
    )
    return np.fromiter(
        (int.from_bytes(d, "little", signed=True) for d in digests), np.int64, len(sentences)
    )


def load_corpus(directory: Path) -> PairCorpus:
    """Memory-map a corpus that `build_corpus` wrote."""
    columns, meta = read_columns(directory)
    special = meta.pop("special")
    for marks in ("start", "end"):
        special[marks] = tuple(special[marks])  # JSON has only lists
    return PairCorpus(
        columns["sentences"],
        np.asarray(columns["language"]),
        np.asarray(columns["group"]),
        columns.get("never"),
        np.asarray(columns["source"]),
        special=SpecialIds(**special),
        beside={
            name.removeprefix(BESIDE): column
            for name, column in columns.items()
            if name.startswith(BESIDE)
        },
        **meta,
    )


def hold_out_pairs(
    groups: np.ndarray, count: int, seed: int, chosen: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of held-out pairs, shuffled, and of pairs that share no sentence with them.

    The held-out pairs are `chosen`, else `count` random pairs. `groups` are the groups of the
    sentences, (pairs, 2). Equal sentences are in one group.

    Example:
        >>> groups = np.array([[0, 1], [2, 3], [0, 4], [5, 6]])
        >>> chosen, kept = hold_out_pairs(groups, 1, seed=1)
        >>> np.isin(groups[kept], groups[chosen]).any()
        np.False_
    """
    if chosen is None:
        chosen = np.sort(np.random.default_rng([seed, 4]).permutation(len(groups))[:count])
    else:
        count = 0
    rest = np.setdiff1d(np.arange(len(groups)), chosen)
    barred = np.isin(groups[rest], np.unique(groups[chosen])).any(1)
    kept = rest[~barred]
    if len(kept) < max(1, count):
        fix = f"Lower data.held_out ({count:,}) or add" if count else "Add"
        raise DataError(
            f"Only {counted(len(kept), 'pair')} of {len(groups):,} are left to train on, fewer "
            f"than the required {max(1, count):,}. {fix} training pairs."
        )
    return np.random.default_rng([seed, 5]).permutation(chosen), kept


def _column(values: Sequence[str], tokenizer: TextTokenizer) -> Column:
    """Convert a column to numbers if all values are numbers or missing, else to token ids."""
    try:
        return np.array([float(value) if value else np.nan for value in values], np.float32)
    except ValueError:
        return tokenizer.encode_batch(values)


def _select_pairs(ids: Ragged, pairs: np.ndarray) -> Ragged:
    if 2 * len(pairs) == len(ids):
        return ids
    return ids.select(np.add.outer(2 * pairs, [0, 1]).reshape(-1))
