"""A corpus as parquet files with a card: what plain `datasets.load_dataset` reads, local or on the
Hub."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.data.card import dataset_card
from paraphrastic_hf.data.load import find_source, load_dataset
from paraphrastic_hf.errors import DataError, MissingFileError

ROWS_AT_A_TIME = 10_000
ROWS_PER_FILE = 1_000_000


def export(
    name: str,
    output: str | Path,
    *,
    configs: Sequence[str] | None = None,
    data_dir: str | Path | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, dict[str, int]]:
    """Write a corpus as parquet with a README whose `configs:` name the files.

    Rows are streamed: memory does not grow with the corpus. Each configuration's folder is written
    under a temporary name and renamed.

    Args:
        name: Of the corpus.
        output: Folder; made, or added to.
        configs: Configurations to write; all whose files are at hand if None.
        data_dir: As `load_dataset` takes it.
        progress: Show a progress bar.
        **options: Of the corpus.

    Returns:
        Rows written, by configuration and split.

    Raises:
        DataError: As `load_dataset`; or no configuration's files are at hand.

    Example:
        >>> export("sts", "sts-parquet", data_dir="DATA/eval")  # doctest: +SKIP
    """
    source = find_source(name)
    wanted = list(configs or source.configs)
    if not wanted:
        raise DataError(f"{name} needs a configuration: two language codes, such as en-fr")
    output = Path(output)
    counts: dict[str, dict[str, int]] = {}
    absent: list[MissingFileError] = []
    for config in tqdm(wanted, desc=name, unit=" configurations", disable=not progress):
        folder, part = output / config, output / f"{config}.part"
        shutil.rmtree(part, ignore_errors=True)
        try:
            splits = load_dataset(name, config, data_dir=data_dir, streaming=True, **options)
            counts[config] = {
                split: _write(rows, part, str(split)) for split, rows in splits.items()
            }
        except MissingFileError as error:
            shutil.rmtree(part, ignore_errors=True)
            if configs or data_dir is None:
                raise
            absent.append(error)
            continue
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(part, folder)
    if not counts:
        raise absent[0]
    card = output / "README.md.part"
    card.write_text(dataset_card(source, counts, has_files=True), encoding="utf-8")
    os.replace(card, output / "README.md")
    return counts


def push(name: str, folder: str | Path, repository: str, *, public: bool = False) -> str:
    """Upload an exported folder to a dataset repository on the Hub.

    Args:
        name: Of the corpus.
        folder: What `export` wrote.
        repository: Such as `me/sts`.
        public: Make the repository public; private otherwise.

    Returns:
        The repository's address.

    Raises:
        DataError: The corpus's licence does not allow a public copy, or it is no export.
    """
    from huggingface_hub import HfApi

    if public and not find_source(name).may_share:
        raise DataError(f"the licence of {name} does not allow publishing it; push it as private")
    if not (Path(folder) / "README.md").is_file():
        raise DataError(f"{folder} is no export; write it with `paraphrastic data export {name}`")
    api = HfApi()
    address = api.create_repo(repository, repo_type="dataset", private=not public, exist_ok=True)
    api.upload_folder(repo_id=repository, folder_path=str(folder), repo_type="dataset")
    return str(address)


def _write(rows: Any, folder: Path, split: str) -> int:
    """Rows of one split in numbered parquet files; how many there were."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    schema = rows.features.arrow_schema
    count, number, writer = 0, 0, None
    try:
        for batch in _batches(rows):
            if writer is None:
                writer = pq.ParquetWriter(folder / f"{split}-{number:05d}.parquet", schema)
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            count += len(batch)
            if count >= (number + 1) * ROWS_PER_FILE:
                writer.close()
                writer, number = None, number + 1
    finally:
        if writer is not None:
            writer.close()
    return count


def _batches(rows: Iterable[Any]) -> Iterable[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch
