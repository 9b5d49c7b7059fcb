"""One rule for blank lines and bytes that are no text, in every command that reads lines."""

from __future__ import annotations

import lzma
from pathlib import Path

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.blocks import read_blocks, valid_texts
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.text.subword import SubwordTokenizer

SURROGATE = b"\xed\xa0\x80"  # a lone surrogate as some programs write it
BAD = b"the cat\n\nthe \xff dog\n \t \nthe\0cat\nthe " + SURROGATE + b"\n"
PAIRS = b"the cat\ta cat\n\nthe \xff\ta dog\n"

OVER_LINES = [
    ["encode", "MODEL", "FILE"],
    ["score", "MODEL", "FILE"],
    ["neighbours", "MODEL", "FILE", "--query", "a"],
    ["mine", "FILE", "FILE", "--model", "MODEL"],
    ["simile", "-m", "MODEL", "-s", "FILE", "-r", "FILE", "--segments"],
]


@pytest.fixture
def model(subword: SubwordTokenizer, tmp_path: Path) -> str:
    table = AveragingModel(AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8))
    SentenceEncoder(table, subword).save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "bad.txt").write_bytes(BAD)
    return str(tmp_path / "bad.txt")


def lines_of(path: str, **options: str) -> list[str]:
    return [line for block in read_blocks(path, **options) for line in block]


