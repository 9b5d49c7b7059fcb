"""Files of `torch.save`, the zip format and the older one, read without torch and running nothing.

Tensors come as `StoredTensor`s, which say where in the file their numbers are. `numbers` reads
them, so an optimizer's state that nobody asks for costs nothing.

`torch.load(weights_only=True)` of torch 2.13 in its place passed 108 of the 110 tests of torch
files and of conversion, in 15 lines. It is not used because hostile files still stop it
(`conversion/unpickle.py` has two) and because it takes a tensor of 100,000 x 100,000 numbers over four
stored ones, which is 37 GB once it is copied.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.conversion.pickled import (
    Calls,
    Name,
    UnexpectedPickle,
    check_sizes,
    only_a_name,
)
from paraphrastic_hf.conversion.theano_file import map_file
from paraphrastic_hf.conversion.unpickle import PickleReader
from paraphrastic_hf.errors import DataError

MAGIC = 0x1950A86A20F9469CFC6C  # the first value of the older format
STORAGE_TYPES = {
    "torch.DoubleStorage": "<f8",
    "torch.FloatStorage": "<f4",
    "torch.HalfStorage": "<f2",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.CharStorage": "i1",
    "torch.ByteStorage": "u1",
    "torch.BoolStorage": "b1",
}


@dataclass(frozen=True)
class Storage:
    """A run of numbers in the file.

    Attributes:
        key: The name that the file gives it.
        dtype: The type of its numbers.
        count: How many numbers it holds.
        fetch: Reads the bytes that the file keeps under a key.
    """

    key: str
    dtype: np.dtype
    count: int
    fetch: Callable[[str], bytes]


@dataclass(frozen=True)
class StoredTensor:
    """A tensor whose numbers are still in the file.

    Attributes:
        storage: The run of numbers that it lies in.
        offset: The place of its first number there, counted in numbers.
        shape: Its shape.
        strides: For each dimension, how many numbers apart two neighbours are.
    """

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def numbers(self) -> np.ndarray:
        """Read the tensor as an array of its shape.

        Raises:
            DataError: The file holds fewer numbers than it says.
        """
        storage = self.storage
        data = storage.fetch(storage.key)
        if len(data) != storage.count * storage.dtype.itemsize:
            raise DataError(
                f"the storage {storage.key} has {len(data):,} bytes, but the file speaks of "
                f"{storage.count:,} numbers of {storage.dtype}; it was cut short"
            )
        flat = np.frombuffer(data, storage.dtype)[self.offset :]
        steps = [stride * storage.dtype.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False).copy()


def read_torch(path: str | Path) -> Any:
    """Read what was given to `torch.save`.

    Returns:
        Containers, text, numbers and `StoredTensor`s, and a dict for an `argparse.Namespace`. The
        tensors' numbers are read later, so the file must stay as it is until then.

    Raises:
        DataError: The file holds what no state needs, such as a whole module or code, or it is cut
            short.
    """
    path = Path(path)
    return _read_zip(path) if zipfile.is_zipfile(path) else _read_old(path)


def _read_zip(path: Path) -> Any:
    try:
        archive = zipfile.ZipFile(path)
        members = {info.filename: info for info in archive.infolist()}
    except (OSError, NotImplementedError, UnicodeDecodeError, zipfile.BadZipFile) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    roots = [name.removesuffix("/data.pkl") for name in members if name.endswith("/data.pkl")]
    if len(roots) != 1 or f"{roots[0]}/constants.pkl" in members:
        raise DataError(
            f"{path} is a zip archive, but no file of torch.save (one data.pkl and no code); give "
            "the .pt file itself, and unpack archives of several files"
        )

    def fetch(name: str) -> bytes:
        info = members.get(f"{roots[0]}/{name}")
        if info is None or info.compress_type != zipfile.ZIP_STORED:
            raise DataError(f"{path} has no uncompressed {roots[0]}/{name}; it is damaged")
        try:
            return archive.read(info)
        except (OSError, EOFError, RuntimeError, UnicodeDecodeError, zipfile.BadZipFile) as error:
            raise DataError(f"{path}: {info.filename} is damaged: {error}") from error

    if f"{roots[0]}/byteorder" in members and fetch("byteorder") != b"little":
        raise DataError(f"{path} was written on a big-endian machine; save it again on another")

    def storage(reference: Any) -> Storage:
        return _storage(reference, lambda key: fetch(f"data/{key}"))

    place = f"{path}:{roots[0]}/data.pkl"
    pickle = io.BytesIO(fetch("data.pkl"))
    return PickleReader(pickle, place, calls=TORCH, persistent=storage).read()


def _read_old(path: Path) -> Any:
    """Read the older format: five pickles (magic number, version, machine, value, keys), and then
    the storages in the order of the keys."""
    file = map_file(path)
    found: dict[str, Storage] = {}
    starts: dict[str, tuple[int, int]] = {}

    def fetch(key: str) -> bytes:
        start, size = starts[key]
        return file[start : start + size]

    def storage(reference: Any) -> Storage:
        made = _storage(reference, fetch)
        found[made.key] = made
        return made

    reader = PickleReader(file, str(path), calls=TORCH, persistent=storage)  # type: ignore[arg-type]
    if reader.read() != MAGIC:
        raise DataError(
            f"{path} is a pickle, but no file of torch.save; a Theano release ends in .pickle"
        )
    reader.read()
    machine = reader.read()
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise DataError(f"{path} was written on a big-endian machine; save it again on another")
    value = reader.read()
    keys = reader.read()
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(found):
        raise DataError(f"{path} lists other storages than its tensors have; it is damaged")
    for key in keys:
        count = int.from_bytes(file.read(8), "little")
        size = count * found[key].dtype.itemsize
        if count != found[key].count or file.tell() + size > len(file):
            raise DataError(
                f"{path} ends within the storage {key}, or has another size there; it is damaged"
            )
        starts[key] = file.tell(), size
        file.seek(size, io.SEEK_CUR)
    return value


def _storage(reference: Any, fetch: Callable[[str], bytes]) -> Storage:
    """The storage that a persistent id, (`storage`, type, key, device, count), refers to."""
    if not isinstance(reference, tuple) or len(reference) < 5 or reference[0] != "storage":
        raise UnexpectedPickle("a whole module, or a reference that is no storage")
    _, kind, key, _, count, *view = reference
    if not isinstance(kind, Name) or kind.text not in STORAGE_TYPES or not isinstance(key, str):
        raise UnexpectedPickle("a storage of another type")
    if view not in ([], [None]):
        raise UnexpectedPickle("a storage that is part of another")
    (count,) = check_sizes((count,))
    return Storage(key, np.dtype(STORAGE_TYPES[kind.text]), count, fetch)


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> StoredTensor:
    """A tensor that lies within its storage and uses each number there at most once."""
    shape, strides, (offset,) = check_sizes(shape), check_sizes(strides), check_sizes((offset,))
    if not isinstance(storage, Storage) or len(shape) != len(strides):
        raise UnexpectedPickle("a tensor without storage")
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    is_empty = math.prod(shape) == 0
    if not is_empty and (last >= storage.count or math.prod(shape) > storage.count):
        raise UnexpectedPickle(f"a tensor of shape {shape} over {storage.count:,} numbers")
    return StoredTensor(storage, offset, shape, strides)


def _parameter(tensor: Any, *_: Any) -> StoredTensor:
    if not isinstance(tensor, StoredTensor):
        raise UnexpectedPickle("a parameter without tensor")
    return tensor


TORCH: Calls = {
    **dict.fromkeys(STORAGE_TYPES, only_a_name),
    "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
}
