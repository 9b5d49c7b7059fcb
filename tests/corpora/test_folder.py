import os

import pytest

from paraphrastic_hf.corpora.folder import DEPTH, Folder, corpus_folder, open_folder
from paraphrastic_hf.corpora.sources import Source
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.download import Remote
from tests.corpora.made_files import put_archive
from tests.io.serving import serving


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def source(*folders, files=(), by_hand="ask for it."):
    texts = dict.fromkeys(("summary", "homepage", "license", "citation", "section"), "")
    shape = {"configs": {"default": {"train": None}}, "row_type": "pair", "builder": "toy:Toy"}
    return Source(name="toy", folders=folders, files=files, by_hand=by_hand, **texts, **shape)


def put(path, text="text\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def zipped(path, **members):
    return put_archive(
        path, {f"{name.replace('__', '/')}.txt": text for name, text in members.items()}
    )


def found(folder, *names):
    return folder.find(*names).read_text(encoding="utf-8")


@pytest.mark.parametrize("depth", range(DEPTH + 2))
def test_a_file_is_found_up_to_three_folders_deep(depth, root):
    path = put(root.joinpath(*"abcd"[:depth], "a.txt"))
    expected = path if depth <= DEPTH else None
    assert open_folder(source(), "default", root).find_or_none("a.txt") == expected


@pytest.mark.parametrize(
    ("files", "names", "expected"),
    [
        (["a/b/a.txt", "z/a.txt"], ["a.txt"], "z/a.txt"),  # the nearest to the root
        (["a/b/a.txt", "z/a.txt", "a.txt"], ["a.txt"], "a.txt"),
        (["b.txt", "a.txt"], ["a.txt", "b.txt"], "a.txt"),  # the first name
        (["b.txt", "a.txt"], ["c.txt", "b.txt"], "b.txt"),
        (["train/a.txt", "test/a.txt"], ["train/a.txt"], "train/a.txt"),
        (["x/train/a.txt", "x/test/a.txt"], ["train/a.txt"], "x/train/a.txt"),
        (["a.txt/other", "deep/a.txt"], ["a.txt"], "deep/a.txt"),  # a folder is no file
    ],
)
def test_the_first_name_nearest_to_the_root_is_found(files, names, expected, root):
    for file in files:
        put(root / file)
    assert Folder("toy", (root,)).find(*names) == root / expected


def test_a_wrong_folder_is_reported_with_the_missing_files(root):
    with pytest.raises(DataError, match=r"a\.txt.*b\.txt"):
        open_folder(source("toy"), "default", root).find("a.txt", "b.txt")
    with pytest.raises(DataError):
        open_folder(source(), "default", root / "absent")


def test_a_corpus_is_found_by_name_in_a_folder_of_many(root):
    put(root / "other" / "a.txt", "other")
    for folder in ("sts12", "sts13"):
        put(root / folder / "a.txt", folder)
    put(root / "sts13" / "b.txt", "13 alone")
    zipped(root / "toy.zip", a="packed")
    zipped(root / "other.zip", a="other")
    folder = open_folder(source("sts12", "sts13", "sts14"), "default", root)
    assert folder.roots == (root / "sts12", root / "sts13")
    assert found(folder, "a.txt") == "sts12"
    assert found(folder, "b.txt") == "13 alone"
    assert found(open_folder(source("toy.zip"), "default", root), "a.txt") == "packed"


def test_data_dir_may_be_a_file(root):
    path = put(root / "a.txt", "alone")
    folder = open_folder(source("toy"), "default", path)
    assert found(folder, "a.txt") == "alone"
    with pytest.raises(DataError):
        folder.find("b.txt")


def test_data_dir_may_be_an_archive(root, tmp_path):
    archive = zipped(root / "any name.zip", a="packed", deep__b="deeper")
    folder = open_folder(source("toy"), "default", archive)
    assert found(folder, "a.txt") == "packed"
    assert found(folder, "b.txt") == "deeper"
    assert [path.name for path in root.iterdir()] == ["any name.zip"]
    assert folder.roots[0].is_relative_to(tmp_path / "cache")


def test_archives_are_searched_for_missing_files(root):
    put(root / "toy" / "a.txt", "plain")
    zipped(root / "toy" / "v1.zip", a="packed", b="packed")
    folder = open_folder(source("toy"), "default", root)
    assert found(folder, "a.txt") == "plain"
    assert found(folder, "b.txt") == "packed"
    (root / "toy" / "v1.zip").write_bytes(b"PK no archive")
    folder = open_folder(source("toy"), "default", root)
    assert found(folder, "a.txt") == "plain"
    with pytest.raises(DataError):
        folder.find("b.txt")


def test_archives_are_unpacked_again_only_after_changes(root):
    archive = zipped(root / "toy.zip", a="old")
    first = open_folder(source(), "default", archive)
    assert open_folder(source(), "default", archive) == first
    zipped(archive, a="newer")
    second = open_folder(source(), "default", archive)
    assert found(second, "a.txt") == "newer"
    assert found(first, "a.txt") == "old"
    assert first.fingerprint() != second.fingerprint()
    archive.write_bytes(archive.read_bytes()[:-10])
    with pytest.raises(DataError):
        open_folder(source(), "default", archive)


def test_files_match_the_pattern_and_are_sorted(root):
    for name in ("b.txt", "a.txt", "c.tsv", "deep/d.txt"):
        put(root / name)
    folder = Folder("toy", (root / "absent", root))
    assert [path.name for path in folder.files("*.txt")] == ["a.txt", "b.txt"]
    assert [path.name for path in folder.files("**/*.txt")] == ["a.txt", "b.txt", "d.txt"]
    with pytest.raises(DataError):
        folder.files("*.xml")


def rewrite(path):
    """Change a file's contents but not its size and time."""
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {
    "another length": lambda root: put(root / "deep" / "a.txt", "longer text\n"),
    "the same length and time": lambda root: rewrite(root / "deep" / "a.txt"),
    "one file more": lambda root: put(root / "deep" / "b.txt"),
    "one file less": lambda root: (root / "deep" / "a.txt").unlink(),
    "another name": lambda root: (root / "deep" / "a.txt").rename(root / "deep" / "b.txt"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_fingerprint_depends_on_names_and_contents_only(change, root):
    put(root / "deep" / "a.txt")
    before = Folder("toy", (root,)).fingerprint()
    os.utime(root / "deep" / "a.txt", (1, 1))
    moved = root.rename(root.with_name("moved"))
    assert Folder("toy", (moved,)).fingerprint() == before
    CHANGES[change](moved)
    assert Folder("toy", (moved,)).fingerprint() != before


def test_files_are_downloaded_without_data_dir(root, tmp_path):
    archive = zipped(root / "b.zip", b="packed")
    with serving() as server:
        server.serve("one.txt", b"plain")
        server.serve("two.zip", archive.read_bytes())
        files = (Remote("a.txt", server.url("one.txt")), Remote("b.zip", server.url("two.zip")))
        folder = open_folder(source(files=files), "default", None)
        assert found(folder, "a.txt") == "plain"
        assert found(folder, "b.txt") == "packed"
    assert folder.find("a.txt") == tmp_path / "cache" / "downloads" / "toy" / "a.txt"
    again = open_folder(source(files=files), "default", None)
    assert again == folder


def test_errors_explain_manual_downloads():
    with serving() as server:
        files = (Remote("a.txt", server.url("absent.txt")),)
        with pytest.raises(DataError):
            open_folder(source(files=files), "default", None)
    with pytest.raises(DataError):
        open_folder(source(), "default", None)


def test_corpora_are_found_in_the_folder_eval(root):
    put(root / "eval" / "toy" / "pairs.txt")
    put(root / "train" / "pairs.txt")
    assert open_folder(source("toy"), "default", root).roots == (root / "eval" / "toy",)
    assert corpus_folder(source("toy"), root) == root / "eval"
    assert corpus_folder(source("toy"), root / "eval") == root / "eval"
    assert corpus_folder(source("toys"), root) is None
