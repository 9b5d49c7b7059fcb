"""Files to read, and what is left in folders."""

import bz2
import gzip
import lzma
from pathlib import Path

PACK = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


def written(path: Path, content: str | bytes) -> Path:
    """Write bytes, packed as the name says."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.write_bytes(PACK.get(path.suffix, bytes)(data))
    return path


def names(folder: Path) -> set[str]:
    """Names in a folder, except those of locks."""
    return {path.name for path in folder.iterdir() if path.suffix != ".lock"}
