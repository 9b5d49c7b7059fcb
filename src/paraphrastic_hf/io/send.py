"""A folder to a repository of the Hub: whether its owner lets us, and the sending itself.

What is in the folder is the business of those who call.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.io.leaks import RECORDS, find_leaks

KINDS = ("model", "dataset", "space")  # of repositories
TRIES = 4
FIRST_PAUSE = 1.0  # seconds before the second try; each further pause is twice as long
NOBODYS = (".gitattributes", "README.md")  # in a repository that is as good as empty
TOKENS = "https://huggingface.co/settings/tokens"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Destination:
    """Where a folder goes, and how.

    Attributes:
        repository: Such as `someone/model`; the account's own if it names no owner.
        kind: `model`, `dataset` or `space`.
        private: Whether a new repository is private; None leaves that to the account.
        token: Of the account; the one of `hf auth login` or of HF_TOKEN if None.
        revision: Branch, made if need be; the main one if None.
        message: What the commit says.
        pull_request: Open a pull request instead of writing to the branch.
        sdk: Of a Space: what it runs by, such as `gradio`.
    """

    repository: str
    kind: str = "model"
    private: bool | None = None
    token: str | bool | None = None
    revision: str | None = None
    message: str | None = None
    pull_request: bool = False
    sdk: str | None = None


@dataclass(frozen=True)
class Standing:
    """How things stand at a destination.

    Attributes:
        repository: Its whole name.
        exists: Whether it is there.
        files: What it holds.
    """

    repository: str
    exists: bool = False
    files: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nobody has put anything there."""
        return set(self.files) <= set(NOBODYS)


def check_name(repository: str) -> None:
    """Refuse what the Hub does not take as the name of a repository; this asks no network.

    Args:
        repository: The name.

    Raises:
        PublishError: It is none.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise PublishError(f"{repository!r} is no name of a repository: {error}") from error


def check_destination(to: Destination) -> Standing:
    """Refuse what cannot end well, before any work: no token or one that may not write, no network,
    another's name, a repository of another kind, or one that is public and was to be private.

    Args:
        to: Where a folder is to go.

    Raises:
        PublishError: One of these; the message says the way out.
    """
    from huggingface_hub import HfApi

    check_name(to.repository)
    if to.pull_request and to.revision is not None:
        raise PublishError("a pull request is to the main branch; leave out the revision")
    account = _account(to.token)
    owner, _, name = to.repository.rpartition("/")
    owner = owner or str(account["name"])
    repository = f"{owner}/{name}"
    if not to.pull_request:
        _check_owner(account, owner, repository)
    api = HfApi(token=to.token)
    found = {kind: _info(api, repository, kind) for kind in KINDS}
    info = found[to.kind]
    others = [kind for kind in KINDS if found[kind] is not None]
    if info is None and others:
        raise PublishError(
            f"{repository} is a {others[0]} on the Hub, not a {to.kind}: choose another name"
        )
    if info is None and to.pull_request:
        raise PublishError(f"there is no {to.kind} {repository} to open a pull request at")
    if info is None:
        return Standing(repository)
    if to.private and not info.private:
        raise PublishError(
            f"{repository} is public already: make it private on its settings page, or choose "
            "another name; nothing was sent"
        )
    files = tuple(file.rfilename for file in info.siblings or ())
    return Standing(repository, True, files)


def send(
    folder: str | Path, to: Destination, standing: Standing, *, stale: Sequence[str] = ()
) -> str:
    """Send a folder, in one commit where the Hub allows it.

    What fails for a moment is tried again, and what has arrived is not sent twice, in this call or
    in a later one: the Hub is asked first. So a call that broke off is simply repeated.

    Args:
        folder: What to send.
        to: Where, and how.
        standing: As `check_destination` found it.
        stale: Patterns of files that go if the folder does not have them.

    Returns:
        The address of the commit or of the pull request.

    Raises:
        PublishError: A file holds a secret or an absolute path, or the Hub refuses or cannot be
            reached.
    """
    refuse_leaks(folder)
    from huggingface_hub import HfApi

    api = HfApi(token=to.token)
    kind: Mapping[str, Any] = {"repo_type": to.kind}
    where = standing.repository
    for attempt in range(TRIES):
        try:
            if not standing.exists:
                sdk: Any = {"space_sdk": to.sdk} if to.kind == "space" else {}
                api.create_repo(where, private=to.private, exist_ok=True, **sdk, **kind)
            if to.revision is not None:
                api.create_branch(where, branch=to.revision, exist_ok=True, **kind)
            before = api.repo_info(where, revision=to.revision, **kind).sha
            commit = api.upload_folder(
                repo_id=where,
                folder_path=str(folder),
                revision=to.revision,
                commit_message=to.message or f"Upload a {to.kind} of paraphrastic_hf",
                create_pr=to.pull_request,
                parent_commit=None if standing.is_empty else before,
                delete_patterns=list(stale) or None,
                **kind,
            )
        except _failures() as error:
            if attempt + 1 == TRIES or not _passes(error):
                raise PublishError(_explained(error, where)) from error
            logger.info("sending to %s failed (%s); trying again", where, error)
            time.sleep(FIRST_PAUSE * 2**attempt)
        else:
            return str(commit.pr_url or commit.commit_url)
    raise AssertionError("unreachable")


def copy_files(folder: Path, files: Iterable[Path], output: Path) -> None:
    """Copy files of a folder to the same places in another one.

    They are copied, not linked: whoever writes to the output must not reach the originals.

    Args:
        folder: The folder. It may be a snapshot in the cache of huggingface_hub, whose files are
            links to its `blobs`.
        files: Files in it.
        output: Where to copy them.

    Raises:
        PublishError: A file is a link to a place outside the folder.
    """
    inside = [folder.resolve()]
    if folder.resolve().parent.name == "snapshots":
        inside.append(folder.resolve().parents[1] / "blobs")
    for path in files:
        place = path.resolve()
        if not any(place.is_relative_to(each) for each in inside):
            raise PublishError(
                f"nothing was sent: {path} links to {place}, outside of {folder}; remove the link, "
                "or put a copy in its place"
            )
        target = output / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(place, target)


def refuse_leaks(folder: str | Path) -> None:
    """Refuse a folder with secrets or absolute paths.

    Raises:
        PublishError: There are some; the message has the first.
    """
    leaks = find_leaks(folder)
    if leaks:
        more = f", and {len(leaks) - 3} more" if len(leaks) > 3 else ""
        is_of_run = all(leak.startswith(RECORDS) and "absolute path" in leak for leak in leaks)
        way_out = "; --hide-paths cuts these to their last part" if is_of_run else ""
        raise PublishError(
            f"nothing was sent, since files hold what should not leave this machine: "
            f"{'; '.join(leaks[:3])}{more}{way_out}"
        )


def _failures() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises: errors of its HTTP library, whichever it uses, of files, and
    RuntimeError for a large file that could not be sent."""
    from huggingface_hub.errors import HfHubHTTPError

    return (*HfHubHTTPError.__bases__, OSError, ValueError, RuntimeError)


