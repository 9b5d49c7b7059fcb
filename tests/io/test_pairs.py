import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import datasets
import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import BLANK, NOT_UTF8, NUL
from paraphrastic_hf.io.pairs import (
    NO_OBJECT,
    NO_TEXT,
    TWO,
    Pair,
    iterate_rows,
    read_pairs,
    read_table,
    rows_of_dataset,
)
from tests.io.packed import written

GOOD = [("the ferry leaves", "the boat departs"), ("猫が寝る", "the cat sleeps"), ("où", "where")]


def lines(pairs: list[Pair]) -> str:
    return "".join(f"{first}\t{second}\n" for first, second in pairs)


def numbered(count: int) -> list[Pair]:
    return [(f"left {i}", f"right {i}") for i in range(count)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tb\t0.9\tx\nc\td\t\t\n", [("a", "b"), ("c", "d")]),
        (" a \t b\nc\td \n", [("a", "b"), ("c", "d")]),
        ("a\tb\n\ufeffc\td\n", [("a", "b"), ("\ufeffc", "d")]),
        *((f"a{mark}b\tc\n", [(f"a{mark}b", "c")]) for mark in "\u2028\x1c"),
        # column names in other places, or alone
        ("source\tsentence2\nsource\ttarget\n", [("source", "sentence2"), ("source", "target")]),
    ],
)
def test_a_harmless_oddity_does_not_change_the_pairs(content, expected, tmp_path):
    assert read_pairs(written(tmp_path / "a.tsv", content)) == expected


BAD = [
    *(b"no tab here\n", b"le\0ft\tright\n", b"l\xe9ft\tright\n", b"a\tb\tc\n"),
    *(b"\n", b"\t\n", b"left\t \n", b"\tright\n", "\u00a0\tright\n".encode()),
]


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_skipped_or_refused_by_its_line(row, tmp_path, caplog):
    path = written(tmp_path / "a.tsv", b"a\tb\n" + row + b"c\td\n")
    with caplog.at_level(logging.WARNING):
        assert read_pairs(path) == [("a", "b"), ("c", "d")]
    assert "(a.tsv:2)" in caplog.text
    with pytest.raises(DataError, match=r"a\.tsv:2 "):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_aligned_files_give_pairs(suffix, tmp_path):
    first = written(tmp_path / f"a.en{suffix}", "one\r\ntab\there\nthree\n")
    second = written(tmp_path / f"a.de{suffix}", "eins\nzwei\ndrei")
    expected = [("one", "eins"), ("tab\there", "zwei"), ("three", "drei")]
    assert read_pairs(first, second=second) == expected
    with pytest.raises(DataError):
        read_pairs(first, second=written(tmp_path / f"b.de{suffix}", "eins\nzwei\n"))


