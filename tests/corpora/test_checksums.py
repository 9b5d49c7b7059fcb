"""What is on record of official files: that it is that of the files at hand, and of how many."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from paraphrastic_hf.corpora.sources import SOURCES, Source, checksums
from paraphrastic_hf.io.download import Remote, _digest_of_members
from paraphrastic_hf.io.files import content_hash

PLAIN_HTTP = "http://nlpgrid.seas.upenn.edu/"  # not known to serve https


def remotes() -> dict[tuple[str, str], Remote]:
    """Every remote file by corpus and place; of corpora of any language pair, one pair's."""
    return {
        (source.name, remote.path): remote
        for source in SOURCES.values()
        for config in source.configs or ["en-fr"]
        for remote in source.remotes(config)
    }


@pytest.fixture(scope="module")
def eval_folder() -> Path:
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set: no official files of the corpora here")
    return Path(root) / "eval"


def test_how_many_files_are_verified() -> None:
    """docs/data.md gives these figures."""
    files = remotes().values()
    whole = sum(remote.sha256 is not None for remote in files)
    members = sum(remote.sha256 is None and remote.is_known for remote in files)
    assert (whole, members, len(files)) == (329, 5, 390)
    assert all(remote.size is not None for remote in files if remote.sha256)


def test_every_record_is_of_a_file_that_is_asked_for() -> None:
    known = remotes()
    for corpus, records in checksums().items():
        for place in records:
            assert (corpus, place.partition("!")[0]) in known, place


def test_addresses_are_encrypted_where_the_host_is_known_to_do_it() -> None:
    plain = [r.url for r in remotes().values() if not r.url.startswith("https://")]
    assert len(plain) == 24
    assert all(url.startswith(PLAIN_HTTP) for url in plain)


def test_records_are_those_of_the_files_at_hand(eval_folder: Path) -> None:
    """Of every file on record that lies in the folder as it is on the server."""
    checked = set()
    for (corpus, place), remote in remotes().items():
        for path in places(SOURCES[corpus], eval_folder, place) if remote.sha256 else []:
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


def test_records_of_members_are_those_of_the_files_at_hand(
    eval_folder: Path, tmp_path: Path
) -> None:
    with tarfile.open(eval_folder / "gum_constituency" / "const.tar.gz") as packed:
        packed.extractall(tmp_path / "gum" / "repository", filter="data")
    folders = {
        "gum": tmp_path / "gum",
        "stsb": eval_folder / "stsbenchmark",
        "clean_development": eval_folder / "stsbenchmark",
        "sts17": eval_folder / "sts17",
    }
    checked = 0
    for (corpus, _), remote in remotes().items():
        for pattern, known in remote.members.items():
            assert _digest_of_members(folders[corpus], pattern) == known, (corpus, pattern)
            checked += 1
    assert checked == 5
