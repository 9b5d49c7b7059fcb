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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import DataError, counted, in_a_line
from paraphrastic_hf.io import receive

TRIES = 4
FIRST_PAUSE = 0.5  # seconds before the second try; each further pause is twice as long
MOST_REFUSALS = 24  # answers 429 in a row
BLOCK = 1 << 20
# What the HTTP libraries of huggingface_hub raise where a connection that was made breaks off or
# stalls. Where none can be made there is no network, and waiting for one would be in vain.
BROKEN_OFF = {"TimeoutError", "ReadTimeout", "ReadError", "WriteError", "RemoteProtocolError"}
# What a run leaves beside a model, and weights that only other frameworks read.
IGNORED = (
    *("checkpoints/*", "logs/*", "work/*"),
    *("*.h5", "*.msgpack", "*.ot", "*.tflite", "*.onnx", "onnx/*", "openvino/*"),
)

logger = logging.getLogger(__name__)


class _Patience:
    """Hooks of the HTTP client of huggingface_hub that bound how long requests take.

    The client's own timeout restarts with every byte, so a server that trickles would hold it
    forever. It also waits as long as a server asks.
    """

    def __init__(self) -> None:
        self.refusals = 0
        self.waiting: dict[int, Any] = {}  # by thread, the request without a response yet

    def on_request(self, request: Any) -> None:
        """Close the connections if the response headers take too long."""
        thread = threading.get_ident()
        self.waiting[thread] = request
        timer = threading.Timer(receive.TIMEOUT_SECONDS, self._cut, (thread, request))
        timer.daemon = True
        timer.start()

    def _cut(self, thread: int, request: Any) -> None:
        if self.waiting.get(thread) is request:
            from huggingface_hub import close_session

            close_session()

    def on_response(self, response: Any) -> None:
        """Watch the pace of the body, and refuse long waits."""
        self.waiting.pop(threading.get_ident(), None)
        self.refusals = self.refusals + 1 if response.status_code == 429 else 0
        if self.refusals:
            from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]

            limit = parse_ratelimit_headers(response.headers)
            asked = receive.asked_to_wait(response.headers.get("Retry-After"))
            asked = max(asked, limit.reset_in_seconds if limit else 0)
            if asked > receive.LONGEST_WAIT or self.refusals > MOST_REFUSALS:
                later = f" and asks to wait {counted(round(asked), 'second')}" if asked else ""
                raise DataError(f"{response.url.host} refuses further requests (429){later}")
        response.iter_raw = partial(_at_a_pace, response.iter_raw)


def _at_a_pace(chunks: Callable[..., Iterator[bytes]], *arguments: Any) -> Iterator[bytes]:
    pace = receive.Pace()
    for chunk in chunks(*arguments):
        pace.add(len(chunk))
        yield chunk


@contextmanager
def bounded_patience() -> Iterator[None]:
    """Bound how long huggingface_hub waits for a server that trickles or always refuses.

    Files that `hf_xet` downloads have the limits of that library.

    Raises:
        DataError: The server refuses requests (429) too often, or asks to wait too long.
        TimeoutError: What it sends has stalled.
    """
    from huggingface_hub import get_session

    session, patience = get_session(), _Patience()
    before = session.event_hooks
    session.event_hooks = {
        "request": [*before["request"], patience.on_request],
        "response": [*before["response"], patience.on_response],
    }
    try:
        yield
    finally:
        session.event_hooks = before
        patience.waiting.clear()


def snapshot(name: str, kind: str = "model", **options: Any) -> Path:
    """The folder of a repository, downloaded if need be.

    Args:
        name: Such as `someone/model`.
        kind: `model`, `dataset` or `space`.
        **options: `revision`, `token`, `cache_dir` and `local_files_only`, as `snapshot_download`
            of huggingface_hub takes them.

    Raises:
        DataError: A file does not have the checksum that it should have, or its name leads out of
            the folder, or the Hub refuses further requests.
        HfHubHTTPError, HFValidationError, OSError: It is not there, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    for attempt in range(TRIES):
        try:
            ignored = list(IGNORED)
            with bounded_patience():
                found = str(
                    snapshot_download(name, repo_type=kind, ignore_patterns=ignored, **options)
                )
        except DataError as error:
            raise DataError(f"{name} cannot be downloaded: {error}") from error
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
