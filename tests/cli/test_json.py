"""`--json`: one JSON object per line, with the values of the plain output."""

import json

import pytest

from tests.evaluation.sts_files import write_sts


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a café\n\nthe coffee house\na dog\n")
    return path


def objects(printed):
    return [json.loads(line) for line in printed.splitlines()]


def test_score_prints_an_object_per_pair(tmp_path, run):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("sentence1\tsentence2\na cat\tthe kitten\n\t\n")
    first, blank = objects(run("score", "tiny", pairs, "--json").out)
    plain = run("score", "tiny", pairs).out.splitlines()[1].split("\t")
    assert [f"{first['similarity']:.4f}", first["sentence1"], first["sentence2"]] == plain
    assert blank["similarity"] is None


def test_neighbors_prints_an_object_per_query(lines, run):
    command = ["neighbors", "tiny", lines, "--query", "café", "", "--neighbors", "2"]
    printed = run(*command, "--json").out
    found, blank = objects(printed)
    plain = [line.split("\t") for line in run(*command).out.splitlines()]
    assert [
        [f"  {each['cosine']:.4f}", str(each["line"]), each["text"]] for each in found["neighbors"]
    ] == plain[1:3]
    assert found["query"] == "café"
    assert "café" in printed
    assert blank == {"query": "", "neighbors": []}


def test_mine_prints_an_object_per_pair(lines, run):
    command = ["mine", "tiny", lines, lines, "--exclude-identical", "--quiet"]
    found = objects(run(*command, "--json").out)
    plain = [line.split("\t") for line in run(*command).out.splitlines()]
    assert [[f"{each['score']:.6f}", each["source"], each["target"]] for each in found] == plain
    texts = lines.read_text().splitlines()
    assert [texts[each["source_line"] - 1] for each in found] == [row[1] for row in plain]
    run(*command, "--json", "--output", lines.parent / "pairs.parquet", status=2)


def test_evaluate_prints_an_object_per_suite(tmp_path, run):
    data, output = write_sts(tmp_path / "eval"), tmp_path / "report"
    command = ["evaluate", "tiny", "--suite", "sts", "sts17", "--data", data, "--output", output]
    found = objects(run(*command, "--json").out)
    assert found == [json.loads((output / f"{name}.json").read_text()) for name in ("sts", "sts17")]
    assert "ar-ar" in found[1]["headline"]
