"""Tokenized sentence pairs on disk, memory-mapped: built once a run, read by every process and
resume."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.data.load import builder, find_source, load_dataset
from paraphrastic_hf.data.pairs import Pair, clean_pairs, iterate_rows, rows_of_dataset
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.files import replacing, write_json
from paraphrastic_hf.text.lemmas import lemmatize
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.normalize import keep_apart, normalize
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.arguments import (
    DatasetArguments,
    Recipe,
    SourceArguments,
    dataset_folder,
    resolve_path,
)
from paraphrastic_hf.training.encoder_arguments import EncoderArguments, TokenizerArguments
from paraphrastic_hf.training.exclusions import exclusions

logger = logging.getLogger(__name__)

PAIRS_AT_A_TIME = 20_000
ARRAYS = ("ids", "offsets", "language", "group", "source")


@dataclass(frozen=True)
class SourcePairs:
    """The pairs of one source, as text."""

    source: SourceArguments
    pairs: Sequence[Pair]


@dataclass(frozen=True)
class PairCorpus:
    """Tokenized pairs; pair i is sentences 2i and 2i + 1.

    Attributes:
        sentences: Ids of the 2N sentences.
        language: (2N,) number of each sentence's language.
        group: (2N,) equal for sentences that must not be each other's negatives.
        never: Groups that may not be negatives of each group besides; None if there are none.
        source: (N,) number of each pair's source.
        names: Path of each source.
        weights: Times a pair of each source is seen an epoch.
        swaps: Whether each source's sides are swapped at random.
        languages: Names of the languages, by number.
        start_ids: Ids that begin a text, wherever scrambling puts the others.
        end_ids: Ids that end it.
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
    start_ids: list[int]
    end_ids: list[int]

    def __len__(self) -> int:
        return len(self.source)

    def pairs_in_epoch(self) -> int:
        """Pairs an epoch sees."""
        total = 0
        for number, weight in enumerate(self.weights):
            members = int((self.source == number).sum())
            total += int(weight) * members + round((weight - int(weight)) * members)
        return total

    def epoch_order(self, seed: int, epoch: int, in_file_order: bool = False) -> np.ndarray:
        """First sentence of every pair of an epoch, shuffled unless `in_file_order`; its partner is
        that number XOR 1.

        A function of seed and epoch alone, so that a resumed run sees what the first one would
        have.
        """
        random = np.random.default_rng([seed, epoch])
        drawn = []
        for number, weight in enumerate(self.weights):
            members = np.flatnonzero(self.source == number)
            whole, part = int(weight), weight - int(weight)
            extra = random.choice(members, round(part * len(members)), replace=False)
            drawn += [np.tile(members, whole), np.sort(extra) if in_file_order else extra]
        order = np.concatenate(drawn)
        if not in_file_order:
            random.shuffle(order)
        swapped = np.asarray(self.swaps)[self.source[order]] & (random.random(len(order)) < 0.5)
        return order * 2 + swapped


def read_sources(
    recipe: Recipe,
    data_root: str | Path | None,
    datasets: Iterable[Any] = (),
    *,
    progress: bool = False,
) -> list[SourcePairs]:
    """The text of every source of a recipe, then of every `datasets` object.

    Args:
        recipe: The whole recipe.
        data_root: Folder that its paths start from.
        datasets: Datasets, or `(dataset, SourceArguments)` for one with languages, a cap
            or a weight.
        progress: Show a progress bar.

    Raises:
        DataError: A source is missing, damaged or without a usable pair, or there is none.
    """
    rows: list[tuple[SourceArguments, Iterable[tuple[str, list[str] | str]]]] = []
    for source in recipe.data.sources:
        rows.append(_open_source(source, data_root))
    for number, item in enumerate(datasets):
        default = SourceArguments(path=f"dataset {number}")
        dataset, source = item if isinstance(item, tuple) else (item, default)
        lines = rows_of_dataset(dataset, name=source.name, columns=source.columns)
        rows.append((replace(source, languages=source.languages or ["en", "en"]), lines))
    if not rows:
        raise DataError("there is nothing to train on: name files with --sources, or give datasets")
    found = []
    for source, lines in tqdm(rows, desc="reading", unit=" sources", disable=not progress):
        pairs = clean_pairs(
            lines,
            name=source.name,
            max_pairs=source.max_pairs,
            min_words=recipe.data.min_words,
            max_words=recipe.data.max_words,
            bad_rows=recipe.data.bad_rows,
            seed=recipe.seed,
        )
        found.append(SourcePairs(source, _marked(pairs, source, recipe.tokenizer)))
    return found


