"""Blank lines and invalid UTF-8, in every command that reads lines."""

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.arrow import text_blocks
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.lines import read_blocks, valid_texts
from tests.made import averaging

SURROGATE = b"\xed\xa0\x80"  # a lone surrogate as some programs write it
BAD = b"the cat\n\nthe \xff dog\n \t \nthe\0cat\nthe " + SURROGATE + b"\n"

OVER_LINES = [
    "encode MODEL FILE",
    "score MODEL FILE",
    "neighbors MODEL FILE --query a",
    "mine MODEL FILE FILE",
    "simile -m MODEL -s FILE -r FILE --segments",
]


@pytest.fixture
def model(subword, tmp_path):
    averaging(subword).save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad.txt").write_bytes(BAD)
    return str(tmp_path / "bad.txt")


def lines_of(path, **options):
    return [line for block in read_blocks(str(path), **options) for line in block]


def filled(command, **names):
    return [str(names.get(word, word)) for word in command.split()]


def test_bad_lines_keep_their_place_and_are_reported(bad, capsys):
    assert lines_of(bad) == [
        *("the cat", "", "the \ufffd dog", " \t "),
        *("the\ufffdcat", "the \ufffd\ufffd\ufffd"),
    ]
    said = capsys.readouterr().err
    assert said.startswith(bad)
    assert said.index("(2, 4)") < said.index("(3, 5, 6)")
    assert valid_texts(["caf\udce9", "né"], "--query", bad_lines="keep") == ["caf\ufffd", "né"]
    said = capsys.readouterr().err
    assert said.startswith("--query")
    assert "(1)" in said


def test_long_lines_make_small_blocks(tmp_path):
    (tmp_path / "text").write_text("a\n" * 50_000 + "b" * 10_000_000 + "\n" + "c\n" * 3)
    blocks = list(read_blocks(str(tmp_path / "text")))
    assert max(map(len, blocks)) == 16_384
    lines = [line for block in blocks for line in block]
    assert [len(line) for line in lines[-5:]] == [1, 10_000_000, 1, 1, 1]
    assert len(lines) == 50_004


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"a\n\nb\n", "text:2"),
        (b"a\n\xff\n", "text:2"),
        (b"a\n\n\xff\n", "text:2"),
        (b"a\0\n", "text:1"),
        (b"a\n" + SURROGATE, "text:2"),
        ("the cat\n".encode("utf-16"), "iconv"),
    ],
)
def test_refuse_fails_at_the_first_bad_line(text, named, tmp_path):
    (tmp_path / "text").write_bytes(text)
    with pytest.raises(DataError, match=named):
        lines_of(tmp_path / "text", bad_lines="refuse")


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2"])
def test_output_creates_its_folder_and_is_compressed_by_suffix(ending, model, tmp_path, run):
    (tmp_path / "pairs.tsv").write_text("a cat\tstraße\n")
    output = tmp_path / "deep" / f"scores.tsv{ending}"
    run("score", model, tmp_path / "pairs.tsv", "--output", output)
    assert [line.split("\t")[1:] for line in lines_of(output)] == [["a cat", "straße"]]
    assert [path.name for path in output.parent.iterdir()] == [output.name]


def test_a_blank_line_gives_zeros_or_nan(model, bad, tmp_path, run):
    pairs, vectors = tmp_path / "pairs.tsv", tmp_path / "v.npy"
    run("encode", model, bad, "--output", vectors, "--quiet")
    found = np.load(vectors)
    assert (found.shape, found.dtype) == ((6, 8), np.float32)
    assert [bool(row.any()) for row in found] == [True, False, True, False, True, True]
    pairs.write_bytes(b"the cat\ta cat\n\nthe \xff\ta dog\n")
    out, err = run("score", model, pairs)
    scores = [line.split("\t")[0] for line in out.splitlines()]
    assert scores[1] == "nan"
    assert all(-1 <= float(score) <= 1 for score in scores[::2])
    assert err.index("(2)") < err.index("(3)")


def test_unknown_lines_are_reported(model, tmp_path, run):
    path = tmp_path / "lines.txt"
    path.write_text("the cat\n\n\u2135\n")
    said = run("encode", model, path, "--output", tmp_path / "v.npy", "--quiet").err
    assert f"{path}: " in said
    assert "(3)" in said
    out, err = run("neighbors", model, path, "--query", "\u2135", "the cat")
    assert out.splitlines()[:2] == ["\u2135", "the cat"]
    assert err


