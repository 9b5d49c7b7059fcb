"""Atomic writing of files and folders, and the file names of model directories."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from tokenizers import Tokenizer

from paraphrastic_hf.errors import DataError, DiskError, disk_error

MODULES = "modules.json"  # sentence-transformers modules, in order
SETTINGS = "config_sentence_transformers.json"  # prompts, truncate_dim, similarity
STATIC_EMBEDDING = "sentence_transformers.sentence_transformer.modules.StaticEmbedding"
PARTS_FOLDER = "tokenizers"  # one folder for each tokenizer of a mixture
WEIGHTS = "model.safetensors"
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "paraphrastic_tokenizer.json"),
    *("spiece.model", "ngrams.json", PARTS_FOLDER),
)
GENERATION_CONFIG = "generation_config.json"  # options of transformers' `generate`
SENTENCE_TRANSFORMERS_FILES = (MODULES, SETTINGS)
OLD = ".old.part"
LONG = 30  # characters (up to four bytes each) kept of a name, which may have 255 bytes
SPECIAL_TOKENS = {"pad_token": "<pad>", "unk_token": "<unk>"}


@contextmanager
def replacing(path: Path, *, is_shared: bool = False) -> Iterator[Path]:
    """Yield a temporary path, ending in `.part`, that replaces the file or folder `path` at the end
    of the block.

    If the block raises an error, the temporary file is removed and `path` stays unchanged. Use
    `is_shared` in folders that other processes write to: the temporary name is then unique, and of
    two processes that write `path`, the last to finish wins.
    """
    partial = path.with_name(path.name + ".part")
    if is_shared:
        partial = path.with_name(f"{path.name[:LONG]}.{uuid4().hex[:12]}.part")
    remove(partial)
    try:
        yield partial
        if partial.is_dir():
            _replace_folder(partial, path)
        else:
            os.replace(partial, path)
    except BaseException as error:
        remove(partial)
        if isinstance(error, DiskError) and Path(error.path).is_relative_to(partial):
            error = OSError(error.errno, "in a temporary file")
        raise (disk_error(error, path) or error) from error.__cause__


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Turn a system error in the block into an error of this package that names the file."""
    try:
        yield
    except OSError as error:
        other = DataError(f"Cannot write {path}: {error.strerror or error}")
        raise (disk_error(error, path) or other) from error


def content_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file, cached until its inode, size or times change."""
    status = os.stat(path)
    times = status.st_mtime_ns, status.st_ctime_ns
    return _content_hash(os.path.realpath(path), status.st_ino, status.st_size, times)


@lru_cache(maxsize=1 << 14)
def _content_hash(path: str, *_status: object) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)


def _replace_folder(new: Path, target: Path) -> None:
    old = new.with_name(new.name.removesuffix(".part") + OLD)
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        os.replace(target, old)
    try:
        os.replace(new, target)
    except OSError:
        if old.exists():
            os.replace(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def output_file(path: str | Path) -> Path:
    """Resolve the links in the path of an output file. Raise an error if it cannot be a file."""
    if not str(path):
        raise DataError("The name of the output file is empty")
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path} is a folder. Give a file to write")
    if target.exists() and not target.is_file():
        raise DataError(f"{path} is not a regular file. Choose another file to write")
    return target


def other_loader(directory: Path) -> str:
    """Return advice on loading a model that this package cannot read. Without `modules.json`,
    sentence-transformers would add mean pooling to any model.
    """
    if (directory / MODULES).is_file():
        return "Load the model with sentence_transformers.SentenceTransformer"
    return "Load the model with the library that wrote it"


def open_to_readers(path: Path) -> None:
    """Give a file the default permissions, because safetensors makes files private."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def digest_of(
    folder: Path, files: Iterable[Path], hash_of: Callable[[Path], str] = content_hash
) -> str:
    """Return the SHA-256 of the names and contents of files in a folder, in hexadecimal."""
    lines = (
        f"{path.relative_to(folder).as_posix()} {hash_of(path)}\n"
        for path in sorted(files)
        if path.is_file()
    )
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def write_tokenizer(directory: Path, tokenizer: Tokenizer) -> None:
    """Write `tokenizer.json` and a config that reads a literal `<pad>` as ordinary text."""
    write_bytes(directory / "tokenizer.json", tokenizer.to_str().encode("utf-8"))
    write_json(
        directory / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            **SPECIAL_TOKENS,
            "split_special_tokens": True,
            "clean_up_tokenization_spaces": False,
            "model_input_names": ["input_ids", "attention_mask"],
        },
    )


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """Return matching files in a folder, sorted, without hidden ones and macOS's `__MACOSX`."""
    return sorted(
        path
        for path in folder.glob(pattern)
        if path.is_file()
        and not any(
            part.startswith(".") or part == "__MACOSX" for part in path.relative_to(folder).parts
        )
    )


def one_line(text: str) -> str:
    """Replace tabs and line ends in a text by spaces."""
    return " ".join(text.replace("\t", " ").splitlines())


def tsv_line(*fields: str) -> str:
    return "\t".join(map(one_line, fields)) + "\n"
