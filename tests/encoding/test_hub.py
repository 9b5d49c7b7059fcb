"""Loading by Hub name, from a small server on this machine that speaks enough of the Hub."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.text.subword import SubwordTokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PROGRAM = """
import sys
import numpy as np
from paraphrastic_hf import SentenceEncoder
np.save(sys.argv[2], SentenceEncoder.from_pretrained(sys.argv[1]).encode(["the cat sleeps"]))
"""


@pytest.fixture
def encoder(subword: SubwordTokenizer) -> SentenceEncoder:
    config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8)
    return SentenceEncoder(AveragingModel(config), subword)


@pytest.fixture
def endpoint(encoder: SentenceEncoder, tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    encoder.save_pretrained(folder)

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            api = "/api/models/someone/sp"
            names = sorted(path.name for path in folder.iterdir())
            file = folder / self.path.rsplit("/", 1)[-1]
            if self.path.startswith(f"{api}/revision/") or self.path == api:
                siblings = [{"rfilename": name} for name in names]
                info = {"_id": "1", "id": "someone/sp", "sha": COMMIT, "siblings": siblings}
                self.send(json.dumps(info).encode(), with_body, "application/json")
            elif self.path.startswith(f"{api}/tree/"):
                tree = [
                    {
                        "type": "file",
                        "path": n,
                        "size": (folder / n).stat().st_size,
                        "oid": "0" * 40,
                    }
                    for n in names
                ]
                self.send(json.dumps(tree).encode(), with_body, "application/json")
            elif self.path.startswith("/someone/sp/resolve/") and file.is_file():
                self.send(file.read_bytes(), with_body, "application/octet-stream")
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def send(self, body: bytes, with_body: bool, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def load(name: str, endpoint: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
    }
    command = [sys.executable, "-c", PROGRAM, name, str(tmp_path / "vector.npy")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_a_hub_name_loads_the_same_model(
    encoder: SentenceEncoder, endpoint: str, tmp_path: Path
) -> None:
    done = load("someone/sp", endpoint, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = encoder.encode(["the cat sleeps"])
    np.testing.assert_array_equal(np.load(tmp_path / "vector.npy"), expected)


def test_a_name_that_is_nowhere_is_a_clear_error(endpoint: str, tmp_path: Path) -> None:
    done = load("someone/absent", endpoint, tmp_path)
    assert (
        "ModelError: someone/absent is neither a model directory nor a Hub repository"
        in done.stderr
    )