SICK = (
    "pair_ID\tsentence_A\tsentence_B\tscore\n"
    "1\tthe cat\tthe cat\t5\n2\tthe cat\ta dog\t1\n3\t\ta dog\t1\n"
)


@pytest.fixture(params=["tsv", "csv", "jsonl", "parquet"])
def sick(request, tmp_path):
    path = tmp_path / f"sick.{request.param}"
    names, *rows = (line.split("\t") for line in SICK.splitlines())
    table = datasets.Dataset.from_list([dict(zip(names, row, strict=True)) for row in rows])
    writers = {".csv": table.to_csv, ".jsonl": table.to_json, ".parquet": table.to_parquet}
    writers.get(path.suffix, lambda path: path.write_text(SICK))(path)
    return path


def test_score_compares_the_texts_of_any_table(sick, model, run):
    out, err = run("score", model, sick)
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines[-3::2]] == ["1.0000", "nan"]
    assert "the cat" in lines[-2]
    assert (lines[0][0] == "similarity") == (sick.suffix == ".tsv")
    assert "sentence_A" in err
    assert "sentence_B" in err


def test_encode_reads_a_column_of_any_table(sick, model, tmp_path, run):
    lines, output = tmp_path / "lines.txt", tmp_path / "v.npy"
    lines.write_text("the cat\na dog\na dog\n")
    vectors = []
    for source in ([lines], [sick, "--column", "sentence_B"], [sick, "--column", "3"]):
        run("encode", model, *source, "--output", output, "--quiet")
        vectors.append(np.load(output))
    np.testing.assert_array_equal(vectors[1:], [vectors[0]] * 2)
    assert "'sentence_C'" in run("encode", model, sick, "--column", "sentence_C", status=2).err


