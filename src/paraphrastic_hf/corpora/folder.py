"""Where a corpus's files are: the user's folder in any of the layouts people have, or the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from paraphrastic_hf.corpora.sources import SOURCES, Source
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.io.archives import ARCHIVES, is_archive, unpack
from paraphrastic_hf.io.download import cache_folder, fetch
from paraphrastic_hf.io.files import content_hash, digest_of, visible_files

DEPTH = 3
MOST_FILES = 10_000


@dataclass(frozen=True)
class Folder:
    """A corpus's files.

    Attributes:
        name: Of the corpus, for messages.
        roots: Folders to look in, the first first.
        archives: Looked into where the folders have not what is asked for.
    """

    name: str
    roots: tuple[Path, ...]
    archives: tuple[Path, ...] = ()

    def find(self, *names: str) -> Path:
        """The first of `names` that is there: below a root, or up to three folders deeper."""
        found = self.find_or_none(*names)
        if found is None:
            wanted = " or ".join(names)
            where = " or ".join(str(root) for root in self.roots)
            raise MissingFileError(
                f"{self.name}: {wanted} is not in {where}; name the folder of the official files "
                f"(`paraphrastic data info {self.name}` says where they come from)"
            )
        return found

    def places(self) -> Iterator[Path]:
        """The roots, then the folders of archives, which are unpacked when one gets so far."""
        yield from self.roots
        yield from map(_root, self.archives)

    def find_or_none(self, *names: str) -> Path | None:
        """As `find`, or None."""
        found = _find_in(self.roots, names)
        for archive in self.archives if found is None else ():
            found = found or _find_in([_root(archive)], names)
        return found

    def files(self, pattern: str) -> list[Path]:
        """Files of the first place that has any with that pattern, sorted."""
        for place in self.places():
            if place.is_file():
                return [place]
            found = visible_files(place, pattern)
            if found:
                return found
        where = " or ".join(str(root) for root in self.roots)
        raise MissingFileError(
            f"{self.name}: no file {pattern} is in {where}; name the folder of the official files"
        )

    def fingerprint(self) -> str:
        """A hash of the names and contents of the files."""
        return fingerprint(self.roots)


def _find_in(roots: Sequence[Path], names: Sequence[str]) -> Path | None:
    for root in roots:
        if root.is_file() and root.name in names:
            return root
        for name in names:
            if (root / name).is_file():
                return root / name
    for root in roots:
        for depth in range(1, DEPTH + 1):
            for name in names:
                files = visible_files(root, "/".join(["*"] * depth + [name]))
                if files:
                    return files[0]
    return None


def fingerprint(roots: Iterable[Path]) -> str:
    """Hash the names and contents of files, and of the first 10,000 files of each folder."""
    digests = (
        digest_of(root, [root] if root.is_file() else islice(root.rglob("*"), MOST_FILES))
        for root in roots
    )
    return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]


def evaluation_files(root: str | Path) -> Path:
    """The folder of the official evaluation files: `eval` in the folder of all data, or, where
    that has none, the folder itself."""
    folder = Path(root) / "eval"
    return folder if folder.is_dir() else Path(root)


def corpus_folder(source: Source, root: str | Path) -> Path | None:
    """The folder that has a corpus's own: `root`, else its `eval`; None if neither has."""
    for place in (Path(root), Path(root) / "eval"):
        if any((place / name).exists() for name in source.folders):
            return place
    return None


def open_folder(source: Source, config: str, data_dir: str | Path | None) -> Folder:
    """The files of a corpus, in the user's folder or downloaded.

    Args:
        data_dir: The corpus's own folder, archive or file, or a folder of many corpora, each
            under a name its record knows, or one with such a folder named `eval`; None to
            download.
    """
    if data_dir is None:
        return _downloaded(source, config)
    base = Path(data_dir).expanduser()
    if not base.exists():
        raise DataError(f"{source.name}: there is no folder {base}")
    named = [
        folder / name
        for folder in dict.fromkeys((base, evaluation_files(base)))
        for name in source.folders
        if (folder / name).exists()
    ]
    if not named and source.folders and _holds_corpora(base):
        raise MissingFileError(
            f"{source.name}: {base} holds other corpora, but neither it nor its folder eval holds "
            f"{' or '.join(source.folders)}; name the folder of the official files "
            f"(`paraphrastic data info {source.name}` says where they come from)"
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


def _holds_corpora(base: Path) -> bool:
    """Whether a folder has folders of corpora that records know."""
    return base.is_dir() and any(
        (folder / name).exists()
        for folder in (base, evaluation_files(base))
        for source in SOURCES.values()
        for name in source.folders
    )


def _root(path: Path) -> Path:
    """A folder, file, or the folder of an unpacked archive, which lies in the cache."""
    if not (path.is_file() and path.name.endswith(ARCHIVES)):
        return path
    name = f"{path.name}-{content_hash(path)[:16]}"
    return unpack(path, cache_folder() / "unpacked" / name)


def _downloaded(source: Source, config: str) -> Folder:
    remotes = source.remotes(config)
    if not remotes:
        raise DataError(
            f"{source.name} cannot be downloaded by a program: {source.by_hand} Then give its "
            "folder with data_dir= (--data)."
        )
    folder = cache_folder() / "downloads" / source.name
    try:
        roots = [fetch(remote, folder) for remote in remotes]
    except DataError as error:
        by_hand = f". By hand: {source.by_hand.rstrip('.')}" if source.by_hand else ""
        raise DataError(
            f"{source.name}: {error}{by_hand}. Then give the folder with data_dir= (--data)"
        ) from error
    folders = dict.fromkeys(path for path in roots if path.is_dir())
    return Folder(source.name, (folder, *folders))
