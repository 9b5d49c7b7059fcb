"""A repository of the Hub to a folder, whole and unharmed or not at all.

All files are of one commit, though a branch may move meanwhile. What a server in trouble refuses is
asked for again, and so is what breaks off or stalls on the way. The content of every file is
compared with the checksum by which the cache of huggingface_hub names it, which neither that
library nor those that read the files do.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError, in_a_line

TRIES = 4
FIRST_PAUSE = 0.5  # seconds before the second try; each further pause is twice as long
BLOCK = 1 << 20
# What the HTTP libraries of huggingface_hub raise where a connection that was made breaks off or
# stalls. Where none can be made there is no network, and waiting for one would be in vain.
BROKEN_OFF = {"ReadTimeout", "ReadError", "WriteError", "RemoteProtocolError"}
# What a run leaves beside a model, and weights that only other frameworks read.
IGNORED = (
    *("checkpoints/*", "logs/*", "work/*"),
    *("*.h5", "*.msgpack", "*.ot", "*.tflite", "*.onnx", "onnx/*", "openvino/*"),
)

logger = logging.getLogger(__name__)


def snapshot(name: str, kind: str = "model", **options: Any) -> Path:
    """The folder of a repository, downloaded if need be.

    Args:
        name: Such as `someone/model`.
        kind: `model`, `dataset` or `space`.
        **options: `revision`, `token`, `cache_dir` and `local_files_only`, as `snapshot_download`
            of huggingface_hub takes them.

    Raises:
        DataError: A file does not have the checksum that it should have, or its name leads out of
            the folder.
        HfHubHTTPError, HFValidationError, OSError: It is not there, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    for attempt in range(TRIES):
        try:
            ignored = list(IGNORED)
            found = str(snapshot_download(name, repo_type=kind, ignore_patterns=ignored, **options))
        except Exception as error:
            if type(error) is ValueError:  # a file's name, such as ../x, that no folder may have
                raise DataError(f"cannot download {name}: {in_a_line(error)}") from error
            if attempt + 1 == TRIES or not _passes(error):
                raise
            logger.info("%s: %s; asking again", name, error)
            time.sleep(FIRST_PAUSE * 2**attempt)
            continue
        damaged = damaged_files(found)
        if not damaged:
            return Path(found)
        for path in damaged:  # what stays would never be downloaded again
            _forget(path)
    names = ", ".join(str(path.relative_to(found)) for path in damaged)
    raise DataError(
        f"{name} is damaged: the checksum is not the one that the Hub names, of {names}; this was "
        "taken out of the cache, so load it again, or have its owner upload it again"
    )


def damaged_files(folder: str | Path) -> list[Path]:
    """The files of a snapshot whose content has another checksum than their names in the cache say.

    A snapshot consists of links to files named by their SHA-256, or by that of git. Where there are
    no links, nothing can be compared.

    Args:
        folder: What `snapshot_download` returned.
    """
    links = (path for path in sorted(Path(folder).rglob("*")) if path.is_symlink())
    return [path for path in links if not _is_whole(Path(os.path.realpath(path)))]


def _is_whole(blob: Path) -> bool:
    if re.fullmatch(r"[0-9a-f]{64}", blob.name):
        digest = hashlib.sha256()
    elif re.fullmatch(r"[0-9a-f]{40}", blob.name):
        digest = hashlib.sha1(b"blob %d\0" % blob.stat().st_size, usedforsecurity=False)
    else:
        return True
    with blob.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest() == blob.name


def _forget(path: Path) -> None:
    for place in (Path(os.path.realpath(path)), path):
        try:
            place.unlink(missing_ok=True)
        except OSError as error:  # a cache that may not be written
            logger.warning("cannot remove the damaged %s: %s", place, error)


def _passes(error: BaseException) -> bool:
    """Whether the Hub or the way to it was in trouble, which may pass."""
    for each in (error, error.__cause__):
        if type(each).__name__ in BROKEN_OFF:
            return True
        status = getattr(getattr(each, "response", None), "status_code", None)
        if status is not None and (status >= 500 or status == 429):
            return True
    return False
