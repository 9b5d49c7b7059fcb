"""Read the sentence pairs of a recipe's sources."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.load import builder, find_source
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.lines import raw_lines
from paraphrastic_hf.io.pairs import (
    Pair,
    Row,
    clean_pairs,
    has_named_columns,
    iterate_rows,
    rows_of_dataset,
)
from paraphrastic_hf.text.normalize import keep_apart, normalize
from paraphrastic_hf.training.encoder.settings import TokenizerArguments
from paraphrastic_hf.training.engine.paths import (
    dataset_folder,
    named_texts,
    open_dataset,
    resolve_path,
)
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    DatasetArguments,
    PairsArguments,
    SourceArguments,
    refuse_ignored,
)

logger = logging.getLogger(__name__)

FEW_PAIRS = 100
NOTHING = "No training data. Set --data.sources, or pass datasets."


@dataclass(frozen=True)
class SourcePairs:
    source: SourceArguments
    pairs: Sequence[Pair]
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)  # one value per pair


def sides_of(sources: Iterable[SourcePairs]) -> Iterator[str]:
    """Yield both sentences of every pair."""
    return (side for source in sources for pair in source.pairs for side in pair)


def check_sources(recipe: Any, data_root: str | Path | None) -> None:
    """Raise an error if a text or corpus of a recipe is missing, or a file is empty or UTF-16.

    It needs no torch, so that a command can call it before slow imports.
    """
    for name in named_texts(recipe):
        path = resolve_path(name, data_root)
        if has_named_columns(path):
            continue
        with closing(raw_lines(path)) as lines:
            if not any(raw.strip() for _, raw in lines):
                raise DataError(f"{path} contains no text")
    for source in recipe.data.sources if hasattr(recipe, "data") else ():
        if source.dataset is not None:
            check_dataset(source.dataset, data_root)


def check_datasets(datasets: Iterable[Any]) -> None:
    """Raise an error unless `datasets` is a list of datasets. No rows are read."""
    is_one = hasattr(datasets, "column_names") or isinstance(datasets, (Mapping, str))
    given = datasets if isinstance(datasets, Sequence) else ()
    pairs = [item if isinstance(item, tuple) else (item, SourceArguments()) for item in given]
    are_datasets = all(
        len(pair) == 2
        and isinstance(pair[0], Iterable)
        and not isinstance(pair[0], str)
        and isinstance(pair[1], SourceArguments)
        for pair in pairs
    )
    if is_one or not isinstance(datasets, Iterable) or not are_datasets:
        raise TypeError(
            "datasets must be a list of datasets, or of tuples (dataset, SourceArguments(...)): "
            f"datasets=[...]. Got {repr(datasets)[:60]}"
        )


def read_sources(
    recipe: Any,
    data_root: str | Path | None,
    datasets: Iterable[Any] = (),
    *,
    progress: bool = False,
) -> list[SourcePairs]:
    """Read the pairs of a recipe's sources, then of `datasets`.

    `datasets` may contain tuples `(dataset, SourceArguments)`.
    """
    data: DataArguments = recipe.data
    given: list[tuple[SourceArguments, Any]] = [(source, None) for source in data.sources]
    for number, item in enumerate(datasets):
        default = SourceArguments(path=f"dataset {number}")
        dataset, source = item if isinstance(item, tuple) else (item, default)
        refuse_ignored(source, data.ignored)
        given.append((source, dataset))
    if not given:
        raise DataError(NOTHING)
    found = []
    for source, dataset in tqdm(given, desc="reading", unit=" sources", disable=not progress):
        languages, rows = open_source(
            source, data_root, name=source.name, beside=source.beside_columns, dataset=dataset
        )
        pairs = clean_pairs(
            rows,
            name=source.name,
            max_pairs=source.max_pairs,
            min_words=data.min_words,
            max_words=data.max_words,
            bad_rows=data.bad_rows,
            max_bad_rows=data.max_bad_rows,
            seed=recipe.seed,
            beside=len(source.beside),
        )
        beside = {name: [row[2 + n] for row in pairs] for n, name in enumerate(source.beside)}
        texts = [row[:2] for row in pairs] if beside else pairs
        named = replace(source, languages=languages)
        found.append(SourcePairs(named, _marked(texts, named, recipe.tokenizer), beside))
    count = sum(len(item.pairs) for item in found)
    if count < FEW_PAIRS:
        logger.warning(
            "Only %s to train on. Good models require at least a few thousand.",
            counted(count, "pair"),
        )
    return found


def with_development(recipe: Any) -> Any:
    """Return the recipe, with its development file (if any) as an additional last source."""
    name = recipe.run.development
    if not names_file(name):
        return recipe
    first = next(iter(recipe.data.sources), SourceArguments())
    form = {key: getattr(first, key) for key in ("languages", "columns", "beside")}
    sources = [*recipe.data.sources, SourceArguments(path=name, **form)]
    return replace(recipe, data=replace(recipe.data, sources=sources))


def read_sentences(
    recipe: Any,
    data_root: str | Path | None,
    datasets: Iterable[Any] = (),
    *,
    progress: bool = False,
) -> list[str]:
    """Return the distinct sentences of all sources in the language `data.language`, in order."""
    wanted = recipe.data.language
    sources = read_sources(recipe, data_root, datasets, progress=progress)
    found = dict.fromkeys(
        pair[side]
        for item in sources
        for side, name in enumerate(item.source.languages or ())
        if name == wanted
        for pair in item.pairs
    )
    if not found:
        named = sorted({name for item in sources for name in item.source.languages or ()})
        raise DataError(
            f"No source has sentences in {wanted!r}. Set data.language to one of "
            f"{', '.join(named)}, or set languages for each of data.sources."
        )
    return list(found)


def check_dataset(dataset: DatasetArguments, data_root: str | Path | None) -> None:
    """Raise an error if a corpus, or its configuration, split, option or folder, does not exist."""
    folder = dataset_folder(dataset, data_root)
    corpus = builder(dataset.name, dataset.config, data_dir=folder, **dataset.options)
    splits = find_source(dataset.name).configs.get(corpus.config.name)
    if splits is not None and dataset.split not in splits:
        raise DataError(
            f"{dataset.name} {corpus.config.name} has no split {dataset.split!r}. Set the key "
            f"`split` of this dataset to {' or '.join(splits)}."
        )


def open_source(
    source: PairsArguments,
    data_root: str | Path | None,
    *,
    name: str,
    beside: Sequence[str] = (),
    dataset: Any = None,
) -> tuple[list[str], Iterator[Row]]:
    """Return the languages and the rows of a source, or of a `dataset` that it describes."""
    languages, columns, chosen = source.languages, source.columns, source.dataset
    if dataset is None and chosen is None:
        second = resolve_path(source.second, data_root) if source.second else None
        path = resolve_path(str(source.path), data_root)
        return languages or ["en", "en"], iterate_rows(
            path, second=second, columns=columns, beside=beside
        )
    if dataset is None and chosen is not None:
        dataset = open_dataset(chosen, chosen.split, data_root)
        if languages is None and find_source(chosen.name).row_type == "bitext":
            languages = list(dataset.features)[:2]
    rows = rows_of_dataset(dataset, name=name, columns=columns, beside=beside)
    return languages or ["en", "en"], rows


def _marked(
    pairs: list[Pair], source: SourceArguments, tokenizer: TokenizerArguments
) -> list[Pair]:
    def mark(text: str) -> str:
        # `keep_apart` maps to private characters, which cannot be lowercased later.
        return keep_apart(normalize(text, tokenizer.lowercase))

    is_marked = [language in tokenizer.apart for language in source.languages or ()]
    if not any(is_marked):
        return pairs
    return [(mark(a) if is_marked[0] else a, mark(b) if is_marked[1] else b) for a, b in pairs]
