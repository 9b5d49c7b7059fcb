"""A small local server for the part of the Hub's protocol that this package uses, with faults."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

KINDS = "models|datasets|spaces"
REGULAR = (".md", ".json", ".py", ".yaml", ".yml", ".txt")  # other files use LFS
STOPS = ("stall", "cut", "reset")  # faults in mid-body
STALL = 30  # seconds, far above the timeouts of tests

Files = dict[str, bytes]


@dataclass
class Fault:
    """A fault of the first matching requests.

    Attributes:
        matches: Regular expression for `METHOD path`.
        kind: `500`, `429`, `stall`, `cut` or `reset` (in mid-body), or `none`.
        times: Number of requests it affects.
        then: Called after each request, for example to move a branch.
    """

    matches: str
    kind: str
    times: int = 1
    then: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        self.planned = self.times


def account(name: str, role: str = "write", orgs: Sequence[str] = (), **token: Any) -> Any:
    """The Hub's description of a token."""
    of_token = {"accessToken": {"displayName": "test", "role": role, **token}}
    listed = [{"name": org, "roleInOrg": "write"} for org in orgs]
    return {"name": name, "type": "user", "orgs": listed, "auth": of_token}


def environment(endpoint: str, home: Path, token: str = "hf_test") -> dict[str, str]:
    """Environment variables with which a process uses this server as the Hub."""
    return {
        **os.environ,
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_TOKEN": token,
        "HF_MODULES_CACHE": str(home / "modules"),
    }


def commit_of(files: Files) -> str:
    digest = hashlib.sha1()
    for path in sorted(files):
        digest.update(path.encode() + b"\0" + hashlib.sha1(files[path]).digest())
    return digest.hexdigest()


def oid(path: str, content: bytes) -> str:
    """Hash of a file's content: SHA-256 for LFS, else git's."""
    if not path.endswith(REGULAR):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """State of the server.

    Repositories have keys such as `datasets/me/sts`, and `datasets/me/sts@old` for the branch
    `old`.
    """

    def __init__(
        self, repositories: dict[str, Files], tokens: dict[str, str], accounts: dict[str, Any]
    ) -> None:
        self.repositories, self.tokens, self.accounts = repositories, tokens, accounts
        self.objects: Files = {}
        self.commits: dict[tuple[str, str], Files] = {}
        self.public: set[str] = set()
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.address = ""

    def at(self, key: str, revision: str | None) -> tuple[Files, str] | None:
        """Files and commit of a revision, or None."""
        for name, files in list(self.repositories.items()):
            if name.partition("@")[0] == key:
                self.commits[key, commit_of(files)] = dict(files)
        branch = key if revision in (None, "main") else f"{key}@{revision}"
        files = self.repositories.get(branch, self.commits.get((key, str(revision))))
        return None if files is None else (files, commit_of(files))

    def fault(self, request: str) -> Fault | None:
        """Return the fault of a request, and count it."""
        self.requests.append(request)
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.matches, request):
                fault.times -= 1
                return fault
        return None

    def who(self, token: str) -> Any:
        """Account of a token. Without known accounts, any token is valid."""
        return self.accounts.get(token) if self.accounts else account("me", orgs=["someone"])


