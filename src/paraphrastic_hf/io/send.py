"""Uploads to the Hub, after a search for secrets and absolute paths of this machine."""

import mmap
import re
import shutil
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.io.download import status_of

# Each pattern starts with a literal, which `re` finds fast. A look-behind then checks the
# characters before it.
TOKENS = {
    "a token of the Hub": rb"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{20,}|api_org_[A-Za-z0-9]{20,}",
    "an AWS key": rb"A(?:KIA|SIA)(?<![A-Za-z0-9]....)[0-9A-Z]{16}(?![A-Za-z0-9])",
    "a private key": rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----",
    "a token of GitHub": rb"g(?:h[pousr]_[A-Za-z0-9]{36}|ithub_pat_\w{50,})",
    "a token of GitLab": rb"gl(?:pat|ptt|dt|rt|cbt|ft|imt|agent|oas|soat)-[\w.-]{20,}",
    "a token of Slack": rb"xox[abeoprs]-[A-Za-z0-9-]{20,}",
    "a key of OpenAI or Anthropic": rb"sk-(?<![\w-]sk-)(?:(?:proj|svcacct|admin|ant|or)-[\w-]{20,}"
    rb"|[A-Za-z0-9]{32,})",
    "a key of Google": rb"AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}",
    "a token of npm": rb"npm_(?<!\wnpm_)[A-Za-z0-9]{36}",
    "a token of PyPI": rb"pypi-AgE[\w-]{50,}",
    "a token of wandb": rb"wandb_v1_\w{20,}",
}
TOKENS_OF_TEXT = {  # only in text: binary files match these by chance
    "a password in an address": rb"://(?=[^\s/:@\"'<>{}$]{0,64}:[^\s/@\"'<>{}$]{1,128}@)",
    "a key of wandb": rb"(?i:wandb)[^\n]{0,60}?(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])",
    "a key": rb"(?i:api|access|auth|secret)[_-]?(?i:key|token)[\"']?\s*[=:]\s*[\"']?"
    rb"(?=[A-Za-z/+_-]*[0-9])[\w/+-]{20,}",
}
FILES_OF_SECRETS = re.compile(
    r"\.env(\..+)?|[._]netrc|\.git-credentials|\.npmrc|\.pypirc|\.htpasswd|\.ssh|\.aws|\.gnupg"
    r"|secrets\.\w+|credentials(\.\w+)?|id_(rsa|dsa|ecdsa|ed25519)(\..+)?"
    r"|.*\.(pem|key|p12|pfx|jks|kdbx)"
)
PATHS = re.compile(
    rb"(?<![\w:/.~\\-])/(?:home|Users|root|mnt|media|tmp|work|workspace|data|opt|srv|scratch|private|"
    rb"Volumes|var|nfs|gpfs|lustre|beegfs|cephfs|fsx)\d*/[\w.+\x80-\xff-]+[^\s\"'`,;)\]}]*"
    rb"|\bfile:/+\w[^\s\"'`,;)\]}]*"
    rb"|\b[A-Za-z]:[\\/]{1,2}(?:Users|Documents|data|work|tmp)\b[^\s\"'`]*"
)
RECORDS = ("recipe.yaml", "run.json")  # training records, in which a leading / means a path
PATHS_OF_RECORDS = re.compile(PATHS.pattern + rb"|(?<=[\s\"'])/[\w.+-]+/[^\s\"']+")
# tokens may look like paths by chance
VOCABULARIES = ("tokenizer.json", "ngrams.json", "vocab.json", "merges.txt")
HEAD = 4096  # bytes that decide whether a file is text
CONTROLS = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")  # they do not occur in text


def find_leaks(folder: str | Path) -> list[str]:
    """List secrets (first eight characters) and absolute paths in the files of a folder, with file
    and line. Binary files are searched only for access tokens, and vocabularies only for secrets.
    """
    leaks = []
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if any(map(FILES_OF_SECRETS.fullmatch, name.parts)):
            leaks.append(f"{name}: a file name used for secrets")
        leaks += (f"{name}{leak}" for leak in _leaks_of(path))
    return leaks


def _leaks_of(path: Path) -> Iterator[str]:
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        text = _as_text(content)
        searched = content if text is None else text
        for what, pattern in (TOKENS if text is None else TOKENS | TOKENS_OF_TEXT).items():
            for line, found in _found(re.compile(pattern), searched):
                shown = found[:8].decode("utf-8", "replace")
                place = "" if text is None else f", line {line}"
                yield f"{place}: {what}, {shown}..."
    if text is not None and path.name not in VOCABULARIES:
        paths = PATHS_OF_RECORDS if path.name in RECORDS else PATHS
        for line, found in _found(paths, text):
            yield f", line {line}: an absolute path, {found.decode('utf-8', 'replace')}"


def _as_text(content: mmap.mmap) -> bytes | None:
    """Return the content of a text file, with UTF-16 converted to UTF-8. None for a binary file."""
    if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        return content[:].decode("utf-16", "replace").encode("utf-8")
    if CONTROLS.search(content[:HEAD]):
        return None
    return content[:].replace(b"\0", b"")  # ASCII as UTF-16 without a byte order mark


def _found(pattern: re.Pattern[bytes], content: bytes | mmap.mmap) -> Iterator[tuple[int, bytes]]:
    line, counted = 1, 0
    for found in pattern.finditer(content):
        line += content[counted : found.start()].count(b"\n")
        counted = found.start()
        yield line, found.group()


