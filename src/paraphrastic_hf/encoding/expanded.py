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

import numpy as np
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.data.download import cache_folder
from paraphrastic_hf.encoding.packing import unpacked
from paraphrastic_hf.text.files import MODULES, STATIC_EMBEDDING, read_json, remove, write_json

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
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(dir=target.parent)) / folder.name
    try:
        shutil.copytree(folder, staged, ignore=shutil.ignore_patterns(WEIGHTS))
        rows = unpacked(load_file(folder / WEIGHTS)["embedding.packed"]).astype(np.float16)
        save_file({"embedding.weight": rows}, staged / WEIGHTS, {"format": "pt"})
        write_json(staged / "config.json", {**config, "packed": False})
        module = {"idx": 0, "name": "0", "path": "", "type": STATIC_EMBEDDING}
        write_json(staged / MODULES, [module])
        os.replace(staged, target)
    except OSError:
        if not target.is_dir():  # else another process was first
            raise
    finally:
        remove(staged.parent)
    return target


def _digest(folder: Path) -> int:
    """A number that is another for other files."""
    digest = 0
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        digest = zlib.crc32(path.read_bytes(), zlib.crc32(path.name.encode(), digest))
    return digest
