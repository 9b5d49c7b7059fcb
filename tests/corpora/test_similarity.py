"""Builders of similarity sets."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest

from paraphrastic_hf.corpora.folder import corpus_folder
from paraphrastic_hf.corpora.load import builder, load_dataset
from paraphrastic_hf.corpora.readers.similarity import share_of
from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS, ScoredPairs, read_sts, read_stsb
from paraphrastic_hf.corpora.sources import read_records
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.download import Remote
from tests.corpora.layouts import FILES, ROWS, write, write_all
from tests.io.serving import serving


def load(corpora: Path, name: str, config: str, split: str | None, **options: Any) -> Any:
    cache = str(corpora.parent / "rows")
    return load_dataset(name, config, split, data_dir=corpora, cache_dir=cache, **options)


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
@pytest.mark.parametrize(("name", "config", "split"), ROWS)
def test_rows_equal_the_files(
    name: str, config: str, split: str, streaming: bool, corpora: Path
) -> None:
    found = load(corpora, name, config, split, streaming=streaming)
    assert list(found) == ROWS[name, config, split]


@pytest.mark.parametrize("source", read_records("similarity"), ids=lambda source: source.name)
def test_a_builder_has_the_metadata_of_its_record(source: Any, tmp_path: Path) -> None:
    for config in source.configs:
        info = builder(source.name, config, cache_dir=str(tmp_path)).info
        assert (info.license, info.citation) == (source.license, source.citation)
        assert list(info.features)[:2] == ["sentence1", "sentence2"]
        third = "label" if source.row_type == "labeled" else "score"
        assert list(info.features)[2] == third


def test_all_years_come_in_order(corpora: Path) -> None:
    rows = load(corpora, "sts", "all", "test")
    expected = [(year, name) for year, names in STS_DATASETS.items() for name in names]
    assert list(zip(rows["year"], rows["dataset"], strict=True)) == expected


def test_hard_sts_uses_all_years(corpora: Path) -> None:
    """25 equal rates share the mean of ranks 1 to 25."""
    rows = load(corpora, "hard_sts", "all", "test")
    assert len(rows) == len({name for names in STS_DATASETS.values() for name in names})
    assert set(rows["percentile"]) == {52.0}


@pytest.mark.parametrize("folder", ["sts14", "sts14/original"])
def test_data_dir_may_be_the_folder_of_a_year(folder: str, corpora: Path) -> None:
    rows = load_dataset(
        "sts", "sts14", "test", data_dir=corpora / folder, cache_dir=str(corpora.parent / "rows")
    )
    assert list(rows) == ROWS["sts", "sts14", "test"]


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "in the named folder"])
def test_data_dir_may_be_the_archive_of_a_year(is_alone: bool, corpora: Path) -> None:
    folder = corpora.parent / "packed" / "sts14"
    folder.mkdir(parents=True)
    archive = shutil.make_archive(str(folder / "STS2014-en-test"), "zip", corpora / "sts14")
    given = archive if is_alone else folder.parent
    rows = load_dataset(
        "sts", "sts14", "test", data_dir=given, cache_dir=str(corpora.parent / "rows")
    )
    assert list(rows) == ROWS["sts", "sts14", "test"]


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
def test_archives_are_downloaded_without_data_dir(
    streaming: bool, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    cache = str(corpora.parent / "rows")
    made = type(builder("sts", "sts12", data_dir=corpora, cache_dir=cache))
    with serving() as server:
        remotes = []
        for remote in made.source.files:
            year, kind = remote.path[5:7], remote.path[11:].removesuffix(".zip")
            folder = corpora / f"sts{year}" / ("train" if kind == "train" else "original")
            archive = shutil.make_archive(str(corpora.parent / kind), "zip", folder)
            server.serve(remote.path, Path(archive).read_bytes())
            remotes.append(Remote(remote.path, server.url(remote.path)))
        monkeypatch.setattr(made, "source", replace(made.source, files=tuple(remotes)))
        for split in ("test", "train", "test"):
            found = load_dataset("sts", "sts12", split, cache_dir=cache, streaming=streaming)
            assert list(found) == ROWS["sts", "sts12", split]
    asked = {path: len(file.requests) for path, file in server.files.items() if file.requests}
    assert asked == {"/STS2012-en-test.zip": 1, "/STS2012-en-train.zip": 1}


def test_all_splits_are_loaded_without_a_split(corpora: Path) -> None:
    assert set(load(corpora, "stsb", "default", None)) == {"train", "validation", "test"}
    assert set(load(corpora, "sts", "sts12", None)) == {"train", "test"}
    assert set(load(corpora, "sts", "sts13", None, streaming=True)) == {"test"}
    assert list(load(corpora, "sts", "sts14", "test[1:3]")) == ROWS["sts", "sts14", "test"][1:3]
    first = load(corpora, "sts", None, "test")  # type: ignore[arg-type]
    assert list(first) == ROWS["sts", "sts12", "test"]
    for path in (corpora / "sts12" / "train").rglob("*.txt"):
        path.unlink()
    assert set(load(corpora, "sts", "sts12", None)) == {"test"}


@pytest.mark.parametrize(
    ("name", "config", "options", "named"),
    [
        ("stss", None, {}, ["'stss'", "'sts'"]),
        ("hardsts", None, {}, ["'hardsts'", "'hard_sts'"]),
        ("sts", "sts-14", {}, ["'sts-14'", "'sts14'"]),
        ("sts17", "xx", {}, ["'xx'", "en-en, ar-ar"]),
        ("paranmt", "50m", {"min_scor": 1}, ["'min_scor'", "'min_score'"]),
        ("sts", "sts14", {"min_score": 1}, ["'min_score'"]),
    ],
)
def test_unknown_names_are_reported_with_the_nearest(
    name: str, config: str | None, options: dict[str, Any], named: list[str], corpora: Path
) -> None:
    with pytest.raises(DataError, match=".*".join(named)):
        load_dataset(name, config, data_dir=corpora, **options)


@pytest.mark.parametrize("streaming", [False, True], ids=["read", "streaming"])
def test_unknown_splits_are_reported_with_the_known_ones(streaming: bool, corpora: Path) -> None:
    with pytest.raises(DataError, match=r"^stsb: .*dev.*validation"):
        load(corpora, "stsb", "default", "dev", streaming=streaming)


def test_changed_files_are_read_again(corpora: Path, tmp_path: Path) -> None:
    path, good = "stsbenchmark/sts-test.csv", FILES["stsbenchmark/sts-test.csv"]
    other = write_all(tmp_path / "other")
    write(other, path, good.replace("\ta", "\ty"))
    for content, expected in ((good, "a"), (good.replace("\ta", "\tx"), "x"), (good, "a")):
        write(corpora, path, content)
        assert list(load(corpora, "stsb", "default", "test")["sentence1"]) == [expected]
        assert list(load(other, "stsb", "default", "test")["sentence1"]) == ["y"]
        write(corpora, path, "broken\n")
        with pytest.raises(DataError):
            load(corpora, "stsb", "default", "test")


def test_unchanged_files_are_read_once(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(corpora, "sts", "sts14", "test")
    made = type(builder("sts", "sts14"))
    monkeypatch.setattr(made, "rows", lambda *_: pytest.fail("the files were read again"))
    assert list(load(corpora, "sts", "sts14", "test")) == ROWS["sts", "sts14", "test"]


def columns(rows: Any) -> tuple[list[str], list[str], list[float]]:
    return tuple(list(rows[name]) for name in ("sentence1", "sentence2", "score"))  # type: ignore[return-value]


@pytest.mark.slow
def test_the_sts_builder_equals_the_evaluation_reader(data: Path, tmp_path: Path) -> None:
    rows = load_dataset("sts", "all", "test", data_dir=data, cache_dir=str(tmp_path)).to_dict()
    expected: dict[str, list[Any]] = {"sentence1": [], "sentence2": [], "score": []}
    names = []
    for pairs in read_sts(data):
        expected["sentence1"] += pairs.first
        expected["sentence2"] += pairs.second
        expected["score"] += pairs.scores
        names += [(pairs.group, pairs.name)] * len(pairs)
    assert {column: rows[column] for column in expected} == expected
    assert list(zip(rows["year"], rows["dataset"], strict=True)) == names


@pytest.mark.slow
@pytest.mark.parametrize(("split", "stem"), [("validation", "dev"), ("test", "test")])
def test_the_benchmark_builder_equals_the_evaluation_reader(
    split: str, stem: str, data: Path, tmp_path: Path
) -> None:
    rows = load_dataset("stsb", None, split, data_dir=data, cache_dir=str(tmp_path))
    pairs = read_stsb(data, stem)
    assert columns(rows) == (pairs.first, pairs.second, pairs.scores)


@pytest.mark.slow
def test_official_rows_have_the_columns_of_their_features(data: Path, tmp_path: Path) -> None:
    sources = [source for source in read_records("similarity") if source.name != "hard_sts"]
    for source in sources:
        for config in source.configs if corpus_folder(source, data) else ():
            found = load_dataset(
                source.name, config, data_dir=data, cache_dir=str(tmp_path), streaming=True
            )
            assert isinstance(found, datasets.IterableDatasetDict)
            for split in found.values():
                assert list(next(iter(split))) == list(split.features)


@pytest.mark.parametrize(("size", "sizes"), [(19, (7, 1, 11)), (750, (300, 75, 375))])
def test_the_supervised_splits_divide_a_dataset(size: int, sizes: tuple[int, ...]) -> None:
    """Splits are fixed for a dataset and differ between datasets."""
    rows = [{"number": number} for number in range(size)]
    pairs = {name: ScoredPairs(name, "2014", [], [], []) for name in ("images", "OnWN")}
    found = {
        name: [list(share_of(rows, split, item)) for split in ("train", "validation", "test")]
        for name, item in pairs.items()
    }
    assert tuple(map(len, found["images"])) == sizes
    assert sorted(row["number"] for part in found["images"] for row in part) == list(range(size))
    assert found["images"] != found["OnWN"]
    assert list(share_of(rows, "test", pairs["OnWN"])) == found["OnWN"][2]