def check_dataset(dataset: DatasetArguments, data_root: str | Path | None) -> None:
    """Refuse a corpus, configuration, split, option or folder that is not there; reads no row.

    Raises:
        DataError: One is not.
    """
    folder = dataset_folder(dataset, data_root)
    corpus = builder(dataset.name, dataset.config, data_dir=folder, **dataset.options)
    splits = find_source(dataset.name).configs.get(corpus.config.name)
    if splits is not None and dataset.split not in splits:
        raise DataError(
            f"{dataset.name} {corpus.config.name} has no split {dataset.split!r}; set split to "
            f"{' or '.join(splits)}"
        )


def _open_source(
    source: SourceArguments, data_root: str | Path | None
) -> tuple[SourceArguments, Iterable[tuple[str, list[str] | str]]]:
    """A recipe's source with its languages settled, and its rows."""
    languages = source.languages or ["en", "en"]
    if source.dataset is None:
        second = resolve_path(source.second, data_root) if source.second else None
        path = resolve_path(str(source.path), data_root)
        rows = iterate_rows(path, second=second, columns=source.columns)
        return replace(source, languages=languages), rows
    chosen = source.dataset
    corpus = load_dataset(
        chosen.name,
        chosen.config,
        chosen.split,
        data_dir=dataset_folder(chosen, data_root),
        streaming=True,
        **chosen.options,
    )
    if source.languages is None and find_source(chosen.name).row_type == "bitext":
        languages = list(corpus.features)[:2]
    rows = rows_of_dataset(corpus, name=source.name, columns=source.columns)
    return replace(source, languages=languages), rows


def _marked(
    pairs: list[Pair], source: SourceArguments, tokenizer: TokenizerArguments
) -> list[Pair]:
    apart, lowercase = tokenizer.apart, tokenizer.lowercase
    moved = [language in apart for language in source.languages or ()]
    if not any(moved):
        return pairs
    return [
        (_apart(a, lowercase) if moved[0] else a, _apart(b, lowercase) if moved[1] else b)
        for a, b in pairs
    ]


def _apart(text: str, lowercase: bool) -> str:
    """Normalised first: private characters have no lower case."""
    return keep_apart(normalize(text, lowercase))


def train_tokenizers(
    encoders: Sequence[EncoderArguments], sources: Sequence[SourcePairs], seed: int
) -> TextTokenizer:
    """The tokenizer of an encoder, or those of all parts of a mixture as one."""
    trained = [
        train_tokenizer(
            encoder.tokenizer,
            (side for source in sources for pair in source.pairs for side in pair),
            seed,
        )
        for encoder in encoders
    ]
    return trained[0] if len(trained) == 1 else MixedTokenizer(trained)


def train_tokenizer(
    arguments: TokenizerArguments, lines: Iterable[str], seed: int
) -> TextTokenizer:
    """The tokenizer a recipe asks for, from lines of text.

    Raises:
        DataError: Too little text for the vocabulary.
    """
    shared: dict[str, Any] = {
        "vocab_size": arguments.vocab_size,
        "hard_vocab_limit": arguments.hard_vocab_limit,
        "lowercase": arguments.lowercase,
        "keep_unknown": arguments.keep_unknown,
    }
    tokenizer: TextTokenizer
    if arguments.kind == "sentencepiece":
        tokenizer = SubwordTokenizer.train(
            lines,
            **shared,
            character_coverage=arguments.character_coverage,
            input_sentence_size=arguments.input_sentence_size,
            seed=seed % 2**32,
        )
    elif arguments.kind == "word":
        tokenizer = WordTokenizer.train(lines, **shared)
    elif arguments.kind == "char":
        tokenizer = CharTokenizer.train(lines, **shared)
    else:
        tokenizer = CharNgramTokenizer.train(
            lines,
            **shared,
            orders=arguments.orders,
            padding_mode=arguments.padding_mode,
            spans_spaces=arguments.spans_spaces,
            min_count=arguments.min_count,
            most_per_order=arguments.most_per_order,
        )
    if tokenizer.vocab_size < arguments.vocab_size:
        logger.warning(
            "the text supports %s of the %s entries asked for",
            tokenizer.vocab_size,
            arguments.vocab_size,
        )
    return tokenizer if arguments.marks == "none" else MarkedTokenizer(tokenizer, arguments.marks)


