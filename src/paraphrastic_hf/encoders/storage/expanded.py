"""Copies of packaged models for loaders that cannot read packed tables, in the cache folder.

Copies are float16, which is lossless for int4 tables: their numbers have at most 8 binary digits.

A packed parser or paraphraser has every matrix as int8 or int4 (`NAME.packed`). The parser's table
has only the rows that training changed (`NAME.rows`). All other rows and the tokenizer are those of
the packaged model that training started from (`base` in config.json).
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.storage.packing import unpacked
from paraphrastic_hf.io.download import cache_folder
from paraphrastic_hf.io.files import (
    MODULES,
    PARTS_FOLDER,
    STATIC_EMBEDDING,
    TOKENIZER_FILES,
    WEIGHTS,
    content_hash,
    digest_of,
    open_to_readers,
    read_json,
    replacing,
    write_bytes,
    write_json,
)

# types of packed models that get a copy
EXPANDED = ("paraphrastic-averaging", "paraphrastic-parser", "paraphrastic-ssru")
RECORD = "sha256"  # file with the hash of the copy next to it


def copies() -> Path:
    """Return the folder of all copies. A copy's subfolder is named by the hash of the original."""
    return cache_folder() / "models"


def expanded(folder: Path) -> Path:
    """Return `folder`, or an intact copy in the cache if it has a packed model of `EXPANDED`."""
    config = read_json(folder / "config.json")
    if not config.get("packed") or config.get("model_type") not in EXPANDED:
        return folder
    # the hash of this code invalidates copies made by an earlier version
    version = content_hash(__file__)[:8]
    originals = [folder, folder.parent / config["base"]] if "base" in config else [folder]
    place = copies() / "-".join([*(_digest(original)[:16] for original in originals), version])
    target = place / folder.name
    if _is_whole(target):
        return target
    try:
        copies().mkdir(parents=True, exist_ok=True)
        with FileLock(str(place) + ".lock"):
            if not _is_whole(target):  # another process may have been first
                with replacing(place) as staged:
                    staged.mkdir()
                    _write(folder, config, staged / folder.name)
                    write_bytes(staged / RECORD, _digest(staged / folder.name).encode())
    except (OSError, SafetensorError, NotImplementedError) as error:  # also no file locks
        raise OSError(
            f"Cannot copy the model {folder.name} to the cache {copies()}: {error}. Set "
            "PARAPHRASTIC_CACHE to another folder"
        ) from error
    return target


def _is_whole(copy: Path) -> bool:
    record = copy.parent / RECORD
    return copy.is_dir() and record.is_file() and _digest(copy).encode() == record.read_bytes()


def _digest(folder: Path) -> str:
    return digest_of(folder, folder.rglob("*"))


def _write(folder: Path, config: dict[str, Any], copy: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != WEIGHTS:
            target = copy / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    tensors = load_file(folder / WEIGHTS)
    if "embedding.packed" in tensors:
        tensors = {"embedding.weight": _float16(tensors["embedding.packed"])}
        module = {"idx": 0, "name": "0", "path": "", "type": STATIC_EMBEDDING}
        write_json(copy / MODULES, [module])
    else:
        tensors = {
            name.removesuffix(".packed"): _float16(tensor) if name.endswith(".packed") else tensor
            for name, tensor in tensors.items()
        }
    if "base" in config:
        base = folder.parent / config["base"]
        _fill(tensors, _float16(load_file(base / WEIGHTS)["embedding.packed"]))
        for name in TOKENIZER_FILES:
            if (base / name).is_file():
                shutil.copyfile(base / name, copy / PARTS_FOLDER / "0" / name)
    save_file(tensors, copy / WEIGHTS, {"format": "pt"})
    open_to_readers(copy / WEIGHTS)
    kept = {key: value for key, value in config.items() if key != "base"}
    write_json(copy / "config.json", {**kept, "packed": False})


def _fill(tensors: dict[str, np.ndarray], table: np.ndarray) -> None:
    """Complete tables of which only some rows are stored with the rows of another table."""
    for name in [name for name in tensors if name.endswith(".rows")]:
        stem = name.removesuffix(".rows")
        whole = table.copy()
        whole[tensors.pop(name)] = tensors[stem]
        tensors[stem] = whole


def _float16(numbers: np.ndarray) -> np.ndarray:
    return unpacked(numbers).astype(np.float16)
