"""Every text of files and folders."""

import gzip
import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.texts import every_text

CAT, DOG, BOTH = "a cat", "un chien, noir", {"a cat", "un chien, noir"}


def write(folder: Path) -> None:
    (folder / "a.tsv").write_text(f"{CAT}\t{DOG}\n", encoding="utf-8")
    (folder / "b.csv").write_text(f'{CAT},"{DOG}"\n', encoding="utf-8")
    (folder / "c.jsonl").write_text(json.dumps({"x": {"y": [CAT]}, "z": DOG, "n": 1}) + "\n")
    (folder / "d.json").write_text(json.dumps([{"x": CAT}, {"x": DOG}], indent=1))
    (folder / "e.txt.gz").write_bytes(gzip.compress(f"{CAT}\r\n{DOG}".encode()))
    columns = {"x": [CAT, None], "y": [DOG, None], "n": [1, 2]}
    pq.write_table(pa.table(columns), folder / "f.parquet")


def test_every_kind_of_file_gives_its_texts(tmp_path):
    write(tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 6
    for file in files:
        assert set(every_text(file)) == BOTH, file
    assert list(every_text(tmp_path)).count(CAT) == 6


def test_nested_columns_of_parquet_give_their_texts(tmp_path):
    columns = {
        "category": pa.array([CAT, None]).dictionary_encode(),
        "translation": [{"en": CAT, "fr": DOG}, None],
        "answers": [[DOG, None], []],
        "n": [[1], [2]],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    assert sorted(every_text(tmp_path / "a.parquet")) == [CAT, CAT, DOG, DOG]


def test_files_in_a_folder_that_are_not_text_are_named(tmp_path, caplog):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("a cat\n")
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 and more")
    (tmp_path / "c.json").write_text("{1: 2}")
    with caplog.at_level(logging.WARNING):
        assert list(every_text(tmp_path)) == ["a cat"]
    assert "b.zip" in caplog.text
    assert "c.json" in caplog.text
    for name in ("b.zip", "c.json", "absent.txt"):
        with pytest.raises(DataError, match=name):
            list(every_text(tmp_path / name))


def test_damaged_text_is_read_with_replacement_characters(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\nnon\n")
    (tmp_path / "b.json").write_text('["x\\ud800"]')
    assert list(every_text(tmp_path)) == ["caf\ufffd", "non", "x?"]
    long = "x" * 200_000
    (tmp_path / "c.csv").write_text(f"{long}\n")
    assert list(every_text(tmp_path / "c.csv")) == [long]
