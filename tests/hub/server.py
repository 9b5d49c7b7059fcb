"""A small local server for the part of the Hub's protocol that this package uses, with faults."""

import base64
import hashlib
import json
import os
import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
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

    def __post_init__(self):
        self.planned = self.times


def account(name, role="write", orgs=(), **token):
    """The Hub's description of a token."""
    of_token = {"accessToken": {"displayName": "test", "role": role, **token}}
    listed = [{"name": org, "roleInOrg": "write"} for org in orgs]
    return {"name": name, "type": "user", "orgs": listed, "auth": of_token}


def environment(endpoint, home, token="hf_test"):
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


def commit_of(files):
    digest = hashlib.sha1()
    for path in sorted(files):
        digest.update(path.encode() + b"\0" + hashlib.sha1(files[path]).digest())
    return digest.hexdigest()


def oid(path, content):
    """Hash of a file's content: SHA-256 for LFS, else git's."""
    if not path.endswith(REGULAR):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """State of the server.

    Repositories have keys such as `datasets/me/sts`, and `datasets/me/sts@old` for the branch
    `old`.
    """

    def __init__(self, repositories, tokens, accounts):
        self.repositories, self.tokens, self.accounts = repositories, tokens, accounts
        self.objects: Files = {}
        self.commits: dict[tuple[str, str], Files] = {}
        self.public: set[str] = set()
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.address = ""

    def at(self, key, revision):
        """Files and commit of a revision, or None."""
        for name, files in list(self.repositories.items()):
            if name.partition("@")[0] == key:
                self.commits[key, commit_of(files)] = dict(files)
        branch = key if revision in (None, "main") else f"{key}@{revision}"
        files = self.repositories.get(branch, self.commits.get((key, str(revision))))
        return None if files is None else (files, commit_of(files))

    def fault(self, request):
        """Return the fault of a request, and count it."""
        self.requests.append(request)
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.matches, request):
                fault.times -= 1
                return fault
        return None

    def who(self, token):
        """Account of a token. Without known accounts, any token is valid."""
        return self.accounts.get(token) if self.accounts else account("me", orgs=["someone"])


@contextmanager
def running(repositories=None, tokens=None, accounts=None):
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
def serve(repositories, tokens=None):
    with running(repositories, tokens) as hub:
        yield hub.address


@contextmanager
def pointing(hub, home, *, token="hf_test"):
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


def folder_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Refusal(Exception):
    """An error answer: status, headers and optionally a message."""


REPOSITORY, REVISION = rf"({KINDS})/([^/]+/[^/]+)", r"(refs/pr/\d+|[^/]+)"
ROUTES = {  # requests, and the methods of `Handler` that answer them
    "GET /api/whoami-v2": "account",
    rf"GET /api/{REPOSITORY}(?:/revision/{REVISION})?": "info",
    rf"GET /api/{REPOSITORY}/tree/{REVISION}(?:/(.*))?": "tree",
    rf"GET /(?:({KINDS})/)?([^/]+/[^/]+)/resolve/{REVISION}/(.+)": "file",
    "POST /api/validate-yaml": "validate",
    "POST /api/repos/create": "create",
    r"POST /.+\.git/info/lfs/objects/batch": "lfs",
    rf"POST /api/{REPOSITORY}/preupload/(.+)": "preupload",
    rf"POST /api/{REPOSITORY}/commit/(.+)": "commit",
    rf"POST /api/{REPOSITORY}/branch/(.+)": "branch",
    "PUT /lfs/(.+)": "put",
}


