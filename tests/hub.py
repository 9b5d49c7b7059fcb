"""A small server on this machine that speaks enough of the Hub: files, listings, commits, LFS.

It proves our side of the conversation only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
KINDS = "models|datasets|spaces"


def environment(endpoint: str, home: Path) -> dict[str, str]:
    """The variables by which a fresh process takes this server for the Hub."""
    return {
        **os.environ,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_TOKEN": "hf_test",
    }


def commit_of(revision: str | None) -> str:
    """The commit that a branch stands for; a commit stands for itself."""
    if revision is None or revision == "main":
        return COMMIT
    is_commit = re.fullmatch(r"[0-9a-f]{40}", revision)
    return revision if is_commit else hashlib.sha1(revision.encode()).hexdigest()


@contextmanager
def serve(
    repositories: dict[str, dict[str, bytes]], tokens: dict[str, str] | None = None
) -> Iterator[str]:
    """Serve repositories (`datasets/me/sts` -> path -> content); pushes change them in place.

    `datasets/me/sts@old` is the branch `old` of one. A repository in `tokens` is there only for
    those who send its token.
    """
    objects: dict[str, bytes] = {}

    class Hub(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def files(self, kind: str, name: str, revision: str | None) -> dict[str, bytes] | None:
            key = f"{kind}/{name}"
            wanted = (tokens or {}).get(key)
            if wanted and self.headers.get("Authorization") != f"Bearer {wanted}":
                return None
            branches = [it.partition("@")[2] for it in repositories if it.startswith(f"{key}@")]
            found = [it for it in branches if revision in (it, commit_of(it))]
            return repositories.get(f"{key}@{found[0]}" if found else key)

        def do_HEAD(self) -> None:
            self.get(with_body=False)

        def do_GET(self) -> None:
            self.get(with_body=True)

        def get(self, *, with_body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            if path == "/api/whoami-v2":
                return self.send_json({"name": "me", "type": "user", "orgs": []}, with_body)
            api = re.fullmatch(
                rf"/api/({KINDS})/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+)(?:/(.*))?)?", path
            )
            if api is not None:
                return self.get_api(*api.groups(), with_body=with_body)
            file = re.fullmatch(rf"/(?:({KINDS})/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
            if file is not None:
                kind, name, revision, inner = file.groups()
                files = self.files(kind or "models", name, revision)
                if files is not None and inner in files:
                    return self.send_file(files[inner], with_body, revision)
                return self.send_error_code("RepoNotFound" if files is None else "EntryNotFound")
            return self.send_error_code("RepoNotFound")

        def get_api(
            self, kind: str, name: str, what: str, revision: str, inner: str, *, with_body: bool
        ) -> None:
            files = self.files(kind, name, revision)
            if files is None:
                return self.send_error_code("RepoNotFound")
            if what != "tree":
                siblings = [{"rfilename": path} for path in sorted(files)]
                info = {"_id": "1", "id": name, "sha": commit_of(revision), "siblings": siblings}
                return self.send_json({**info, "private": True, "tags": []}, with_body)
            prefix = f"{inner}/" if inner else ""
            inside = {path for path in files if path.startswith(prefix)}
            folders = {
                "/".join(path.split("/")[:depth])
                for path in inside
                for depth in range(1, path.count("/") + 1)
            }
            tree: list[dict[str, Any]] = [
                {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
                for path in sorted(folders)
                if path.startswith(prefix)
            ]
            tree += [
                {"type": "file", "path": path, "size": len(files[path]), "oid": "0" * 40}
                for path in sorted(inside)
            ]
            return self.send_json(tree, with_body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = unquote(urlsplit(self.path).path)
            if path == "/api/repos/create":
                asked = json.loads(body)
                name = f"{asked.get('organization') or 'me'}/{asked['name']}"
                kind = f"{asked.get('type', 'model')}s"
                repositories.setdefault(f"{kind}/{name}", {})
                where = "" if kind == "models" else f"{kind}/"
                return self.send_json({"url": f"{endpoint()}/{where}{name}"}, True)
            if path == "/api/validate-yaml":
                return self.send_json({"errors": [], "warnings": []}, True)
            pre = re.fullmatch(rf"/api/({KINDS})/([^/]+/[^/]+)/preupload/.+", path)
            if pre is not None:
                files = [
                    {
                        "path": file["path"],
                        "uploadMode": "regular" if file["path"].endswith(".md") else "lfs",
                        "shouldIgnore": False,
                        "oid": None,
                    }
                    for file in json.loads(body)["files"]
                ]
                return self.send_json({"files": files}, True)
            if path.endswith("/info/lfs/objects/batch"):
                found = [
                    {
                        "oid": item["oid"],
                        "size": item["size"],
                        "actions": {"upload": {"href": f"{endpoint()}/lfs/{item['oid']}"}},
                    }
                    for item in json.loads(body)["objects"]
                ]
                return self.send_json({"transfer": "basic", "objects": found}, True)
            commit = re.fullmatch(rf"/api/({KINDS})/([^/]+/[^/]+)/commit/.+", path)
            if commit is not None:
                repository = repositories[f"{commit.group(1)}/{commit.group(2)}"]
                for line in body.splitlines():
                    step = json.loads(line)
                    value = step["value"]
                    if step["key"] == "file":
                        repository[value["path"]] = base64.b64decode(value["content"])
                    elif step["key"] == "lfsFile":
                        repository[value["path"]] = objects[value["oid"]]
                where = "" if commit.group(1) == "models" else f"{commit.group(1)}/"
                address = f"{endpoint()}/{where}{commit.group(2)}/commit/{COMMIT}"
                return self.send_json({"commitUrl": address, "commitOid": COMMIT}, True)
            return self.send_error_code("RepoNotFound")

        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            objects[self.path.rsplit("/", 1)[-1]] = content
            self.send_json({}, True)

        def send_json(self, value: Any, with_body: bool) -> None:
            self.send_body(
                json.dumps(value).encode(), with_body, {"Content-Type": "application/json"}
            )

        def send_file(self, content: bytes, with_body: bool, revision: str) -> None:
            mark, commit = hashlib.sha256(content).hexdigest(), commit_of(revision)
            headers = {"ETag": f'"{mark}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked is None:
                return self.send_body(content, with_body, headers)
            start, end = int(asked.group(1)), int(asked.group(2) or len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            return self.send_body(content[start : end + 1], with_body, headers, status=206)

        def send_body(
            self, body: bytes, with_body: bool, headers: dict[str, str], status: int = 200
        ) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def send_error_code(self, code: str) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)

    def endpoint() -> str:
        return f"http://127.0.0.1:{server.server_port}"

    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield endpoint()
    finally:
        server.shutdown()
        server.server_close()


def folder_files(folder: Path) -> dict[str, bytes]:
    """Path and content of every file of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