def test_every_line_keeps_its_place_and_what_is_no_text_is_named(
    bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of(bad) == [
        *("the cat", "", "the \ufffd dog", " \t "),
        *("the\ufffdcat", "the \ufffd\ufffd\ufffd"),
    ]
    assert capsys.readouterr().err == (
        f"{bad}: 2 lines are blank (2, 4); "
        "3 lines are damaged by bytes that are not UTF-8 or are NUL (3, 5, 6)\n"
    )


def test_clean_lines_are_read_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.xz").write_bytes(lzma.compress("straße\r\n\u2028x\n".encode()))
    assert lines_of(str(tmp_path / "text.xz")) == ["straße", "\u2028x"]
    assert capsys.readouterr().err == ""


def test_many_such_lines_are_counted_and_the_first_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_bytes(b"a\n\n" * 20_000)
    assert len(lines_of(str(tmp_path / "text"))) == 40_000
    assert "20,000 lines are blank (2, 4, 6, 8, 10, ...)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\n\nb\n", "text:2 is blank"),
        (b"a\n\xff\n", "text:2 is damaged by bytes that are not UTF-8"),
        (b"a\n\n\xff\n", "text:2 is blank"),
        (b"a\0\n", "text:1 is damaged by bytes that are not UTF-8"),
        (b"a\n" + SURROGATE, "text:2 is damaged by bytes that are not UTF-8"),
    ],
)
def test_a_file_may_be_refused_at_the_first(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(text)
    with pytest.raises(DataError, match=message):
        lines_of(str(tmp_path / "text"), bad_lines="refuse")


def test_utf_16_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the cat\n", encoding="utf-16")
    with pytest.raises(DataError, match=r"UTF-16.*iconv"):
        lines_of(str(tmp_path / "text"))


def test_an_output_makes_its_folder(model: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    for command, name in (("score", "scores.tsv"), ("encode", "vectors.npy")):
        output = tmp_path / command / "deep" / name
        assert main([command, model, str(tmp_path / "pairs.tsv"), "--output", str(output)]) == 0
        assert output.stat().st_size > 0


def test_texts_of_the_command_line_follow_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert valid_texts(["caf\udce9", "né"], "--query") == ["caf\ufffd", "né"]
    assert (
        capsys.readouterr().err
        == "--query: 1 line is damaged by bytes that are not UTF-8 or are NUL (1)\n"
    )


def test_encode_gives_a_blank_line_zeros(model: str, bad: str, tmp_path: Path) -> None:
    assert main(["encode", model, bad, "--output", str(tmp_path / "v.npy"), "--quiet"]) == 0
    vectors = np.load(tmp_path / "v.npy")
    assert [bool(row.any()) for row in vectors] == [True, False, True, False, True, True]


def test_score_gives_a_blank_line_nan(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_bytes(PAIRS)
    assert main(["score", model, str(tmp_path / "pairs.tsv")]) == 0
    out, err = capsys.readouterr()
    scores = [line.split("\t")[0] for line in out.splitlines()]
    assert scores[1] == "nan"
    assert -1 <= float(scores[0]) <= 1
    assert -1 <= float(scores[2]) <= 1
    assert (
        "1 line is blank (2); 1 line is damaged by bytes that are not UTF-8 or are NUL (3)" in err
    )


def test_lines_that_the_model_does_not_know_are_told(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("the cat\n\n\u2135\n", encoding="utf-8")
    assert main(["encode", model, str(path), "--output", str(tmp_path / "v.npy"), "--quiet"]) == 0
    assert f"{path}: 1 line is unknown to the model, and encoded as zeros (3)" in (
        capsys.readouterr().err
    )
    assert main(["neighbours", model, str(path), "--query", "\u2135", "the cat"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == ["\u2135", "the cat"]
    assert "has no token that the model knows, and no neighbour" in err


def test_a_header_and_a_blank_text_have_no_score(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("sentence1\tsentence2\tid\nthe cat\ta cat\t1\nthe cat\t \t2\n")
    assert main(["score", model, str(path)]) == 0
    out, err = capsys.readouterr()
    head, first, second = out.splitlines()
    assert "sentence1 and sentence2" in err
    assert head == "similarity\tsentence1\tsentence2\tid"
    assert -1 <= float(first.split("\t")[0]) <= 1
    assert second == "nan\tthe cat\t \t2"


SICK = (
    "pair_ID\tsentence_A\tsentence_B\tscore\n"
    "1\tthe cat\tthe cat\t5\n2\tthe cat\ta dog\t1\n3\t\ta dog\t1\n"
)


def as_table(path: Path) -> None:
    """Write SICK in the format that the name says."""
    names, *rows = (line.split("\t") for line in SICK.splitlines())
    table = datasets.Dataset.from_list([dict(zip(names, row, strict=True)) for row in rows])
    writers = {".csv": table.to_csv, ".jsonl": table.to_json, ".parquet": table.to_parquet}
    writers.get(path.suffix, lambda path: path.write_text(SICK))(path)


@pytest.mark.parametrize("name", ["sick.tsv", "sick.csv", "sick.jsonl", "sick.parquet"])
def test_score_compares_the_texts_of_any_table(
    name: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    as_table(tmp_path / name)
    assert main(["score", model, str(tmp_path / name)]) == 0
    out, err = capsys.readouterr()
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines[-3::2]] == ["1.0000", "nan"]
    assert "the cat" in lines[-2]
    assert len(lines) == 3 + (name == "sick.tsv")
    assert "sentence_A and sentence_B" in err


@pytest.mark.parametrize("name", ["sick.tsv", "sick.csv", "sick.jsonl", "sick.parquet"])
@pytest.mark.parametrize("column", ["sentence_B", "3"])
def test_encode_reads_a_column_of_any_table(
    column: str, name: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    as_table(tmp_path / name)
    (tmp_path / "lines.txt").write_text("the cat\na dog\na dog\n")
    vectors = []
    for source in ([str(tmp_path / name), "--column", column], [str(tmp_path / "lines.txt")]):
        output = tmp_path / "v.npy"
        assert main(["encode", model, *source, "--output", str(output), "--quiet"]) == 0
        vectors.append(np.load(output))
    np.testing.assert_array_equal(*vectors)
    capsys.readouterr()
    assert main(["encode", model, str(tmp_path / name), "--column", "sentence_C"]) == 2
    assert "'sentence_C'" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "column"), [("one.tsv", "1"), ("one.csv", "text")])
def test_a_table_of_one_column_has_it(
    name: str, column: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("text\nthe cat\n" if name == "one.csv" else "the cat\na dog\n")
    assert main(["encode", model, str(tmp_path / name), "--column", column]) == 0
    printed, err = capsys.readouterr()
    assert all(any(map(float, line.split("\t"))) for line in printed.splitlines())
    assert err == ""


def test_encode_keeps_the_place_of_a_row_that_cannot_be_read(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"id,text\n1,the cat\n2\n3,\n4,the \xff\n5,a dog\n")
    command = ["encode", model, str(path), "--column", "text", "--output", str(tmp_path / "v.npy")]
    assert main([*command, "--quiet"]) == 0
    assert [bool(row.any()) for row in np.load(tmp_path / "v.npy")] == [True, *[False] * 3, True]
    assert capsys.readouterr().err.count("line is") == 3
    assert main([*command, "--bad-lines", "refuse"]) == 2
    assert "table.csv:2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    OVER_LINES,
    ids=lambda command: command[0],
)
def test_lines_of_classic_mac_are_lines_and_utf_16_is_refused_in_every_command(
    command: list[str], model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "the cat\ta cat\nthe dog\ta dog\nthe bird\ta bird\n"
    given = [{"MODEL": model, "FILE": str(tmp_path / "text")}.get(item, item) for item in command]
    outputs = []
    for end in ("\n", "\r"):
        (tmp_path / "text").write_bytes(text.replace("\n", end).encode())
        assert main(given) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    (tmp_path / "text").write_bytes(text.encode("utf-16"))
    assert main(given) == 2
    assert "iconv -f utf-16" in capsys.readouterr().err


def test_a_blank_line_is_no_neighbour_and_the_numbers_of_lines_stay(
    model: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["neighbours", model, bad, "--query", "the cat", " ", "--neighbours", "9"]) == 0
    out, err = capsys.readouterr()
    of_first, of_blank = out.split("\n \n")
    found = {int(line.split("\t")[1]): line for line in of_first.splitlines()[1:]}
    assert sorted(found) == [1, 3, 5, 6]
    assert found[1].endswith("\tthe cat")
    assert of_blank == ""
    assert "--query: 1 line is blank (2)" in err


def test_mine_leaves_blank_lines_out_and_names_them(
    model: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["mine", bad, bad, "--model", model, "--score", "cosine", "--neighbours", "1"]
    assert main([*command, "--output", str(tmp_path / "pairs.tsv")]) == 0
    texts = [line.split("\t")[1] for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
    assert "the cat" in texts
    assert all(text.strip() for text in texts)
    assert "2 lines are blank (2, 4)" in capsys.readouterr().err


def test_text_that_mining_kept_is_read_again_to_be_refused(
    model: str, bad: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "mine",
        bad,
        bad,
        "--model",
        model,
        "--neighbours",
        "1",
        "--work",
        str(tmp_path / "work"),
    ]
    assert main([*command, "--output", str(tmp_path / "pairs.tsv")]) == 0
    assert main([*command, "--output", str(tmp_path / "o"), "--bad-lines", "refuse"]) == 2
    assert "bad.txt:2 is blank; mend it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    OVER_LINES,
    ids=lambda command: command[0],
)
def test_every_command_refuses_what_is_no_text_if_told_to(
    command: list[str], model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_bytes(b"the cat\ta cat\nthe\xff\ta dog\n")
    path = str(tmp_path / "text")
    given = [{"MODEL": model, "FILE": path}.get(item, item) for item in command]
    assert main([*given, "--bad-lines", "refuse"]) == 2
    assert f"{path}:2 is damaged by bytes that are not UTF-8 or are NUL" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["encode", "model", "FILE"],
        ["score", "english", "FILE"],
        ["predict", "model", "FILE"],
        ["perplexity", "model", "FILE"],
        ["neighbours", "english", "FILE", "--query", "a"],
        ["mine", "FILE", "FILE", "--model", "multilingual"],
        ["simile", "-s", "FILE", "-r", "FILE"],
        ["compare", "-s", "FILE", "FILE", "-r", "FILE"],
    ],
    ids=lambda command: command[0],
)
def test_a_file_that_is_not_there_is_named(
    command: list[str],
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["none.txt" if item == "FILE" else item for item in command]) == 2
    assert f"paraphrastic {command[0]}: none.txt" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl.gz", "pairs.JSON"])
def test_a_table_of_named_columns_is_no_text(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text("source,target\na cat,the cat\n")
    assert main(["encode", "english", str(tmp_path / name)]) == 2
    assert "--column" in capsys.readouterr().err


def test_what_is_read_is_not_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, link = tmp_path / "same.txt", tmp_path / "link.tsv"
    text.write_text("a cat\tthe cat\n")
    link.symlink_to(text)
    for command in (
        ["score", "english", str(text)],
        ["encode", "english", str(text)],
        ["translate", "runs/x", str(text)],
        ["simile", "-s", str(link), "-r", str(text)],
        ["mine", str(text), str(text), "--model", "english"],
    ):
        assert main([*command, "--output", str(link)]) == 2
        assert "link.tsv is read and cannot be written at the" in capsys.readouterr().err
    assert text.read_text() == "a cat\tthe cat\n"


@pytest.mark.parametrize(
    ("given", "meant"), [("v.parquet", "for parquet give v/"), ("v", "give v.npy or v/")]
)
def test_what_the_output_of_encode_may_be_is_said(
    given: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a cat\n")
    assert main(["encode", "english", str(tmp_path / "a.txt"), "--output", given]) == 2
    said = capsys.readouterr().err
    assert said.startswith("paraphrastic encode: --output may be NAME.npy")
    assert meant in said


PLACES = {"MODEL": "no model", "TEXT": "absent.tsv", "LINES": "lines.txt"}


@pytest.mark.parametrize("command", ["score", "predict", "perplexity", "parse", "simile", "encode"])
def test_an_output_that_cannot_be_written_is_told_before_a_model_is_loaded(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, folder = tmp_path / "a.tsv", tmp_path / "there.npy"
    text.write_text("a cat\tthe cat\n")
    folder.mkdir()
    (tmp_path / "no model").mkdir()
    given = [str(tmp_path / "no model"), str(text)]
    if command == "parse":
        given = [given[1], "--parser", given[0]]
    elif command == "simile":
        given = ["-s", given[1], "-r", given[1], "-m", given[0]]
    assert main([command, *given, "--output", str(folder)]) == 2
    assert "there.npy is a folder; name a file to write" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "significance MODEL MODEL",
        "corpus lexicon TEXT",
        "corpus sample TEXT",
        "analyse norms MODEL",
        "evaluate MODEL --suite sts",
        "mine LINES LINES --model MODEL",
        "convert TEXT",
    ],
)
def test_an_output_without_a_place_is_told_before_anything_is_computed(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "no model").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "lines.txt").write_text("a cat\n")
    places = {name: str(tmp_path / path) for name, path in PLACES.items()}
    given = [places.get(word, word) for word in command.split()]
    if command.startswith(("significance", "analyse", "evaluate")):
        given += ["--data", str(tmp_path)]
    assert main([*given, "--output", str(tmp_path / "file" / "out")]) == 2
    assert f"cannot write {tmp_path}/file/out: " in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main([*given, "--output", str(tmp_path / "out")]) == 2
    assert "out: no right to write in" in capsys.readouterr().err


def test_an_output_that_is_checked_is_not_made(tmp_path: Path) -> None:
    check_output(str(tmp_path / "new" / "folder"), is_folder=True)
    check_output(str(tmp_path / "new" / "file"))
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="File name too long; name another --output"):
        check_output(str(tmp_path / ("n" * 300)))


def test_a_text_without_a_line_is_said_to_have_none(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert main(["encode", model, str(empty)]) == 0
    assert "empty.txt has no line, and so no vector" in capsys.readouterr().err
    assert main(["score", model, str(empty)]) == 0
    assert "empty.txt has no line, and so no score" in capsys.readouterr().err
    assert main(["mine", "--model", model, str(empty), str(empty), "--quiet"]) == 0
    assert "empty.txt has no line, and so no pair" in capsys.readouterr().err
    assert main(["neighbours", model, str(empty), "--query", "a"]) == 0
    assert "empty.txt has no line with text, and so no neighb" in capsys.readouterr().err


def test_a_word_without_paraphrases_is_told_with_the_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.tsv").write_text("a dog runs\tthe hound runs\n")
    assert main(["corpus", "lexicon", str(tmp_path / "pairs.tsv"), "--word", "dog"]) == 0
    said = capsys.readouterr().err
    assert (
        "dog has no paraphrase that is seen in 10 pairs of sentences; a small corpus needs" in said
    )
    assert "--min-count" in said


def test_what_lies_in_a_folder_that_is_read_is_not_written_over(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, config = tmp_path / "pairs.tsv", Path(model, "config.json")
    pairs.write_text("a cat\tthe cat\n")
    before = config.read_bytes()
    for command in ("score", "translate", "encode"):
        assert main([command, model, str(pairs), "--output", str(config)]) == 2
        assert f"config.json is there already in {model}, which is re" in capsys.readouterr().err
    assert config.read_bytes() == before
    for _ in range(2):  # beside the model, and again
        assert main(["score", model, str(pairs), "--output", str(tmp_path / "scores.tsv")]) == 0


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2"])
def test_an_output_is_packed_as_its_name_says(ending: str, model: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("a cat\tstraße\n", encoding="utf-8")
    output = tmp_path / f"scores.tsv.{ending}"
    assert main(["score", model, str(tmp_path / "pairs.tsv"), "--output", str(output)]) == 0
    assert [line.split("\t")[1:] for line in lines_of(str(output))] == [["a cat", "straße"]]
    assert not list(tmp_path.glob("*.part"))


def test_standard_input_is_not_one_of_several_queries(
    model: str, bad: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["neighbours", model, bad, "--query", "-", "cat"]) == 2
    assert "--query - reads all queries from standard input" in capsys.readouterr().err


ODD = ["the\rcat", "the\u2028dog", "a\x0bcat", "the\x85house"]


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ("mine LINES LINES --model MODEL --score cosine --neighbours 1", 3),
        ("neighbours MODEL LINES --query QUERY --neighbours 3", 3),
        ("score MODEL PAIRS", 3),
    ],
)
def test_a_row_of_a_table_is_one_line_whatever_its_texts_hold(
    command: str, columns: int, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines").write_bytes("\n".join(ODD).encode())
    (tmp_path / "pairs").write_bytes("".join(f"{a}\t{a}\n" for a in ODD).encode())
    names = {"MODEL": model, "LINES": tmp_path / "lines", "PAIRS": tmp_path / "pairs"}
    names["QUERY"] = "the\tcat\nand\rdog"
    assert main([str(names.get(word, word)) for word in command.split()]) == 0
    rows = capsys.readouterr().out.removesuffix("\n").splitlines()
    if command.startswith("neighbours"):
        assert rows.pop(0) == "the cat and dog"
    assert {len(row.split("\t")) for row in rows} == {columns}
    assert len(rows) >= 3


@given(st.lists(st.text(), min_size=1))
def test_a_line_of_a_table_has_as_many_fields_as_were_written(fields: list[str]) -> None:
    (line,) = tsv_line(*fields).splitlines()
    assert len(line.split("\t")) == len(fields)