def _status(error: BaseException | None) -> int:
    """The status of the answer that an error is about; 0 where there was no answer."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status:
            return int(status)
        error = error.__cause__
    return 0


def _passes(error: BaseException) -> bool:
    """Whether a failure may pass by itself: no answer, or one of a server in trouble."""
    status = _status(error)
    return status >= 500 or status == 429 or (status == 0 and not isinstance(error, ValueError))


def _explained(error: BaseException, where: str) -> str:
    status = _status(error)
    if status == 0:
        return f"cannot reach {_endpoint()}: {error}; repeat the command, it goes on"
    if status == 403:
        return f"the Hub does not let this token write to {where}: {error}"
    if status == 412:
        return f"{where} has changed while it was written to; repeat the command"
    return f"cannot upload to {where}: {error}"


def _endpoint() -> str:
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


@contextmanager
def _asking(what: str) -> Iterator[None]:
    """Turn what goes wrong with a question to the Hub into a refusal."""
    try:
        yield
    except _failures() as error:
        if isinstance(error, PublishError):
            raise
        raise PublishError(
            f"cannot ask {_endpoint()} {what}: {error}; without a network, --dry-run writes the "
            "folder and sends nothing"
        ) from error


def _account(token: str | bool | None) -> dict[str, Any]:
    """Whose token it is, if it may write.

    Raises:
        PublishError: There is none, the Hub does not know it, or it may only read.
    """
    from huggingface_hub import HfApi, get_token

    given = get_token() if token is None or token is True else token
    if not given:
        raise PublishError(
            f"there is no token of the Hub: make one that may write at {TOKENS}, then run "
            "`hf auth login` or set HF_TOKEN"
        )
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
        raise PublishError("HF_HUB_OFFLINE is set, so nothing can be sent; unset it, or --dry-run")
    with _asking("whose the token is"):
        try:
            account: dict[str, Any] = HfApi().whoami(given)
        except _failures() as error:
            if _status(error) in (401, 403):
                raise PublishError(
                    f"the Hub does not know this token (it may have expired): make one at {TOKENS}"
                ) from error
            raise
    role = account.get("auth", {}).get("accessToken", {}).get("role")
    if role == "read":
        raise PublishError(
            f"this token may only read: make one that may write at {TOKENS}, then run "
            "`hf auth login`"
        )
    return account


def _check_owner(account: Mapping[str, Any], owner: str, repository: str) -> None:
    """Refuse a name that is not the account's, and a token that may not write there."""
    roles = {org["name"]: org.get("roleInOrg") for org in account.get("orgs", ())}
    writing = [str(account["name"]), *(name for name, role in roles.items() if role != "read")]
    if owner not in writing:
        why = "may only be read by it" if owner in roles else "is not theirs to write to"
        base = repository.partition("/")[2]
        theirs = " or ".join(f"{name}/{base}" for name in writing)
        raise PublishError(
            f"{repository}: the token is of {account['name']}, and {owner} {why}; choose {theirs}, "
            "or --pull-request"
        )
    token = account.get("auth", {}).get("accessToken", {})
    if token.get("role") != "fineGrained":
        return
    scopes = token.get("fineGrained", {}).get("scoped", ())
    names = {
        scope.get("entity", {}).get("name")
        for scope in scopes
        if "repo.write" in scope.get("permissions", ())
    }
    if not names & {owner, repository}:
        raise PublishError(
            f"this fine-grained token may not write to {repository}: give it the permission to "
            f"write to repositories of {owner} at {TOKENS}"
        )


def _info(api: Any, repository: str, kind: str) -> Any:
    """What the Hub knows of a repository; None if there is none of that kind."""
    from huggingface_hub.errors import RepositoryNotFoundError

    with _asking(f"for {repository}"):
        try:
            return api.repo_info(repository, repo_type=kind)
        except RepositoryNotFoundError:
            return None