@contextmanager
def running(
    repositories: dict[str, Files] | None = None,
    tokens: dict[str, str] | None = None,
    accounts: dict[str, Any] | None = None,
) -> Iterator[Hub]:
    """Run a server whose repositories change with pushes.

    A repository in `tokens` needs its token.
    """
    hub = Hub({} if repositories is None else repositories, tokens or {}, accounts or {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(hub))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serve(repositories: dict[str, Files], tokens: dict[str, str] | None = None) -> Iterator[str]:
    with running(repositories, tokens) as hub:
        yield hub.address


@contextmanager
def pointing(hub: Hub, home: Path, *, token: str | None = "hf_test") -> Iterator[Hub]:
    """Make this process use a server as the Hub, with a cache folder.

    Libraries have already read the environment, so their constants are patched.
    """
    from huggingface_hub import constants

    values = {
        "ENDPOINT": hub.address,
        "HUGGINGFACE_CO_URL_TEMPLATE": hub.address + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_OFFLINE": False,
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_DOWNLOAD_TIMEOUT": 1,
        "HF_HUB_ETAG_TIMEOUT": 1,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(constants, name, value)
        patch.setenv("HF_HUB_OFFLINE", "0")
        patch.delenv("HF_TOKEN", raising=False)
        if token is not None:
            patch.setenv("HF_TOKEN", token)
        yield hub


def folder_files(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        struck: Fault | None = None

        def handle_request(self, answer: Callable[[str], None]) -> None:
            path = unquote(urlsplit(self.path).path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.body = body
            self.struck = hub.fault(f"{self.command} {path}")
            kind = self.struck.kind if self.struck else ""
            with suppress(ConnectionError):
                if kind == "500" or (kind in STOPS and self.command != "GET"):
                    if kind == "stall":
                        threading.Event().wait(STALL)
                    self.close_connection = kind != "500"
                    if kind == "500":
                        self.send_body(b"the disk of the Hub is full", True, {}, status=500)
                elif kind == "429":
                    self.send_body(b"later", True, {"Retry-After": "0"}, status=429)
                else:
                    answer(path)
            if self.struck and self.struck.then:
                self.struck.then()

        def do_HEAD(self) -> None:
            self.handle_request(lambda path: self.get(path, with_body=False))

        def do_GET(self) -> None:
            self.handle_request(lambda path: self.get(path, with_body=True))

        def do_POST(self) -> None:
            self.handle_request(self.post)

        def do_PUT(self) -> None:
            self.handle_request(self.put)

        def token(self) -> str:
            return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

        def find(self, key: str, revision: str | None) -> tuple[Files, str] | None:
            """Return files and commit of a revision, or send an error and return None."""
            wanted = hub.tokens.get(key)
            is_there = any(name.partition("@")[0] == key for name in hub.repositories)
            if not is_there or (wanted and self.token() != wanted):
                self.send_error_code("RepoNotFound")
                return None
            found = hub.at(key, revision)
            if found is None:
                self.send_error_code("RevisionNotFound")
            return found

        def get(self, path: str, *, with_body: bool) -> None:
            if path == "/api/whoami-v2":
                who = hub.who(self.token()) if self.token() else None
                status = 200 if who else 401
                return self.send_json(who or {"error": "Invalid credentials"}, with_body, status)
            api = re.fullmatch(
                rf"/api/({KINDS})/([^/]+/[^/]+)(?:/(revision|tree)/(refs/pr/\d+|[^/]+)(?:/(.*))?)?",
                path,
            )
            if api is not None:
                kind, name, what, revision, inner = api.groups()
                return self.get_api(f"{kind}/{name}", what, revision, inner, with_body=with_body)
            file = re.fullmatch(
                rf"/(?:({KINDS})/)?([^/]+/[^/]+)/resolve/(refs/pr/\d+|[^/]+)/(.+)", path
            )
            if file is not None:
                kind, name, revision, inner = file.groups()
                found = self.find(f"{kind or 'models'}/{name}", revision)
                if found is None:
                    return None
                if inner in found[0]:
                    return self.send_file(inner, found[0][inner], found[1], with_body)
                return self.send_error_code("EntryNotFound", found[1])
            return self.send_error_code("RepoNotFound")

        def get_api(
            self, key: str, what: str, revision: str, inner: str | None, *, with_body: bool
        ) -> None:
            found = self.find(key, revision)
            if found is None:
                return None
            files, commit = found
            if what != "tree":
                siblings = [{"rfilename": path} for path in sorted(files)]
                name = key.partition("/")[2]
                info = {"_id": "1", "id": name, "sha": commit, "siblings": siblings}
                is_private = key not in hub.public
                return self.send_json({**info, "private": is_private, "tags": []}, with_body)
            prefix = f"{inner}/" if inner else ""
            inside = sorted(path for path in files if path.startswith(prefix))
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
            for path in inside:
                entry = {"type": "file", "path": path, "size": len(files[path])}
                mark = oid(path, files[path])
                lfs = {"oid": mark, "size": len(files[path]), "pointerSize": 134}
                tree.append({**entry, "oid": mark[:40], **({"lfs": lfs} if len(mark) > 40 else {})})
            return self.send_json(tree, with_body)

        def post(self, path: str) -> None:
            if path == "/api/validate-yaml":
                return self.send_json({"errors": [], "warnings": []}, True)
            who = hub.who(self.token())
            if who is None or who["auth"]["accessToken"]["role"] == "read":
                return self.send_json({"error": "this token may not write"}, True, 403)
            if path == "/api/repos/create":
                return self.create(json.loads(self.body), who)
            batch = re.fullmatch(r"/(.+)\.git/info/lfs/objects/batch", path)
            if batch is not None:
                return self.send_json({"transfer": "basic", "objects": self.lfs()}, True)
            wanted = re.fullmatch(
                rf"/api/({KINDS})/([^/]+/[^/]+)/(preupload|commit|branch)/(.+)", path
            )
            if wanted is None:
                return self.send_error_code("RepoNotFound")
            kind, name, what, revision = wanted.groups()
            key = f"{kind}/{name}"
            if what == "branch":
                hub.repositories.setdefault(f"{key}@{revision}", dict(hub.repositories[key]))
                return self.send_json({}, True)
            found = self.find(key, revision)
            if found is None:
                return None
            return getattr(self, what)(key, revision, *found)

        def create(self, asked: dict[str, Any], who: Any) -> None:
            owner = asked.get("organization") or who["name"]
            if owner not in [who["name"], *(org["name"] for org in who["orgs"])]:
                return self.send_json({"error": f"you may not write to {owner}"}, True, 403)
            kind, name = f"{asked.get('type', 'model')}s", f"{owner}/{asked['name']}"
            is_there = f"{kind}/{name}" in hub.repositories
            if not is_there:
                hub.repositories[f"{kind}/{name}"] = {}
                if asked.get("visibility") != "private":
                    hub.public.add(f"{kind}/{name}")
            where = "" if kind == "models" else f"{kind}/"
            answer = {"url": f"{hub.address}/{where}{name}", "error": "it is there"}
            return self.send_json(answer, True, 409 if is_there else 200)

        def lfs(self) -> list[dict[str, Any]]:
            objects = [
                {"oid": item["oid"], "size": item["size"]}
                for item in json.loads(self.body)["objects"]
            ]
            for item in objects:
                if item["oid"] not in hub.objects:
                    href = f"{hub.address}/lfs/{item['oid']}"
                    item["actions"] = {"upload": {"href": href}}
            return objects

        def preupload(self, key: str, revision: str, files: Files, commit: str) -> None:
            asked = [file["path"] for file in json.loads(self.body)["files"]]
            answer = [
                {
                    "path": path,
                    "uploadMode": "regular" if path.endswith(REGULAR) else "lfs",
                    "shouldIgnore": False,
                    "oid": oid(path, files[path]) if path in files else None,
                }
                for path in asked
            ]
            return self.send_json({"files": answer}, True)

        def commit(self, key: str, revision: str, files: Files, commit: str) -> None:
            steps = [json.loads(line) for line in self.body.splitlines()]
            changed = dict(files)
            for step in steps:
                value = step["value"]
                if step["key"] == "header" and value.get("parentCommit") not in (None, commit):
                    return self.send_json({"error": "the branch has moved"}, True, 412)
                if step["key"] == "file":
                    changed[value["path"]] = base64.b64decode(value["content"])
                elif step["key"] == "lfsFile":
                    changed[value["path"]] = hub.objects[value["oid"]]
                elif step["key"] == "deletedFile":
                    changed.pop(value["path"])
            where = "" if key.startswith("models/") else key.partition("/")[0] + "/"
            at = f"{hub.address}/{where}{key.partition('/')[2]}"
            answer = {"commitUrl": f"{at}/commit/{commit_of(changed)}"}
            if "create_pr=1" in self.path:
                number = 1 + sum(name.startswith(f"{key}@refs/pr/") for name in hub.repositories)
                hub.repositories[f"{key}@refs/pr/{number}"] = changed
                answer["pullRequestUrl"] = f"{at}/discussions/{number}"
            else:
                branch = key if revision == "main" else f"{key}@{revision}"
                hub.repositories[branch].clear()
                hub.repositories[branch].update(changed)
            return self.send_json({**answer, "commitOid": commit_of(changed)}, True)

        def put(self, path: str) -> None:
            hub.objects[path.rsplit("/", 1)[-1]] = self.body
            self.send_json({}, True)

        def send_json(self, value: Any, with_body: bool, status: int = 200) -> None:
            headers = {"Content-Type": "application/json"}
            if status >= 400:
                headers["X-Error-Message"] = value["error"]
            self.send_body(json.dumps(value).encode(), with_body, headers, status)

        def send_file(self, path: str, content: bytes, commit: str, with_body: bool) -> None:
            headers = {"ETag": f'"{oid(path, content)}"', "X-Repo-Commit": commit}
            headers["Accept-Ranges"] = "bytes"
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
            kind = self.struck.kind if self.struck else ""
            if not with_body:
                return
            if kind in STOPS:
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                if kind == "stall":
                    threading.Event().wait(STALL)
                if kind == "reset":  # the client reads this as an error, not as an end
                    now = struct.pack("ii", 1, 0)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                    os.close(self.connection.detach())
                self.close_connection = True
                return
            self.wfile.write(body)

        def send_error_code(self, code: str, commit: str | None = None) -> None:
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            if commit:
                self.send_header("X-Repo-Commit", commit)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
