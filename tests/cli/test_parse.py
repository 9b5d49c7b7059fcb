"""`paraphrastic parse`: trees line by line, templates, and pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.syntax.parse_tree import read_tree
from tests.predictors.test_parser import new_parser


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("parser")
    new_parser(max_words=5).save_pretrained(path)
    return str(path)


def parse(*arguments: str) -> int:
    return main(["parse", *arguments])


def test_every_line_keeps_its_place(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, trees = tmp_path / "lines.txt", tmp_path / "trees.txt"
    lines.write_text("She drove.\n\na b c d e f\nHe ran.\n", encoding="utf-8")
    assert parse(str(lines), "--parser", model, "--output", str(trees)) == 0
    found = trees.read_text(encoding="utf-8").splitlines()
    assert [read_tree(tree).words() for tree in found] == [
        ["She", "drove", "."],
        [],
        [],
        ["He", "ran", "."],
    ]
    assert found[1] == "(ROOT)"
    assert "lines without a tree: 1 empty; 1 too long" in capsys.readouterr().err


def test_templates_are_the_top_of_the_trees(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("She drove.\n", encoding="utf-8")
    assert parse(str(lines), "--parser", model, "--template") == 0
    assert not read_tree(capsys.readouterr().out.strip()).words()


def test_pairs_are_written_with_their_trees(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, output = tmp_path / "pairs.tsv", tmp_path / "parsed.tsv"
    pairs.write_text(
        "sentence1\tsentence2\nShe drove.\tDrove, she\nShe\tShe\n\t\n\n", encoding="utf-8"
    )
    options = ["--parser", model, "--output", str(output)]
    assert parse("--pairs", str(pairs), *options) == 0
    rows = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row[:2] for row in rows] == [["She drove.", "Drove, she"]]
    assert [read_tree(tree).words() for tree in rows[0][2:]] == [
        ["She", "drove", "."],
        ["Drove", ",", "she"],
    ]
    assert "pairs left out: 2 empty; 1 the same parse" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name either a file of lines"),
        (["a", "--pairs", "b"], "name either a file of lines"),
        (["a", "--keep-same"], "is about --pairs"),
        (["--pairs", "a", "--template"], "--pairs writes whole trees"),
        (["no-such-file"], "no-such-file"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], message: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parse(*arguments, "--parser", model) == 2
    assert message in capsys.readouterr().err


def test_a_row_that_is_no_pair_is_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("She drove.\tDrove, she\nalone\n", encoding="utf-8")
    assert parse("--pairs", str(pairs), "--parser", model) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert "pairs.tsv:2" in err
    assert parse("--pairs", str(pairs), "--parser", model, "--bad-lines", "refuse") == 2
    pairs.write_text("alone\n" * 5 + "She drove.\tDrove, she\n", encoding="utf-8")
    assert parse("--pairs", str(pairs), "--parser", model) == 2
