"""What must not leave this machine by mistake: secrets, and paths that name its folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SECRETS = {
    "a token of the Hub": rb"\b(?:hf|api_org)_[A-Za-z0-9]{20,}",
    "an AWS key": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    rb"|(?i:aws_secret_access_key)['\"]?\s*[=:]\s*['\"]?[A-Za-z0-9/+]{40}",
    "a private key": rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----",
    "a token of GitHub": rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50,})",
    "a token of Slack": rb"\bxox[abprs]-[A-Za-z0-9-]{20,}",
}
FILES_OF_SECRETS = re.compile(r"\.env|\.netrc|\.git-credentials|id_(rsa|dsa|ecdsa|ed25519)|.*\.pem")
PATHS = re.compile(
    rb"(?<![\w:/.~\\-])/(?:home|Users|root|mnt|media|tmp|work|workspace|data|opt|srv|scratch|private|"
    rb"Volumes|var|nfs|gpfs)/[\w.+-]+[^\s\"'`,;)\]}]*"
    rb"|\b[A-Za-z]:\\{1,2}(?:Users|Documents|data|work|tmp)\b[^\s\"'`]*"
)
RECORDS = ("recipe.yaml", "run.json")  # of a run, in which whatever begins with / is a path
PATHS_OF_RECORDS = re.compile(PATHS.pattern + rb"|(?<=[\s\"'])/[\w.+-]+/[^\s\"']+")
# Numbers, rows of corpora and vocabularies: not written by anyone here, and full of chance.
NUMBERS = (".safetensors", ".parquet", ".png", ".jpg", ".model", ".npy")
VOCABULARIES = ("tokenizer.json", "ngrams.json", "vocab.json", "merges.txt")


def find_leaks(folder: str | Path) -> list[str]:
    """Secrets and absolute paths in the files of a folder, each with its file and line.

    Weights, pictures and tables are not read; vocabularies are read for secrets alone. Of a secret
    the first characters are shown, never the whole.

    Args:
        folder: What is to be sent, with all its folders.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "run.json").write_text('{"data": "/home/me/pairs.tsv"}')
        >>> find_leaks(folder)
        ['run.json, line 1: an absolute path, /home/me/pairs.tsv']
    """
    folder = Path(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f"{path.relative_to(folder)}{leak}" for path in files for leak in _leaks_of(path)]


def _leaks_of(path: Path) -> Iterator[str]:
    if FILES_OF_SECRETS.fullmatch(path.name):
        yield ": a file that holds secrets by its name"
    if path.suffix in NUMBERS:
        return
    content = path.read_bytes()
    for what, pattern in SECRETS.items():
        for found in re.finditer(pattern, content):
            shown = found.group()[:8].decode("utf-8", "replace")
            yield f", line {_line(content, found)}: {what}, {shown}..."
    if path.name not in VOCABULARIES:
        paths = PATHS_OF_RECORDS if path.name in RECORDS else PATHS
        for found in paths.finditer(content):
            shown = found.group().decode("utf-8", "replace")
            yield f", line {_line(content, found)}: an absolute path, {shown}"


def _line(content: bytes, found: re.Match[bytes]) -> int:
    return content.count(b"\n", 0, found.start()) + 1