def build_corpus(
    sources: Sequence[SourcePairs],
    tokenizer: TextTokenizer,
    directory: Path,
    *,
    exclude: str = "duplicates",
    progress: bool = False,
) -> PairCorpus:
    """Tokenize all pairs, write the arrays to `directory` (complete or not at all), and map them.

    Pairs with a side of no known token are left out, with a warning.

    Raises:
        DataError: If no pair is left.
    """
    languages = sorted({name for item in sources for name in item.source.languages or ()})
    parts, language, number_of, lemmas = [], [], [], []
    total = sum(len(item.pairs) for item in sources)
    with tqdm(
        total=total, desc="tokenizing", unit=" pairs", unit_scale=True, disable=not progress
    ) as bar:
        for number, item in enumerate(sources):
            sides = [languages.index(name) for name in item.source.languages or ()]
            for pairs in _chunks(item.pairs):
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
                bar.update(len(pairs))
    sentences = Ragged.concatenate(parts)
    lost = total - len(sentences) // 2
    if lost:
        logger.warning("%s pairs left out: a side has no token in the vocabulary", f"{lost:,}")
    if not len(sentences):
        raise DataError("the training set is empty: no pair has a known token on both sides")
    group, never = exclusions(sentences, exclude, Ragged.concatenate(lemmas) if lemmas else None)
    arrays = {
        "ids": sentences.ids,
        "offsets": sentences.offsets,
        "language": np.concatenate(language),
        "group": group,
        "source": np.concatenate(number_of),
    }
    if never is not None:
        arrays |= {"never": never.ids, "never_offsets": never.offsets}
    meta = {
        "names": [item.source.name for item in sources],
        "weights": [item.source.weight for item in sources],
        "swaps": [item.source.swap for item in sources],
        "languages": languages,
        "start_ids": getattr(tokenizer, "start_ids", []),
        "end_ids": getattr(tokenizer, "end_ids", []),
    }
    directory.parent.mkdir(parents=True, exist_ok=True)
    with replacing(directory) as partial:
        partial.mkdir()
        for name, array in arrays.items():
            np.save(partial / f"{name}.npy", array)
        write_json(partial / "meta.json", meta)
    return load_corpus(directory)


def load_corpus(directory: Path) -> PairCorpus:
    """Map a corpus that `build_corpus` wrote."""
    arrays = {name: np.load(directory / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
    meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
    sentences, never = Ragged(arrays["ids"], arrays["offsets"]), None
    if (directory / "never.npy").exists():
        never = Ragged(np.load(directory / "never.npy"), np.load(directory / "never_offsets.npy"))
    return PairCorpus(
        sentences,
        np.asarray(arrays["language"]),
        np.asarray(arrays["group"]),
        never,
        np.asarray(arrays["source"]),
        meta["names"],
        meta["weights"],
        meta["swaps"],
        meta["languages"],
        meta["start_ids"],
        meta["end_ids"],
    )


def _chunks(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    for start in range(0, len(pairs), PAIRS_AT_A_TIME):
        yield pairs[start : start + PAIRS_AT_A_TIME]


def _select_pairs(ids: Ragged, pairs: np.ndarray) -> Ragged:
    if 2 * len(pairs) == len(ids):
        return ids
    return ids.select(np.add.outer(2 * pairs, [0, 1]).reshape(-1))
