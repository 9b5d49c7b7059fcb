"""A small file server on this machine that can break off, fail, and forget what it promised."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """A file and how it is answered.

    Attributes:
        content: Its bytes.
        validators: Headers that name this version of it.
        has_ranges: Whether a part can be asked for.
        statuses: Answered one after another before the file is, each alone or with headers.
        status: Answered with the whole file.
        headers: Sent with the file in the place of those it would have; None leaves one out.
        trickle: Bytes a second at which the content comes, one by one; 0 for all at once.
        slow_head: Whether the head of the answer comes a byte at a time, and never ends.
        cuts: Bytes sent of one answer after another before the connection breaks.
        requests: The headers of what was asked, in order.
        sent: Bytes of content sent in each answer with content.
    """

    content: bytes
    validators: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    has_ranges: bool = True
    statuses: list[int | tuple[int, dict[str, str]]] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str | None] = field(default_factory=dict)
    trickle: float = 0
    slow_head: bool = False
    cuts: list[int] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def ranges(self) -> list[str | None]:
        """The `Range` of each request."""
        return [request.get("Range") for request in self.requests]


@dataclass
class Server:
    """Files by their path, such as `/a.txt`."""

    address: str
    files: dict[str, Served] = field(default_factory=dict)

    def serve(self, name: str, content: bytes, **how: object) -> Served:
        self.files[f"/{name}"] = Served(content, **how)  # type: ignore[arg-type]
        return self.files[f"/{name}"]

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """A server that runs in a thread; with `context`, an encrypted one."""
    place = Server("")
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            file = place.files.get(self.path)
            if file is None:
                return self.refuse(404)
            file.requests.append(dict(self.headers.items()))
            if file.slow_head:
                return self.never_end()
            if file.statuses:
                status = file.statuses.pop(0)
                return self.refuse(*(status if isinstance(status, tuple) else (status,)))
            start = self.start_of(file)
            if start >= len(file.content) and start:
                return self.refuse(416)
            self.send_response(206 if start else file.status)
            headers: dict[str, str | None] = dict(file.validators)
            if start:
                last = len(file.content) - 1
                headers["Content-Range"] = f"bytes {start}-{last}/{last + 1}"
            headers["Content-Length"] = str(len(file.content) - start)
            for name, value in (headers | file.headers).items():
                if value is not None:
                    self.send_header(name, value)
            self.end_headers()
            cut = file.cuts.pop(0) if file.cuts else len(file.content)
            body = file.content[start:][:cut]
            file.sent.append(len(body))
            with suppress(ConnectionError):  # the client had enough
                self.write(body, file.trickle)

        def start_of(self, file: Served) -> int:
            asked = self.headers.get("Range")
            condition = self.headers.get("If-Range")
            if not file.has_ranges or asked is None:
                return 0
            if condition is not None and condition not in file.validators.values():
                return 0
            return int(asked.removeprefix("bytes=").removesuffix("-"))

        def write(self, body: bytes, trickle: float) -> None:
            if not trickle:
                self.wfile.write(body)
                return
            for number in range(len(body)):
                self.wfile.write(body[number : number + 1])
                self.wfile.flush()
                threading.Event().wait(1 / trickle)

        def never_end(self) -> None:
            with suppress(OSError):  # the client had enough
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                while not ended.wait(0.05):
                    self.wfile.write(b"x")

        def refuse(self, status: int, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    place.address = f"http://127.0.0.1:{server.server_port}"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        place.address = f"https://localhost:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield place
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
