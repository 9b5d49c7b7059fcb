from __future__ import annotations

import tarfile
from pathlib import Path

from paraphrastic_hf.corpora.sources import SOURCES, Source, checksums
from paraphrastic_hf.io.download import Remote, _digest_of_members
from paraphrastic_hf.io.files import content_hash


def remotes() -> dict[tuple[str, str], Remote]:
    """Every remote file by corpus and path. Corpora of any language pair count once."""
    return {
        (source.name, remote.path): remote
        for source in SOURCES.values()
        for config in source.configs or ["en-fr"]
        for remote in source.remotes(config)
    }


def test_numbers_of_files_with_checksums() -> None:
    """These numbers are in docs/data.md."""
    files = remotes().values()
    whole = sum(remote.sha256 is not None for remote in files)
    members = sum(remote.sha256 is None and remote.is_known for remote in files)
    assert (whole, members, len(files)) == (329, 5, 390)
    assert all(remote.size is not None for remote in files if remote.sha256)


def test_every_checksum_belongs_to_a_record() -> None:
    known = remotes()
    for corpus, records in checksums().items():
        for place in records:
            assert (corpus, place.partition("!")[0]) in known, place


def test_checksums_match_the_official_files(data: Path) -> None:
    checked = set()
    for (corpus, place), remote in remotes().items():
        for path in places(SOURCES[corpus], data, place) if remote.sha256 else []:
            assert (content_hash(path), path.stat().st_size) == (remote.sha256, remote.size), path
            checked.add((corpus, place))
    assert len(checked) == 280


def places(source: Source, folder: Path, place: str) -> list[Path]:
    found = [
        folder / name / inside
        for name in source.folders
        for inside in (place, f"task1/raw/{place}")
    ]
    return [path for path in found if path.is_file()][:1]


def test_checksums_of_archive_members_match_the_official_files(data: Path, tmp_path: Path) -> None:
    with tarfile.open(data / "gum_constituency" / "const.tar.gz") as packed:
        packed.extractall(tmp_path / "gum" / "repository", filter="data")
    folders = {
        "gum": tmp_path / "gum",
        "stsb": data / "stsbenchmark",
        "clean_development": data / "stsbenchmark",
        "sts17": data / "sts17",
    }
    checked = 0
    for (corpus, _), remote in remotes().items():
        for pattern, known in remote.members.items():
            assert _digest_of_members(folders[corpus], pattern) == known, (corpus, pattern)
            checked += 1
    assert checked == 5