@pytest.mark.parametrize("bad", [b"\xff\n", b"\0\n", b"\n"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_bad_line_skips_its_pair(bad, side, tmp_path):
    for i, name in enumerate(["a.en", "a.de"]):
        written(tmp_path / name, b"1\n" + (bad if i == side else b"2\n") + b"3\n")
    paths = tmp_path / "a.en", tmp_path / "a.de"
    assert read_pairs(paths[0], second=paths[1]) == [("1", "1"), ("3", "3")]
    with pytest.raises(DataError, match=r"a\.en:2"):
        read_pairs(paths[0], second=paths[1], bad_rows="refuse")


def test_word_limits_apply_to_both_sides(tmp_path):
    path = written(tmp_path / "a.tsv", "a\tb\na b\tc\na b\tc d\na b c\td e\n")
    assert read_pairs(path, min_words=2) == [("a b", "c d"), ("a b c", "d e")]
    assert read_pairs(path, max_words=2) == [("a", "b"), ("a b", "c"), ("a b", "c d")]
    with pytest.raises(DataError, match=r"min_words \(4\).*max_words \(9\)"):
        read_pairs(path, min_words=4, max_words=9)
    for content in ("", "\n\n", "one column\n"):
        with pytest.raises(DataError):
            read_pairs(written(path, content))


def test_a_sample_depends_on_the_seed_and_keeps_file_order(tmp_path):
    pairs = numbered(200)
    path = written(tmp_path / "a.tsv", lines(pairs))
    sample = read_pairs(path, max_pairs=20, seed=5)
    assert sample == read_pairs(path, max_pairs=20, seed=5)
    assert sample != read_pairs(path, max_pairs=20, seed=6)
    assert len(set(sample)) == 20
    assert sample == sorted(sample, key=pairs.index)
    assert read_pairs(path, max_pairs=200) == read_pairs(path, max_pairs=10**9) == pairs


def test_sampling_of_good_rows_is_uniform(tmp_path):
    """200 samples of 5 in 10: each row occurs 100 times, with a standard deviation of 7.1."""
    path = written(tmp_path / "a.tsv", "bad\n" * 5 + lines(numbered(10)))
    options = {"max_pairs": 5, "max_bad_rows": 1}
    seen = Counter(pair for seed in range(200) for pair in read_pairs(path, seed=seed, **options))
    assert sorted(seen) == sorted(numbered(10))
    assert all(abs(count - 100) < 5 * 7.1 for count in seen.values())


def saved(folder: Path, **columns: list[Any]) -> Path:
    datasets.Dataset.from_dict(columns).save_to_disk(folder)
    return folder


def test_a_null_or_empty_text_in_a_saved_dataset_is_a_bad_row(tmp_path, caplog):
    path = saved(tmp_path / "d", a=["one", "two", "three"], b=[None, "zwei", ""])
    assert read_pairs(path, max_bad_rows=1) == [("two", "zwei")]
    assert "(d:0, d:2)" in caplog.text
    with pytest.raises(DataError, match="d:0 "):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize("columns", [None, ("a", "z"), ("a", "score")])
def test_a_dataset_without_the_text_columns_is_refused(columns, tmp_path):
    path = saved(tmp_path / "d", a=["one"], score=[0.5])
    with pytest.raises(DataError):
        read_pairs(path, columns=columns)


def test_a_folder_of_splits_is_refused(tmp_path):
    split = datasets.Dataset.from_dict({"a": ["one"], "b": ["eins"]})
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(tmp_path / "d")
    with pytest.raises(DataError):
        read_pairs(tmp_path / "d")
    assert read_pairs(tmp_path / "d" / "train") == [("one", "eins")]
    with pytest.raises(DataError):
        read_pairs(tmp_path)


def test_any_iterable_of_mappings_is_a_dataset():
    rows = [{"n": 1, "a": "one", "b": "eins"}, {"n": 2, "a": "two", "b": "zwei"}]
    expected = [("dataset:0", ["one", "eins"]), ("dataset:1", ["two", "zwei"])]
    assert list(rows_of_dataset(rows)) == list(rows_of_dataset(iter(rows))) == expected
    with pytest.raises(DataError):
        list(rows_of_dataset({"train": rows, "test": rows}))


@pytest.mark.parametrize(
    "header",
    ["sentence1\tsentence2", "Sentence 1\tSentence 2", "translation\treference", "SRC\ttgt"],
)
def test_a_header_is_not_a_pair(header, tmp_path, caplog):
    path = written(tmp_path / "a.tsv", f"{header}\n{lines(GOOD)}")
    with caplog.at_level(logging.INFO):
        assert read_pairs(path, bad_rows="refuse") == GOOD
    assert all(name in caplog.text for name in header.split("\t"))


@pytest.mark.parametrize(("head", "is_header"), [("en\tpt-BR", True), ("cat\tkot", False)])
def test_two_language_codes_are_a_header(head, is_header, tmp_path):
    path = written(tmp_path / "a.tsv", f"{head}\n{lines(GOOD)}")
    assert len(read_pairs(path)) == len(GOOD) + (not is_header)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_saved_dataset_with_changed_bytes_is_refused(place, tmp_path):
    """It is mapped into memory, where a wrong offset would crash the process."""
    texts = [f"a text of some length, number {i}" for i in range(50)]
    path = next(saved(tmp_path / "pairs", a=texts, b=texts).glob("*.arrow"))
    data = path.read_bytes()
    start = int(len(data) * place)
    path.write_bytes(data[:start] + b"\xff" * 200 + data[start + 200 :])
    with pytest.raises(DataError):
        read_pairs(tmp_path / "pairs")


PAIRS = [("A cat, asleep", 'It "sleeps"\nhere'), ("où", "where")]


def as_csv(head: str, delimiter: str = ",") -> str:
    rows = (
        delimiter.join([str(k), *('"' + side.replace('"', '""') + '"' for side in pair)])
        for k, pair in enumerate(PAIRS)
    )
    return "\ufeff" + head.replace(",", delimiter) + "\r\n" + "\r\n".join(rows) + "\r\n"


@pytest.mark.parametrize("head", ["id,sentence1,sentence2", "id,src,tgt", "id,left,right"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_csv_is_read_with_quotes_and_names(head, delimiter, tmp_path):
    path = written(tmp_path / "pairs.csv", as_csv(head, delimiter))
    assert read_pairs(path) == PAIRS
    name = head.split(",")[2]
    swapped = read_pairs(path, columns=[name, head.split(",")[1]])
    assert swapped == [(b, a) for a, b in PAIRS]


def test_known_names_precede_other_columns(tmp_path):
    text = "genre,year,Sentence_1,Sentence_2\nnews,2012,a cat,the cat\n"
    path = written(tmp_path / "pairs.csv", text)
    assert read_pairs(path) == [("a cat", "the cat")]
    beside = list(iterate_rows(path, beside=["genre", "year"]))
    assert beside == [("pairs.csv:2", ["a cat", "the cat", "news", "2012"])]


def test_bad_rows_are_counted_by_their_lines(tmp_path):
    path = written(tmp_path / "pairs.csv", b"source,target\na,b\na\n\n\xff,b\na,b\0\na,\na,b\n")
    found = [(place[-1], sides) for place, sides in iterate_rows(path) if isinstance(sides, str)]
    assert found == [("3", TWO), ("4", BLANK), ("5", NOT_UTF8), ("6", NUL)]
    with pytest.raises(DataError, match=r"pairs\.csv:3"):
        read_pairs(path, bad_rows="refuse")
    text = '{"source": "a", "target": "b"}\n[\n3\n{"source": 1, "target": "b"}\n'
    path = written(tmp_path / "pairs.jsonl", text)
    found = [sides for _, sides in iterate_rows(path)]
    assert found == [["a", "b"], NO_OBJECT, NO_OBJECT, NO_TEXT]


def test_missing_columns_are_refused(tmp_path):
    path = written(tmp_path / "pairs.csv", "left,right\na,b\n")
    with pytest.raises(DataError, match=r"'first'.* left, right"):
        read_pairs(path, columns=["first", "right"])
    texts = [("pairs.csv", text) for text in ("left,score\na,1\n", "", "left,right\n", "a,b,c\n")]
    for name, text in (*texts, ("pairs.json", "[{")):
        with pytest.raises(DataError):
            read_pairs(written(tmp_path / name, text))


def test_a_csv_without_a_header_is_refused(tmp_path):
    below = "\nHe ran.,He was running.\n"
    heads = ("A cat sleeps.,The cat is asleep.", "a cat is asleep on it,the cat sleeps on the sofa")
    for head in heads:
        with pytest.raises(DataError):
            read_pairs(written(tmp_path / "pairs.csv", head + below))
    for head in ("the original sentence of it,its paraphrase", "Original sent.,Paraphrase no. 1"):
        path = written(tmp_path / "pairs.csv", head + below)
        assert read_pairs(path) == [("He ran.", "He was running.")]


SENTENCES = [(f"the cat number {n} sleeps", f"cat {n} is asleep") for n in range(40)]
CORPORA = {  # headers and rows of well-known files; {a} and {b} are the texts
    "SICK": (
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment",
        "{n}\t{a}\t{b}\t3.6\tNEUTRAL",
    ),
    "MRPC": ("Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", "1\t7025{n}\t7026{n}\t{a}\t{b}"),
    "STS-B of GLUE": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        "{n}\tmain-captions\tMSRvid\t2012test\t000{n}\tnone\tnone\t{a}\t{b}\t5.000",
    ),
    "QQP": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "{n}\t1{n}\t2{n}\t{a}\t{b}\t0"),
    "PAWS": ("id\tsentence1\tsentence2\tlabel", "{n}\t{a}\t{b}\t1"),
    "SNLI": (
        "gold_label\tsentence1_binary_parse\tsentence1_parse\tsentence1\tsentence2\tcaptionID",
        "neutral\t( {a} )\t(ROOT {a})\t{a}\t{b}\t34{n}.jpg#4",
    ),
    "codes of languages": ("en\tfr", "{a}\t{b}"),
    "codes of languages beside others": ("id\ten-US\tpt_BR\tscore", "{n}\t{a}\t{b}\t0.9"),
    "names of its own beside numbers": ("left\tright\tcosine", "{a}\t{b}\t0.{n}"),
}
HEADLESS = {
    "STS-B": "main-captions\tMSRvid\t2012test\t00{n}\t5.000\t{a}\t{b}",
    "Tatoeba": "1{n}\t{a}\t2{n}\t{b}",
    "ids": "en-000{n}\t{a}\t{b}",
    "attributions": "{a}\t{b}\tCC-BY 2.0 (France) Attribution: tatoeba.org #{n}",
    "PPDB": "[NP] ||| {a} ||| {b} ||| PPDB2.0Score=5.{n} ||| 0-0",
    "DA": "0.35{n}\t{a}\t{b}",
}


def rows_of(form: str) -> str:
    return "".join(form.format(n=n, a=a, b=b) + "\n" for n, (a, b) in enumerate(SENTENCES))


@pytest.mark.parametrize("corpus", CORPORA)
def test_texts_of_well_known_corpora_are_found(corpus, tmp_path):
    header, form = CORPORA[corpus]
    text = f"{header}\n{rows_of(form)}"
    for name, content in (("pairs.tsv", text), ("pairs.csv", text.replace("\t", ","))):
        assert read_pairs(written(tmp_path / name, content), bad_rows="refuse") == SENTENCES


@pytest.mark.parametrize(
    ("corpus", "ending"),
    # a CSV file has a header unless its first row has numbers
    [*((corpus, "tsv") for corpus in HEADLESS), *((each, "csv") for each in ("STS-B", "DA"))],
)
def test_columns_of_numbers_ids_and_labels_are_skipped(corpus, ending, tmp_path):
    path = written(tmp_path / f"pairs.{ending}", rows_of(HEADLESS[corpus]))
    assert read_pairs(path, bad_rows="refuse") == SENTENCES


def test_every_format_gives_the_same_pairs(tmp_path):
    rows = [
        {"id": n, "note": "some words", "sentence1": a, "sentence2": b, "score": 0.5}
        for n, (a, b) in enumerate(SENTENCES)
    ]
    table = [rows[0], *(row.values() for row in rows)]
    tsv = "\n".join("\t".join(map(str, row)) for row in table)
    dataset, folder = datasets.Dataset.from_list(rows), tmp_path / "files"
    folder.mkdir()
    written(folder / "pairs.tsv", tsv)
    written(folder / "pairs.csv", tsv.replace("\t", ","))
    written(folder / "pairs.jsonl", "\n".join(map(json.dumps, rows)))
    written(folder / "pairs.json", json.dumps(rows, indent=1))
    dataset.to_parquet(folder / "pairs.parquet")
    dataset.save_to_disk(folder / "saved")
    for path in folder.iterdir():
        found = read_table(path)
        assert found.pairs == SENTENCES
        assert (found.values, found.layout.value) == (["0.5"] * len(rows), "score")
        assert read_pairs(path, columns=["note", "sentence2"])[0][0] == "some words"


def test_further_columns_are_not_texts(tmp_path):
    lines = [f"cat\tdog\t(ROOT (NP {n}))\t(ROOT (N {n}))\n" for n in range(9)]
    path = written(tmp_path / "pairs.tsv", "".join(lines))
    rows = list(iterate_rows(path, beside=[3, 4]))
    assert rows[0] == ("pairs.tsv:1", ["cat", "dog", "(ROOT (NP 0))", "(ROOT (N 0))"])


def test_a_csv_header_decides_the_number_of_columns(tmp_path):
    path = written(tmp_path / "pairs.csv", "source,target\na,b\n" + "c,d,e\n" * 9)
    assert read_pairs(path, max_bad_rows=1) == [("a", "b")]


def test_ids_and_one_text_are_not_pairs(tmp_path):
    path = written(tmp_path / "pile.tsv", rows_of("en-00000{n}\t{a}"))
    with pytest.raises(DataError):
        read_pairs(path)
    assert len(read_pairs(path, columns=["1", "2"])) == len(SENTENCES)


@pytest.mark.parametrize("place", [0, 1, 20])
def test_a_row_with_a_stray_tab_is_bad(place, tmp_path):
    lines = [f"{a}\t{b}\n" for a, b in SENTENCES]
    lines[place] = "hello there \tfriend\tbonjour ami\n"
    path = written(tmp_path / "pairs.tsv", "".join(lines))
    assert read_pairs(path) == [*SENTENCES[:place], *SENTENCES[place + 1 :]]
    with pytest.raises(DataError, match=rf"pairs\.tsv:{place + 1} "):
        read_pairs(path, bad_rows="refuse")


@pytest.mark.parametrize(
    ("rest", "opened"),
    [
        (['"He said so,he claimed that', "it rains,it is raining", 'the end" of it,end'], 3),
        (['"He said so,he claimed that', "it rains,it is raining"], 3),
        (['"He said\nso",he claimed that', '"it rains,it is raining'], 5),
        (['one,"two\nlines" and more'], 3),
    ],
    ids=["text after it", "end of file", "after a good one", "in the second cell"],
)
def test_a_stray_quote_is_reported_by_line(rest, opened, tmp_path):
    lines = ["sentence1,sentence2", "a cat,the cat", *rest]
    path = written(tmp_path / "pairs.csv", "\n".join(lines) + "\n")
    with pytest.raises(DataError, match=rf"pairs\.csv:{opened} "):
        read_pairs(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pairs.tsv", "one\tun\rtwo\tdeux"),
        ("pairs.csv", 'source,target\rone,un\r"two",deux'),
        ("pairs.jsonl", '{"a": "one", "b": "un"}\r{"a": "two", "b": "deux"}'),
        ("first.txt", "one\rtwo"),
    ],
)
def test_cr_line_ends_are_read(name, text, tmp_path):
    second = written(tmp_path / "second.txt", "un\rdeux") if name == "first.txt" else None
    for end in ("", "\r"):
        found = read_pairs(written(tmp_path / name, text + end), second=second)
        assert found == [("one", "un"), ("two", "deux")]


def test_a_cr_within_a_cell_ends_no_row(tmp_path):
    for name, text, first in (
        ("a.tsv", "one\rtwo\tthree\nfour\tfive\n", "one\rtwo"),
        ("a.csv", 'source,target\none\rtwo,three\n"four",five\n', "one two"),
    ):
        path = written(tmp_path / name, text)
        assert read_pairs(path) == [(first, "three"), ("four", "five")]


def test_too_many_bad_rows_are_an_error(tmp_path):
    path = written(tmp_path / "pairs.tsv", "one pair\tof texts\n" + "no tab here\n" * 4)
    with pytest.raises(DataError):
        read_pairs(path)
    assert read_pairs(path, max_bad_rows=0.8) == [("one pair", "of texts")]
    written(path, "\n".join(f"{a}\t{b}\n\n" for a, b in SENTENCES) + "no tab here\n")
    assert read_pairs(path) == SENTENCES  # blank lines are harmless
