"""A small local file server that can fail."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from huggingface_hub import constants


@dataclass
class Served:
    """A file, the statuses of successive answers, the bytes sent before each connection breaks, and
    the `Range` of each request.
    """

    content: bytes
    has_ranges: bool = True
    statuses: list[int] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    requests: list[str | None] = field(default_factory=list)


@dataclass
class Server:
    address: str
    files: dict[str, Served] = field(default_factory=dict)

    def serve(self, name: str, content: bytes, **how: object) -> Served:
        self.files[f"/{name}"] = Served(content, **how)
        return self.files[f"/{name}"]

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextmanager
def serving() -> Iterator[Server]:
    """Serve files in a thread, with downloads allowed."""
    place = Server("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = place.files.get(self.path)
            if file is None:
                return self.refuse(404)
            asked = self.headers.get("Range")
            file.requests.append(asked)
            status = file.statuses.pop(0) if file.statuses else 200
            if status != 200:
                return self.refuse(status)
            start = int(asked[len("bytes=") : -1]) if asked and file.has_ranges else 0
            self.send_response(206 if start else 200)
            size = len(file.content)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            cut = file.cuts.pop(0) if file.cuts else size
            self.wfile.write(file.content[start:][:cut])

        def refuse(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    place.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "*")
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        try:
            yield place
        finally:
            server.shutdown()
            server.server_close()
