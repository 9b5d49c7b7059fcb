"""Copies of packaged models for loaders that cannot read packed tables, in the cache folder.

Copies are float16 and lossless: packed numbers have at most 8 binary digits, float16 has 11.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.storage.packing import unpacked
from paraphrastic_hf.io.download import cache_folder
from paraphrastic_hf.io.files import (
    MODULES,
    STATIC_EMBEDDING,
    WEIGHTS,
    content_hash,
    digest_of,
    open_to_readers,
    read_json,
    remove,
    write_bytes,
    write_json,
)

RECORD = "sha256"  # file with the hash of the copy next to it


def copies() -> Path:
    """Return the folder of all copies. A copy's subfolder is named by the hash of the original."""
    return cache_folder() / "models"


def expanded(folder: Path) -> Path:
    """Return `folder`, or a copy in the cache if the model in `folder` is a packed average.

    Other packed models need this package in any case. Copies whose files were changed are replaced.
    """
    config = read_json(folder / "config.json")
    if not config.get("packed") or config.get("model_type") != "paraphrastic-averaging":
        return folder
    # the hash of this code invalidates copies made by an earlier version
    version = content_hash(__file__)[:8]
    place = copies() / f"{digest_of(folder, folder.iterdir())[:16]}-{version}"
    target = place / folder.name
    if _is_whole(target):
        return target
    try:
        copies().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=copies()) as made:
            staged = Path(made) / place.name
            staged.mkdir()
            _write(folder, config, staged / folder.name)
            write_bytes(staged / RECORD, _digest(staged / folder.name))
            with suppress(OSError):  # another process was first, or a damaged copy exists
                os.replace(staged, place)
            if not _is_whole(target):
                remove(place)
                os.replace(staged, place)
    except (OSError, SafetensorError) as error:
        if _is_whole(target):
            return target
        raise OSError(
            f"Cannot copy the model {folder.name} to the cache {copies()}: {error}. Set "
            "PARAPHRASTIC_CACHE to another folder"
        ) from error
    return target


def _is_whole(copy: Path) -> bool:
    record = copy.parent / RECORD
    return copy.is_dir() and record.is_file() and _digest(copy) == record.read_bytes()


def _digest(copy: Path) -> bytes:
    return digest_of(copy, copy.iterdir()).encode()


def _write(folder: Path, config: dict[str, Any], copy: Path) -> None:
    copy.mkdir()
    for path in folder.iterdir():
        if path.is_file() and path.name != WEIGHTS:
            shutil.copyfile(path, copy / path.name)
    rows = unpacked(load_file(folder / WEIGHTS)["embedding.packed"]).astype(np.float16)
    save_file({"embedding.weight": rows}, copy / WEIGHTS, {"format": "pt"})
    open_to_readers(copy / WEIGHTS)
    write_json(copy / "config.json", {**config, "packed": False})
    module = {"idx": 0, "name": "0", "path": "", "type": STATIC_EMBEDDING}
    write_json(copy / MODULES, [module])