def write_table(path, table, rows=None):
    """Write an Arrow table in the format of a name, in batches of `rows`."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix == ".lance":
        pytest.importorskip("lance").write_dataset(table, path)
    else:
        opened = pa.ipc.new_stream if "stream" in path.name else pa.ipc.new_file
        with opened(path, table.schema) as writer:
            writer.write_table(table, rows)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "stream.arrow", "t.feather", "t.lance"])
def test_encode_reads_and_writes_arrow_files(name, model, tmp_path, run, monkeypatch):
    monkeypatch.setattr("paraphrastic_hf.io.arrow.TEXTS_AT_A_TIME", 3)
    texts = ["the cat", None, " \t", "\u732b", "a dog", "the dog", "the \u00e9"]
    table, path = pa.table({"id": range(7), "text": texts}), tmp_path / name
    write_table(path, table, 4)
    command = ["encode", model, path, "--column", "text", "--quiet", "--output"]
    said = run(*command, tmp_path / "v.npy").err
    assert "(2, 3)" in said
    vectors = np.load(tmp_path / "v.npy")
    expected = SentenceEncoder.from_pretrained(model).encode([text or "" for text in texts])
    np.testing.assert_array_equal(vectors, expected)
    output = tmp_path / f"out{path.suffix}"
    run(*command, output)
    blocks = text_blocks(output, "text")
    assert [text for block in blocks for text in block.to_pylist()] == [t or "" for t in texts]
    again = ["encode", model, output, "--column", "1", "--quiet", "--output", tmp_path / "w.npy"]
    run(*again)
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), vectors)
    assert "'id'" in run(*command[:3], "--column", "id", status=2).err
    assert f"{path}:2" in run(*command[:5], "--bad-lines", "refuse", status=2).err


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
@pytest.mark.parametrize("cut", [0, 7, -9])
def test_a_damaged_arrow_file_is_named(name, cut, model, tmp_path, run):
    path = tmp_path / name
    write_table(path, pa.table({"text": ["the cat"] * 9}))
    path.write_bytes(path.read_bytes()[:cut])
    assert str(path) in run("encode", model, path, "--column", "text", status=2).err


def test_an_unreadable_row_keeps_its_place(model, tmp_path, run):
    path, output = tmp_path / "table.csv", tmp_path / "v.npy"
    path.write_bytes(b"id,text\n1,the cat\n2\n3,\n4,the \xff\n5,a dog\n")
    command = ["encode", model, path, "--column", "text", "--output", output]
    said = run(*command, "--quiet").err
    assert [bool(row.any()) for row in np.load(output)] == [True, *[False] * 3, True]
    assert said.count(str(path)) >= 1
    assert "table.csv:2" in run(*command, "--bad-lines", "refuse", status=2).err


@pytest.mark.parametrize("command", OVER_LINES, ids=lambda command: command.split()[0])
def test_every_command_reads_lines_by_the_same_rule(command, model, tmp_path, run):
    """Carriage returns, UTF-16, invalid UTF-8, and an empty file."""
    path, text = tmp_path / "text", "the cat\ta cat\nthe dog\ta dog\nthe bird\ta bird\n"
    words = filled(command, MODEL=model, FILE=path)
    path.write_bytes(text.encode())
    expected = run(*words).out
    path.write_bytes(text.replace("\n", "\r").encode())
    assert run(*words).out == expected
    path.write_bytes(text.encode("utf-16"))
    assert "utf-16" in run(*words, status=2).err
    path.write_bytes(b"the cat\ta cat\nthe\xff\ta dog\n")
    assert f"{path}:2" in run(*words, "--bad-lines", "refuse", status=2).err
    path.write_bytes(b"")
    status = 2 if command.startswith("simile") else 0
    assert str(path) in run(*words, status=status).err


def test_blank_lines_are_no_neighbors_but_count(model, bad, run):
    out, err = run("neighbors", model, bad, "--query", "the cat", " ", "--neighbors", "9")
    of_first, of_blank = out.split("\n \n")
    found = {int(line.split("\t")[1]): line for line in of_first.splitlines()[1:]}
    assert sorted(found) == [1, 3, 5, 6]
    assert found[1].endswith("\tthe cat")
    assert of_blank == ""
    assert "--query" in err


def test_mine_skips_and_reports_blank_lines(model, bad, tmp_path, run):
    output = tmp_path / "pairs.tsv"
    command = ["mine", model, bad, bad, "--score", "cosine", "--neighbors", "1"]
    command += ["--work", str(tmp_path / "work"), "--output", str(output)]
    assert "(2, 4)" in run(*command).err
    texts = [line.split("\t")[1] for line in output.read_text().splitlines()]
    assert "the cat" in texts
    assert all(text.strip() for text in texts)
    output.unlink()  # vectors are kept, and the text is read again to be refused
    assert "bad.txt:2" in run(*command, "--bad-lines", "refuse", status=2).err


@pytest.mark.parametrize(
    "command",
    [
        "significance MODEL MODEL --data FOLDER",
        "corpus lexicon LINES",
        "corpus sample LINES",
        "analyze norms MODEL --data FOLDER",
        "evaluate MODEL --suite sts --data FOLDER",
        "mine MODEL LINES LINES",
        "convert LINES",
    ],
    ids=lambda command: command.split()[0],
)
def test_an_unwritable_output_is_found_first(command, tmp_path, run, monkeypatch):
    names = {"MODEL": tmp_path / "no model", "LINES": tmp_path / "lines.txt", "FOLDER": tmp_path}
    names["MODEL"].mkdir()
    names["LINES"].write_text("a cat\n")
    words = filled(command, **names)
    output = names["LINES"] / "out"
    assert str(output) in run(*words, "--output", output, status=2).err
    monkeypatch.setattr("os.access", lambda *_: False)
    assert str(tmp_path) in run(*words, "--output", tmp_path / "out", status=2).err


ODD = ["the\rcat", "the\u2028dog", "a\x0bcat", "the\x85house"]


@pytest.mark.parametrize(
    "command",
    [
        "mine MODEL LINES LINES --score cosine --neighbors 1",
        "neighbors MODEL LINES --query QUERY --neighbors 3",
        "score MODEL PAIRS",
    ],
    ids=lambda command: command.split()[0],
)
def test_a_row_is_one_line_with_any_text(command, model, tmp_path, run):
    (tmp_path / "lines").write_bytes("\n".join(ODD).encode())
    (tmp_path / "pairs").write_bytes("".join(f"{a}\t{a}\n" for a in ODD).encode())
    names = {"MODEL": model, "LINES": tmp_path / "lines", "PAIRS": tmp_path / "pairs"}
    rows = run(*filled(command, **names, QUERY="the\tcat\nand\rdog")).out
    lines = rows.removesuffix("\n").splitlines()
    if command.startswith("neighbors"):
        assert lines.pop(0) == "the cat and dog"
    assert {len(line.split("\t")) for line in lines} == {3}
    assert len(lines) >= 3


@given(st.lists(st.text(), min_size=1))
def test_tsv_line_keeps_the_number_of_fields(fields):
    (line,) = tsv_line(*fields).splitlines()
    assert len(line.split("\t")) == len(fields)
