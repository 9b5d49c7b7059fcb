"""Load a corpus by name: `load_dataset("sts", "sts14", data_dir=...)`."""

import importlib
import os
import re
from pathlib import Path
from typing import Any, get_type_hints

from paraphrastic_hf.config.recipe import convert
from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.sources import SOURCES, Source
from paraphrastic_hf.errors import DataError, RecipeError, nearest_name, refuse_keywords, refused
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.download import snapshot

DATA_ROOT_VARIABLE = "PARAPHRASTIC_DATA"
# Fields of every `datasets.BuilderConfig`. They are not options of a corpus.
STOCK_FIELDS = frozenset(("name", "version", "data_dir", "data_files", "description"))


def load_dataset(
    name: str,
    config: str | None = None,
    split: str | None = None,
    *,
    data_dir: str | Path | None = None,
    streaming: bool = False,
    **options: Any,
) -> Any:
    """Load a corpus of the papers as a `datasets` object.

    Args:
        name: Name of a corpus, such as `sts` (`paraphrastic data list` shows all names), or of a
            dataset repository on the Hub, such as `someone/sts`.
        config: Name of a configuration, such as `sts14`. The corpus's first configuration if None.
        split: Name of a split, such as `test`, or, unless streaming, a slice such as `train[:1%]`.
            All splits if None.
        data_dir: Folder of the official files, or of many corpora. If None, the folder in the
            environment variable PARAPHRASTIC_DATA is used if it has the corpus. If not, the files
            are downloaded to the cache and verified.
        streaming: Read rows on demand and write nothing.
        **options: Options of the corpus, such as `min_score=0.5` for `paranmt`, and `cache_dir`.
            For a Hub repository: `revision`, `token`, `cache_dir` and `local_files_only`.

    Returns:
        A `Dataset` for one split, a `DatasetDict` for all splits. `IterableDataset` and
        `IterableDatasetDict` if streaming.

    Raises:
        DataError: The corpus, configuration, split or option does not exist, a file is missing,
            damaged or malformed (the message names file and line), or a download failed.

    Example:
        >>> from paraphrastic_hf import load_dataset
        >>> pairs = load_dataset("sts", "sts14", split="test", data_dir="DATA/eval")
        ... # doctest: +SKIP
    """
    require("data", "datasets", what=f"the corpus {name}")
    import datasets

    if "/" in name:
        if data_dir is not None:
            raise DataError(f"data_dir has no effect on the Hub repository {name}. Omit it")
        return _from_hub(name, config, split, streaming=streaming, **options)
    if data_dir is None and (root := os.environ.get(DATA_ROOT_VARIABLE)):
        data_dir = corpus_folder(find_source(name), root)
    corpus = builder(name, config, data_dir=data_dir, **options)
    try:
        if streaming:
            return corpus.as_streaming_dataset(split=split)
        corpus.download_and_prepare()
        return corpus.as_dataset(split=split)
    except datasets.exceptions.DatasetGenerationError as error:
        cause = error.__cause__
        if isinstance(cause, (DataError, OSError)):
            raise cause from None
        raise
    except ValueError as error:
        if isinstance(error, DataError) or "split" not in str(error).lower():
            raise
        raise DataError(f"{name}: {error}") from error


def _from_hub(
    name: str,
    config: str | None,
    split: str | None,
    *,
    streaming: bool,
    revision: str | None = None,
    token: str | bool | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
    **unknown: Any,
) -> Any:
    """Load all files of a dataset repository from one commit."""
    import datasets

    refuse_keywords(unknown, _from_hub)
    cache = None if cache_dir is None else str(cache_dir)
    with refused(DataError, f"Cannot load the dataset {name}"):
        if streaming:
            return datasets.load_dataset(
                name, config, split=split, revision=revision, token=token, streaming=True
            )
        folder = snapshot(
            name,
            "dataset",
            revision=revision,
            token=token,
            cache_dir=cache,
            local_files_only=local_files_only,
        )
        return datasets.load_dataset(str(folder), config, split=split, cache_dir=cache)


def builder(
    name: str, config: str | None = None, *, data_dir: str | Path | None = None, **options: Any
) -> Any:
    source = find_source(name)
    if config is not None and source.configs and config not in source.configs:
        raise DataError(f"{name} has no config {config!r}. {nearest_name(config, source.configs)}")
    if not source.configs and not re.fullmatch(r"\w+-\w+", config or ""):
        raise DataError(
            f"{name} requires a configuration of two languages, such as en-fr, got {config!r}"
        )
    cls = builder_class(source)
    known = {"cache_dir", *cls.BUILDER_CONFIG_CLASS.__dataclass_fields__} - STOCK_FIELDS
    for option in options:
        if option not in known:
            raise DataError(
                f"{name} has no option {option!r}. {nearest_name(option, sorted(known))}"
            )
    hints = get_type_hints(cls.BUILDER_CONFIG_CLASS)
    try:
        options = {k: convert(hints[k], v, k) if k in hints else v for k, v in options.items()}
    except RecipeError as error:
        raise DataError(f"{name}: {error}") from error
    if data_dir is not None:
        options["data_dir"] = str(data_dir)
    return cls(source, config, **options)


def builder_class(source: Source) -> Any:
    require("data", "datasets", what=f"the corpus {source.name}")
    module, _, attribute = source.builder.partition(":")
    return getattr(importlib.import_module(f"paraphrastic_hf.corpora.readers.{module}"), attribute)


def find_source(name: str) -> Source:
    if name not in SOURCES:
        raise DataError(f"No corpus named {name!r}. {nearest_name(name, SOURCES)}")
    return SOURCES[name]