def handler(hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        struck: Fault | None = None

        def handle_request(self):
            path = unquote(urlsplit(self.path).path)
            self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.struck = hub.fault(f"{self.command} {path}")
            kind = self.struck.kind if self.struck else ""
            with suppress(ConnectionError):
                if kind == "500":
                    self.close_connection = False
                    self.send(b"the disk of the Hub is full", 500)
                elif kind == "429":
                    self.send(b"later", 429, {"Retry-After": "0"})
                elif kind in STOPS and self.command != "GET":
                    if kind == "stall":
                        threading.Event().wait(STALL)
                    self.close_connection = True
                else:
                    self.answer(f"{self.command.replace('HEAD', 'GET')} {path}")
            if self.struck and self.struck.then:
                self.struck.then()

        do_HEAD = do_GET = do_POST = do_PUT = handle_request

        def answer(self, request):
            """Send the JSON of the method for a request, unless the method sends its answer."""
            routes = ((re.fullmatch(pattern, request), name) for pattern, name in ROUTES.items())
            found, name = next((route for route in routes if route[0]), (None, ""))
            try:
                if found is None:
                    raise Refusal(404, {"X-Error-Code": "RepoNotFound"})
                if self.command == "POST" and name != "validate":
                    who = self.who()
                    if who is None or who["auth"]["accessToken"]["role"] == "read":
                        raise Refusal(403, {}, "this token may not write")
                value = getattr(self, name)(*found.groups())
                if value is not None:
                    self.send_json(value)
            except Refusal as refusal:
                status, headers, *message = refusal.args
                self.send_json({"error": "".join(message)}, status, headers)

        def token(self):
            return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

        def who(self):
            return hub.who(self.token())

        def find(self, kind, name, revision):
            """Return the files and the commit of a revision."""
            key = f"{kind or 'models'}/{name}"
            wanted = hub.tokens.get(key)
            is_there = any(each.partition("@")[0] == key for each in hub.repositories)
            if not is_there or (wanted and self.token() != wanted):
                raise Refusal(404, {"X-Error-Code": "RepoNotFound"})
            found = hub.at(key, revision)
            if found is None:
                raise Refusal(404, {"X-Error-Code": "RevisionNotFound"})
            return found

        def account(self):
            who = self.who() if self.token() else None
            if who is None:
                raise Refusal(401, {}, "Invalid credentials")
            return who

        def info(self, kind, name, revision):
            files, commit = self.find(kind, name, revision)
            siblings = [{"rfilename": path} for path in sorted(files)]
            is_private = f"{kind}/{name}" not in hub.public
            about = {"_id": "1", "id": name, "sha": commit, "siblings": siblings}
            return {**about, "private": is_private, "tags": []}

        def tree(self, kind, name, revision, inner):
            files, _ = self.find(kind, name, revision)
            prefix = f"{inner}/" if inner else ""
            inside = sorted(path for path in files if path.startswith(prefix))
            folders = {str(parent) for path in inside for parent in PurePosixPath(path).parents}
            tree = [
                {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
                for path in sorted(folders - {"."})
                if path.startswith(prefix)
            ]
            for path in inside:
                mark, size = oid(path, files[path]), len(files[path])
                lfs = {"lfs": {"oid": mark, "size": size, "pointerSize": 134}}
                entry = {"type": "file", "path": path, "size": size, "oid": mark[:40]}
                tree.append({**entry, **(lfs if len(mark) > 40 else {})})
            return tree

        def file(self, kind, name, revision, path):
            files, commit = self.find(kind, name, revision)
            if path not in files:
                raise Refusal(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
            content = files[path]
            headers = {"ETag": f'"{oid(path, content)}"', "X-Repo-Commit": commit}
            headers["Accept-Ranges"] = "bytes"
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked is None:
                return self.send(content, 200, headers)
            start, end = int(asked.group(1)), int(asked.group(2) or len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            return self.send(content[start : end + 1], 206, headers)

        def validate(self):
            return {"errors": [], "warnings": []}

        def create(self):
            asked, who = json.loads(self.body), self.who()
            owner = asked.get("organization") or who["name"]
            if owner not in [who["name"], *(org["name"] for org in who["orgs"])]:
                raise Refusal(403, {}, f"you may not write to {owner}")
            kind, name = f"{asked.get('type', 'model')}s", f"{owner}/{asked['name']}"
            is_there = f"{kind}/{name}" in hub.repositories
            if not is_there:
                hub.repositories[f"{kind}/{name}"] = {}
                if asked.get("visibility") != "private":
                    hub.public.add(f"{kind}/{name}")
            answer = {"url": address_of(kind, name), "error": "it is there"}
            self.send_json(answer, 409 if is_there else 200)

        def lfs(self):
            objects = [
                {"oid": item["oid"], "size": item["size"]}
                for item in json.loads(self.body)["objects"]
            ]
            for item in objects:
                if item["oid"] not in hub.objects:
                    href = f"{hub.address}/lfs/{item['oid']}"
                    item["actions"] = {"upload": {"href": href}}
            return {"transfer": "basic", "objects": objects}

        def preupload(self, kind, name, revision):
            files, _ = self.find(kind, name, revision)
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
            return {"files": answer}

        def commit(self, kind, name, revision):
            files, commit = self.find(kind, name, revision)
            changed = dict(files)
            for step in map(json.loads, self.body.splitlines()):
                value = step["value"]
                if step["key"] == "header" and value.get("parentCommit") not in (None, commit):
                    raise Refusal(412, {}, "the branch has moved")
                if step["key"] == "file":
                    changed[value["path"]] = base64.b64decode(value["content"])
                elif step["key"] == "lfsFile":
                    changed[value["path"]] = hub.objects[value["oid"]]
                elif step["key"] == "deletedFile":
                    changed.pop(value["path"])
            key, made = f"{kind}/{name}", commit_of(changed)
            answer = {"commitUrl": f"{address_of(kind, name)}/commit/{made}", "commitOid": made}
            if "create_pr=1" in self.path:
                number = 1 + sum(each.startswith(f"{key}@refs/pr/") for each in hub.repositories)
                hub.repositories[f"{key}@refs/pr/{number}"] = changed
                return {
                    **answer,
                    "pullRequestUrl": f"{address_of(kind, name)}/discussions/{number}",
                }
            branch = hub.repositories[key if revision == "main" else f"{key}@{revision}"]
            branch.clear()
            branch.update(changed)
            return answer

        def branch(self, kind, name, revision):
            key = f"{kind}/{name}"
            hub.repositories.setdefault(f"{key}@{revision}", dict(hub.repositories[key]))
            return {}

        def put(self, name):
            hub.objects[name] = self.body
            return {}

        def send_json(self, value, status=200, headers=None):
            headers = {"Content-Type": "application/json", **(headers or {})}
            if status >= 400 and value["error"]:
                headers["X-Error-Message"] = value["error"]
            self.send(json.dumps(value).encode(), status, headers)

        def send(self, body, status, headers=None):
            self.send_response(status)
            for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            kind = self.struck.kind if self.struck else ""
            if self.command == "HEAD":
                return
            if kind not in STOPS:
                self.wfile.write(body)
                return
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if kind == "stall":
                threading.Event().wait(STALL)
            if kind == "reset":  # the client reads this as an error, not as an end
                now = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                os.close(self.connection.detach())
            self.close_connection = True

        def log_message(self, *_):
            pass

    def address_of(kind, name):
        return f"{hub.address}/{'' if kind == 'models' else f'{kind}/'}{name}"

    return Handler