SETTINGS = "https://huggingface.co/settings/tokens"


@dataclass(frozen=True)
class Destination:
    """Target of an upload."""

    repository: str  # such as someone/model; the default owner is the account of the token
    kind: str = "model"  # or dataset or space
    private: bool | None = None  # visibility of a new repository; None: the account's default
    must_be_private: bool = False  # refuse an existing public repository
    token: str | bool | None = None  # None: the token of `hf auth login` or HF_TOKEN
    revision: str | None = None  # branch, created if missing; None: the main branch
    message: str | None = None
    pull_request: bool = False
    sdk: str | None = None  # of a Space, such as gradio


def check_name(repository: str) -> None:
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repository)
    except ValueError as error:
        raise PublishError(f"Invalid repository name {repository!r}: {error}") from error


def upload(to: Destination, gather: Callable[[Path, str], Sequence[str]]) -> str:
    """Upload files in one commit, after checking the token and the repository. Return the URL of
    the commit or pull request.

    `gather` takes an empty folder and the repository name, and writes the files to upload. It
    returns patterns of obsolete files: remote files that match are deleted unless the folder
    contains them.
    """
    repository, exists = _checked(to)
    with tempfile.TemporaryDirectory() as place:
        stale = gather(Path(place), repository)
        refuse_leaks(place)
        return _send(Path(place), replace(to, repository=repository), exists, stale)


def _checked(to: Destination) -> tuple[str, bool]:
    """Return the full name of a repository, and whether it exists."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    check_name(to.repository)
    if to.pull_request and to.revision is not None:
        raise PublishError("A pull request always targets the branch main. Leave out the revision")
    api = HfApi(token=to.token)
    with _explained(to.repository):
        account = api.whoami()
        owner, _, name = to.repository.rpartition("/")
        repository = f"{owner or account['name']}/{name}"
        try:
            is_private = api.repo_info(repository, repo_type=to.kind).private
        except RepositoryNotFoundError:
            is_private = None
    if account.get("auth", {}).get("accessToken", {}).get("role") == "read":
        raise PublishError(f"The token is read-only. Create one with write access at {SETTINGS}")
    if is_private is None and to.pull_request:
        raise PublishError(f"The {to.kind} {repository} does not exist. Create it first")
    if is_private is False and to.must_be_private:
        raise PublishError(f"{repository} is public. Make it private, or choose another name")
    return repository, is_private is not None


def _send(folder: Path, to: Destination, exists: bool, stale: Sequence[str]) -> str:
    from huggingface_hub import HfApi

    api, where, kind = HfApi(token=to.token), to.repository, to.kind
    with _explained(where):
        if not exists:
            api.create_repo(
                where, repo_type=kind, private=to.private, exist_ok=True, space_sdk=to.sdk
            )
        if to.revision is not None:
            api.create_branch(where, repo_type=kind, branch=to.revision, exist_ok=True)
        before = api.repo_info(where, repo_type=kind, revision=to.revision).sha
        commit = api.upload_folder(
            repo_id=where,
            repo_type=kind,
            folder_path=folder,
            revision=to.revision,
            commit_message=to.message or f"Upload a {kind} of paraphrastic_hf",
            create_pr=to.pull_request,
            parent_commit=before,  # fail if the branch changes meanwhile
            delete_patterns=list(stale) or None,
        )
    return str(commit.pr_url or commit.commit_url)


def copy_files(folder: Path, files: Iterable[Path], output: Path) -> None:
    """Copy files of a folder to the same relative paths in another. Links out of the folder are
    refused, except to `blobs` in the cache of huggingface_hub.
    """
    inside = [folder.resolve()]
    if folder.resolve().parent.name == "snapshots":
        inside.append(folder.resolve().parents[1] / "blobs")
    for path in files:
        place = path.resolve()
        if not any(place.is_relative_to(each) for each in inside):
            raise PublishError(f"{path} links to {place}, outside of {folder}. Copy the file")
        target = output / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, target)


def refuse_leaks(folder: str | Path) -> None:
    leaks = find_leaks(folder)
    if leaks:
        more = f", and {len(leaks) - 3} more" if len(leaks) > 3 else ""
        is_of_run = all(leak.startswith(RECORDS) and "absolute path" in leak for leak in leaks)
        fix = ". Shorten these to their last part with --hide-paths" if is_of_run else ""
        raise PublishError(
            f"Nothing was uploaded: private content in {'; '.join(leaks[:3])}{more}{fix}"
        )


@contextmanager
def _explained(repository: str) -> Iterator[None]:
    from huggingface_hub import constants
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    hub = constants.ENDPOINT
    # errors of its HTTP library, and RuntimeError if the upload of a large file fails
    failures: tuple[type[Exception], ...]
    failures = (*HfHubHTTPError.__bases__, OSError, ValueError, RuntimeError)
    try:
        yield
    except failures as error:
        messages = {
            0: f"Cannot reach {hub} ({error}). Repeat the command later, or write the folder with "
            "--dry-run",
            401: f"No valid token. Create one with write access at {SETTINGS}, then run "
            "`hf auth login` or set HF_TOKEN",
            403: f"The token may not write to {repository}",
            412: f"{repository} changed during the upload. Repeat the command",
        }
        status = 401 if isinstance(error, LocalTokenNotFoundError) else status_of(error)
        other = f"{hub} refused {repository} ({error}). Repeat the command"
        raise PublishError(messages.get(status, other)) from error
