import tarfile

from paraphrastic_hf.corpora.sources import SOURCES, checksums
from paraphrastic_hf.io.download import _digest_of_members
from paraphrastic_hf.io.files import content_hash


def remotes():
    """Every remote file by corpus and path. Corpora of any language pair count once."""
    return {
        (source.name, remote.path): remote
        for source in SOURCES.values()
        for config in source.configs or ["en-fr"]
        for remote in source.remotes(config)
    }


def test_numbers_of_files_with_checksums():
    """These numbers are in docs/data.md."""
    files = remotes().values()
    whole = sum(remote.sha256 is not None for remote in files)
    members = sum(remote.sha256 is None and remote.is_known for remote in files)
    assert (whole, members, len(files)) == (329, 5, 390)
    assert all(remote.size is not None for remote in files if remote.sha256)


def test_every_checksum_belongs_to_a_record():
    known = remotes()
    for corpus, records in checksums().items():
        for place in records:
            assert (corpus, place.partition("!")[0]) in known, place


def test_checksums_match_the_official_files(data):
    checked = set()
    for (corpus, place), remote in remotes().items():
        paths = [data / name / place for name in SOURCES[corpus].folders]
        paths += [path.parent / "task1" / "raw" / place for path in paths]  # multi30k
        for path in [path for path in paths if remote.sha256 and path.is_file()][:1]:
            assert (content_hash(path), path.stat().st_size) == (remote.sha256, remote.size), path
            checked.add((corpus, place))
    assert len(checked) == 280


def test_checksums_of_archive_members_match_the_official_files(data, tmp_path):
    with tarfile.open(data / "gum_constituency" / "const.tar.gz") as packed:
        packed.extractall(tmp_path / "gum" / "repository", filter="data")
    folders = dict.fromkeys(("stsb", "clean_development"), data / "stsbenchmark")
    folders |= {"gum": tmp_path / "gum", "sts17": data / "sts17"}
    checked = 0
    for (corpus, _), remote in remotes().items():
        for pattern, known in remote.members.items():
            assert _digest_of_members(folders[corpus], pattern) == known, (corpus, pattern)
            checked += 1
    assert checked == 5
