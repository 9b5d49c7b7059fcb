"""Pairs in CSV and JSON: which columns are the texts, and what is a bad row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from paraphrastic_hf.data.pairs import read_pairs
from paraphrastic_hf.data.pairs import iterate_rows
from paraphrastic_hf.errors import DataError

PAIRS = [("A cat, asleep", 'It "sleeps"\nhere'), ("où", "where")]


def as_csv(head: str, delimiter: str = ",") -> str:
    rows = (
        delimiter.join([str(k), *('"' + side.replace('"', '""') + '"' for side in pair)])
        for k, pair in enumerate(PAIRS)
    )
    return "\ufeff" + head.replace(",", delimiter) + "\r\n" + "\r\n".join(rows) + "\r\n"


def as_json(*names: str) -> list[dict[str, object]]:
    return [dict(zip(names, (k, *pair), strict=True)) for k, pair in enumerate(PAIRS)]


@pytest.mark.parametrize("head", ["id,sentence1,sentence2", "id,src,tgt", "id,left,right"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_csv_is_read_with_its_quotes_and_names(head: str, delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(as_csv(head, delimiter), encoding="utf-8", newline="")
    assert read_pairs(path) == PAIRS
    name = head.split(",")[2]
    swapped = read_pairs(path, columns=[name, head.split(",")[1]])
    assert swapped == [(b, a) for a, b in PAIRS]


@pytest.mark.parametrize("kind", ["lines", "list"])
def test_json_is_read_as_lines_or_as_one_list(kind: str, tmp_path: Path) -> None:
    rows = as_json("id", "anchor", "positive")
    text = json.dumps(rows, indent=1) if kind == "list" else "\n".join(map(json.dumps, rows))
    path = tmp_path / ("pairs.json.gz" if kind == "list" else "pairs.jsonl.gz")
    path.write_bytes(gzip.compress(text.encode("utf-8")))
    assert read_pairs(path) == PAIRS


def test_usual_names_are_taken_before_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("genre,year,Sentence_1,Sentence_2\nnews,2012,a cat,the cat\n")
    assert read_pairs(path) == [("a cat", "the cat")]
    beside = list(rows_of_table(path, None, ["genre", "year"]))
    assert beside == [("pairs.csv:2", ["a cat", "the cat", "news", "2012"])]


def test_bad_rows_are_counted_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"source,target\na,b\na\n\n\xff,b\na,b\0\na,\na,b\n")
    found = [(place, sides) for place, sides in rows_of_table(path, None) if isinstance(sides, str)]
    assert found == [
        ("pairs.csv:3", "without 2 columns as in the first row"),
        ("pairs.csv:4", "without two columns"),
        ("pairs.csv:5", "not valid UTF-8"),
        ("pairs.csv:6", "with a NUL character"),
    ]
    with pytest.raises(DataError, match=r"pairs\.csv:3 is a row without 2 columns"):
        read_pairs(path, bad_rows="refuse")
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "a", "target": "b"}\n[\n3\n{"source": 1, "target": "b"}\n')
    assert [sides for _, sides in rows_of_table(path, None)] == [
        ["a", "b"],
        "that is no JSON object",
        "that is no JSON object",
        "whose sides are no texts",
    ]


def test_columns_that_are_not_there_are_refused_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("left,right\na,b\n")
    with pytest.raises(DataError, match=r"has no column 'first'; it has left, right"):
        read_pairs(path, columns=["first", "right"])
    path.write_text("left,score\na,1\n")
    with pytest.raises(DataError, match=r"needs two columns of text, it has left, score"):
        read_pairs(path)
    for text in ("", "left,right\n"):
        path.write_text(text)
        with pytest.raises(DataError, match="holds no usable sentence pair"):
            read_pairs(path)
    (tmp_path / "pairs.json").write_text("[{")
    with pytest.raises(DataError, match="is damaged"):
        read_pairs(tmp_path / "pairs.json")


def test_a_csv_that_begins_with_a_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("A cat sleeps.,The cat is asleep.\nHe ran.,He was running.\n")
    with pytest.raises(DataError, match=r"names of its columns should be \('A cat sleeps\.'\)"):
        read_pairs(path)
    path.write_text("a cat is asleep on it,the cat sleeps on the sofa\nHe ran.,He was running.\n")
    with pytest.raises(DataError, match=r"or, if these are names, set columns"):
        read_pairs(path)
    for head in ("the original sentence of it,its paraphrase", "Original sent.,Paraphrase no. 1"):
        path.write_text(f"{head}\nHe ran.,He was running.\n")
        assert read_pairs(path) == [("He ran.", "He was running.")]
