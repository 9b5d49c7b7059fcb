"""A packaged model as every loader reads it: where its table is packed, a copy in float16.

The copy is made once, in the cache. Its numbers are the same: those of a packed table have at most
eight binary digits, and float16 has eleven.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.data.download import cache_folder
from paraphrastic_hf.encoding.packing import unpacked
from paraphrastic_hf.text.files import (
    MODULES,
    STATIC_EMBEDDING,
    open_to_readers,
    read_json,
    remove,
    write_json,
)

WEIGHTS = "model.safetensors"


def copies() -> Path:
    """The folder of all copies, one folder each."""
    return cache_folder() / "models"


def expanded(folder: Path) -> Path:
    """A model directory itself, or a copy of it in the cache if its table is packed.

    Args:
        folder: Of an averaging model.

    Raises:
        OSError: The disk is full, or the cache cannot be written; `PARAPHRASTIC_CACHE` names
            another one.
    """
    config = read_json(folder / "config.json")
    if not config.get("packed"):
        return folder
    target = copies() / f"{_digest(folder):08x}" / folder.name
    size = 2 * config["vocab_size"] * config["hidden_size"]
    if _is_whole(target, size):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as place:
            staged = Path(place) / folder.name
            _write(folder, config, staged)
            if not _is_whole(target, size):  # else another process was first
                remove(target)
                os.replace(staged, target)
    except (OSError, SafetensorError) as error:
        if _is_whole(target, size):
            return target
        raise OSError(
            f"cannot copy the model {folder.name} to the cache, {target.parent}: {error}; name "
            "another folder by PARAPHRASTIC_CACHE"
        ) from error
    return target


def _is_whole(copy: Path, size: int) -> bool:
    weights = copy / WEIGHTS
    return (copy / "config.json").is_file() and weights.is_file() and weights.stat().st_size > size


def _write(folder: Path, config: dict[str, Any], copy: Path) -> None:
    """Copy a packed model, its numbers in float16."""
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


def _digest(folder: Path) -> int:
    """A number that is another for other files."""
    digest = 0
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), digest))
    return digest
