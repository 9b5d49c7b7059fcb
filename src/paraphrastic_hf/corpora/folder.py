"""Search for a corpus's files in a user's folder or in the download cache."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from paraphrastic_hf.corpora.sources import SOURCES, Source
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.archives import ARCHIVES, is_archive, unpack
from paraphrastic_hf.io.download import cache_folder, fetch
from paraphrastic_hf.io.files import content_hash, digest_of, visible_files

DEPTH = 3
MAX_FILES = 10_000


@dataclass(frozen=True)
class Folder:
    """Files of a corpus."""

    name: str
    roots: tuple[Path, ...]
    archives: tuple[Path, ...] = ()  # to search if the roots lack a file

    def find(self, *names: str) -> Path:
        """Return the first of `names` found below a root, at most three folders deep."""
        found = self.find_or_none(*names)
        if found is None:
            raise self._missing(*names)
        return found

    def _missing(self, *names: str) -> MissingFileError:
        where = " or ".join(map(str, self.roots))
        return MissingFileError(
            f"{self.name}: found no {' or '.join(names)} in {where}. {_hint(self.name)}"
        )

    def places(self) -> Iterator[Path]:
        """Yield the roots, then the archives, which are unpacked when reached."""
        yield from self.roots
        yield from map(_root, self.archives)

    def find_or_none(self, *names: str) -> Path | None:
        """Return the file that `find` would return, or None if it does not exist."""
        found = _find_in(self.roots, names)
        for archive in self.archives if found is None else ():
            found = found or _find_in([_root(archive)], names)
        return found

    def files(self, pattern: str) -> list[Path]:
        """Return the sorted matches of a pattern in the first root or archive that has any."""
        for place in self.places():
            if place.is_file():
                return [place]
            found = visible_files(place, pattern)
            if found:
                return found
        raise self._missing(pattern)

    def fingerprint(self) -> str:
        return fingerprint(self.roots)


def _hint(name: str) -> str:
    return f"Give the folder of the official files (see `paraphrastic data info {name}`)"


def _find_in(roots: Sequence[Path], names: Sequence[str]) -> Path | None:
    for root in roots:
        if root.is_file() and root.name in names:
            return root
    for root, name in product(roots, names):
        if (root / name).is_file():
            return root / name
    for root, depth, name in product(roots, range(1, DEPTH + 1), names):
        if files := visible_files(root, "*/" * depth + name):
            return files[0]
    return None


def fingerprint(roots: Iterable[Path]) -> str:
    """Hash the names and contents of files, and of the first 10,000 files of each folder."""
    digests = (
        digest_of(root, [root] if root.is_file() else islice(root.rglob("*"), MAX_FILES))
        for root in roots
    )
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def evaluation_files(root: str | Path) -> Path:
    """Return the folder of official evaluation files: `root/eval` if it exists, else `root`."""
    folder = Path(root) / "eval"
    return folder if folder.is_dir() else Path(root)


def corpus_folder(source: Source, root: str | Path) -> Path | None:
    """Return the folder `root` or `root/eval` that contains the folder of the corpus, if any."""
    for place in (Path(root), Path(root) / "eval"):
        if any((place / name).exists() for name in source.folders):
            return place
    return None


def open_folder(source: Source, config: str, data_dir: str | Path | None) -> Folder:
    """Locate the files of a corpus in `data_dir`, or download them. `data_dir` is its folder,
    archive or file, or a folder of many corpora, with its folder in it or in the subfolder `eval`.
    """
    if data_dir is None:
        return _downloaded(source, config)
    base = Path(data_dir).expanduser()
    if not base.exists():
        raise DataError(f"{source.name}: the folder {base} does not exist")
    named = [
        folder / name
        for folder in dict.fromkeys((base, evaluation_files(base)))
        for name in source.folders
        if (folder / name).exists()
    ]
    others = (each for each in SOURCES.values() if corpus_folder(each, base))
    if not named and source.folders and base.is_dir() and any(others):
        raise MissingFileError(
            f"{source.name}: {base} contains other corpora, but neither "
            f"{' nor '.join(source.folders)}. {_hint(source.name)}"
        )
    roots = [_root(path) for path in named or [base]]
    official = {Path(remote.path).name for remote in source.remotes(config)}
    archives = [
        path
        for root in roots
        if root.is_dir()
        for path in visible_files(root, "*")
        if is_archive(path) and (source.folders or path.name in official)
    ]
    return Folder(source.name, tuple(roots), tuple(archives))


def _root(path: Path) -> Path:
    if not (path.is_file() and path.name.endswith(ARCHIVES)):
        return path
    name = f"{path.name}-{content_hash(path)[:16]}"
    return unpack(path, cache_folder() / "unpacked" / name)


def _downloaded(source: Source, config: str) -> Folder:
    remotes = source.remotes(config)
    if not remotes:
        raise DataError(
            f"{source.name} cannot be downloaded automatically: {source.by_hand} Then give its "
            "folder with data_dir= (--data)"
        )
    folder = cache_folder() / "downloads" / source.name
    try:
        roots = [fetch(remote, folder) for remote in remotes]
    except DataError as error:
        by_hand = f". Manual download: {source.by_hand.rstrip('.')}" if source.by_hand else ""
        raise DataError(
            f"{source.name}: {error}{by_hand}. Then give the folder with data_dir= (--data)"
        ) from error
    folders = dict.fromkeys(path for path in roots if path.is_dir())
    return Folder(source.name, (folder, *folders))
