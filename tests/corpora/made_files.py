"""Helpers that write small official files and read their rows."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from paraphrastic_hf import load_dataset

Row = dict[str, Any]
PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below `folder`, packed if they end in .gz, .xz or .bz2."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode("utf-8") if isinstance(content, str) else content
        path.write_bytes(PACK.get(path.suffix, bytes)(data))
    return folder


def put_archive(path: Path, files: dict[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in files.items():
                packed.writestr(name, content)
        return path
    with tarfile.open(path, "w:gz") as packed_tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode("utf-8"))
            packed_tar.addfile(info, BytesIO(content.encode("utf-8")))
    return path


def rows(
    name: str, config: str | None, data_dir: Path, split: str = "train", **options: Any
) -> list[Row]:
    streamed = load_dataset(name, config, split=split, data_dir=data_dir, streaming=True, **options)
    return list(streamed)


def sides(name: str, config: str | None, data_dir: Path, **options: Any) -> list[tuple[str, str]]:
    return [tuple(row.values())[:2] for row in rows(name, config, data_dir, **options)]
