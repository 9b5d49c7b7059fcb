"""Export of a corpus as parquet files with a card, readable by `datasets.load_dataset`."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from paraphrastic_hf.corpora.card import dataset_card
from paraphrastic_hf.corpora.load import find_source, load_dataset
from paraphrastic_hf.corpora.sources import Source
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.files import read_json, replacing, visible_files, write_bytes, write_json
from paraphrastic_hf.io.send import copy_files

ROWS_AT_A_TIME = 10_000
ROWS_PER_FILE = 1_000_000
RECORD = "export.json"
is_language_pair = re.compile(r"\w+-\w+").fullmatch


def export(
    name: str,
    output: str | Path,
    *,
    configs: Sequence[str] | None = None,
    data_dir: str | Path | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, dict[str, int]]:
    """Write a corpus as parquet files and a card. Return rows written, by configuration and split.

    `output` is a new folder, or an earlier export of this corpus, to which configurations are
    added. `configs` are by default all configurations whose files are found.
    """
    source = find_source(name)
    wanted = list(configs or source.configs)
    if not wanted:
        raise DataError(f"{name} requires a configuration: two language codes, such as en-fr")
    folder = _claim(name, output, data_dir)
    counts: dict[str, dict[str, int]] = {}
    absent: list[MissingFileError] = []
    for config in wanted:
        try:
            with replacing(folder / config) as part:
                splits = load_dataset(name, config, data_dir=data_dir, streaming=True, **options)
                counts[config] = {
                    str(split): _write(rows, part, str(split), f"{config} {split}", progress)
                    for split, rows in splits.items()
                }
                # written before the first rename, so that a killed export is recognized
                if not (folder / RECORD).exists():
                    write_json(folder / RECORD, {name: {}})
        except MissingFileError as error:
            if configs or data_dir is None:
                raise
            absent.append(error)
            continue
        _record(source, folder)
    if not counts:
        raise absent[0]
    return counts


def _record(source: Source, folder: Path) -> dict[str, dict[str, int]]:
    """Write `export.json` and the card of an export, and return its row counts, from the parquet
    files, because a killed export leaves files in no record.
    """
    found = sorted(path.name for path in folder.iterdir() if is_language_pair(path.name))
    configs = source.configs or dict.fromkeys([*_exported(folder).get(source.name, {}), *found])
    counts = {name: _rows_in(folder / name, source.configs.get(name, ())) for name in configs}
    counts = {config: splits for config, splits in counts.items() if splits}
    write_json(folder / RECORD, {source.name: counts})
    write_bytes(folder / "README.md", dataset_card(source, counts).encode("utf-8"))
    return counts


def _rows_in(folder: Path, order: Iterable[str]) -> dict[str, int]:
    """Count the rows of each split in a folder. The splits in `order` come first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    counts: dict[str, int] = {}
    for path in visible_files(folder, "*-?????.parquet"):
        split = path.name.rpartition("-")[0]
        try:
            counts[split] = counts.get(split, 0) + pq.read_metadata(path).num_rows
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{path} is damaged ({error}). Export {folder.name} again") from error
    return {split: counts[split] for split in dict.fromkeys([*order, *counts]) if split in counts}


def _claim(name: str, output: str | Path, data_dir: str | Path | None) -> Path:
    folder = Path(output)
    if data_dir is not None:
        ours, theirs = folder.resolve(), Path(data_dir).resolve()
        if ours == theirs or ours in theirs.parents or theirs in ours.parents:
            raise DataError(
                f"The output folder {folder} overlaps with {data_dir}, the folder of the official "
                "files. Choose another output folder"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"Cannot write to {folder}: {error}") from error
    exported = _exported(folder)
    if exported and name not in exported:
        raise DataError(f"{folder} has an export of {next(iter(exported))}. Choose another folder")
    # a killed export leaves .part folders
    foreign = [path.name for path in folder.iterdir() if path.suffix != ".part"]
    if foreign and not exported:
        raise DataError(f"{folder} is not an export, since it has {foreign[0]}. Use another")
    return folder


def _exported(folder: Path) -> dict[str, dict[str, dict[str, int]]]:
    try:
        found = read_json(folder / RECORD)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_license(name: str) -> None:
    """Raise DataError if the license of a corpus does not allow publishing it."""
    if not find_source(name).may_share:
        raise DataError(f"The license of {name} does not allow publishing it. Push it as private")


def exported_corpus(folder: str | Path) -> str | None:
    """Return the name of the corpus in an export, or None if the folder is not an export."""
    return next(iter(_exported(Path(folder))), None)


def gather(name: str, folder: str | Path, output: str | Path) -> list[str]:
    """Copy an export with a new card. Return the patterns of files that an upload may delete."""
    folder, output = Path(folder), Path(output)
    exported = _record(find_source(name), folder)
    found = visible_files(folder, "*/*.parquet")
    tables = [path for path in found if path.parent.name in exported]
    copy_files(folder, [folder / "README.md", *tables], output)
    return [f"{config}/*.parquet" for config in exported]


def _write(rows: Any, folder: Path, split: str, name: str, progress: bool) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    schema = rows.features.arrow_schema
    count, number, writer = 0, 0, None
    try:
        shown = iter(tqdm(rows, desc=name, unit=" rows", disable=not progress))
        while batch := list(islice(shown, ROWS_AT_A_TIME)):
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
