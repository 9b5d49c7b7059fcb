"""`paraphrastic parse`: trees, templates and pairs."""

import pytest

from paraphrastic_hf.syntax.parse_tree import read_tree
from tests.predictors.test_parser import new_parser


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("parser")
    new_parser(max_words=5).save_pretrained(path)
    return str(path)


def test_every_line_keeps_its_place(model, tmp_path, run):
    lines, trees = tmp_path / "lines.txt", tmp_path / "trees.txt"
    lines.write_text("She drove.\n\na b c d e f\nHe ran.\n")
    said = run("parse", model, lines, "--output", trees).err
    found = trees.read_text().splitlines()
    words = [read_tree(tree).words() for tree in found]
    assert words == [["She", "drove", "."], [], [], ["He", "ran", "."]]
    assert found[1] == "(ROOT)"
    assert "1 empty" in said
    assert "1 too long" in said


def test_without_a_model_the_packaged_parser_parses(tmp_path, run):
    lines, pairs = tmp_path / "lines.txt", tmp_path / "pairs.tsv"
    lines.write_text("She drove home.\n")
    assert run("parse", lines, "--template").out == "(ROOT (S (NP) (VP) (.)))\n"
    pairs.write_text("She drove home.\tDid she drive?\n")
    assert len(run("parse", "--pairs", pairs).out.splitlines()) == 1
    run("parse", status=2)
    run("parse", tmp_path / "missing.txt", status=2)


def test_pairs_are_written_with_their_trees(model, tmp_path, run):
    pairs, output = tmp_path / "pairs.tsv", tmp_path / "parsed.tsv"
    rows = "sentence1\tsentence2\nShe drove.\tDrove, she\nShe\tShe\n\t\n\n"
    pairs.write_text(rows)
    said = run("parse", model, "--pairs", pairs, "--output", output).err
    (row,) = [line.split("\t") for line in output.read_text().splitlines()]
    assert row[:2] == ["She drove.", "Drove, she"]
    words = [read_tree(tree).words() for tree in row[2:]]
    assert words == [["She", "drove", "."], ["Drove", ",", "she"]]
    assert "2 empty" in said


def test_a_malformed_pair_is_reported(model, tmp_path, run):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("She drove.\tDrove, she\nalone\n")
    command = ["parse", model, "--pairs", pairs]
    out, err = run(*command)
    assert len(out.splitlines()) == 1
    assert "pairs.tsv:2" in err
    run(*command, "--bad-lines", "refuse", status=2)
    pairs.write_text("alone\n" * 5 + "She drove.\tDrove, she\n")
    run(*command, status=2)
