"""What must not leave this machine by mistake: secrets, and paths that name its folders."""

from __future__ import annotations

import mmap
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path

# Each pattern begins with a literal, which `re` finds fast. A look-behind after the literal then
# checks the characters before it.
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
RECORDS = ("recipe.yaml", "run.json")  # of a run, in which whatever begins with / is a path
PATHS_OF_RECORDS = re.compile(PATHS.pattern + rb"|(?<=[\s\"'])/[\w.+-]+/[^\s\"']+")
VOCABULARIES = (
    "tokenizer.json",
    "ngrams.json",
    "vocab.json",
    "merges.txt",
)  # tokens look like paths by chance
HEAD = 4096  # bytes that decide whether a file is text
CONTROLS = re.compile(
    rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]"
)  # control characters that text does not have


def find_leaks(folder: str | Path) -> list[str]:
    """Find secrets and absolute paths in the files of a folder, each with its file and line.

    Every file is read, whatever its name. Binary files are searched for tokens only, and
    vocabularies for secrets only. Only the first eight characters of a secret are shown.

    Args:
        folder: The folder, searched recursively.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "run.json").write_text('{"data": "/home/me/pairs.tsv"}')
        >>> find_leaks(folder)
        ['run.json, line 1: an absolute path, /home/me/pairs.tsv']
    """
    leaks = []
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        name = path.relative_to(folder)
        if any(map(FILES_OF_SECRETS.fullmatch, name.parts)):
            leaks.append(f"{name}: a file that holds secrets by its name")
        leaks += (f"{name}{leak}" for leak in _leaks_of(path))
    return leaks


def _leaks_of(path: Path) -> Iterator[str]:
    if not path.stat().st_size:
        return
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
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
    """Return the content of a text file, UTF-16 as UTF-8; None for a binary file."""
    if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        return content[:].decode("utf-16", "replace").encode("utf-8")
    if CONTROLS.search(content[:HEAD]):
        return None
    return content[:].replace(b"\0", b"")  # ASCII as UTF-16 without a byte order mark


def _found(pattern: re.Pattern[bytes], content: bytes | mmap.mmap) -> Iterator[tuple[int, bytes]]:
    """Yield the line number and the text of each match."""
    line, counted = 1, 0
    for found in pattern.finditer(content):
        line += content[counted : found.start()].count(b"\n")
        counted = found.start()
        yield line, found.group()
