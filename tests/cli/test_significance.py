"""`paraphrastic significance` end to end."""

import pytest

from tests.evaluation.made_pairs import averaging
from tests.evaluation.sts_files import PAIRS, write_sts


@pytest.fixture
def models(subword, tmp_path):
    paths = {str(tmp_path / name): size for name, size in (("one", 2), ("two", 64))}
    for path, size in paths.items():
        averaging(subword, size).save_pretrained(path)
    return list(paths)


def rows_of(printed, name):
    return [row for row in printed.splitlines() if row.startswith(f"| {name} |")]


def test_two_models_are_compared_dataset_by_dataset(models, tmp_path, run):
    data, output = write_sts(tmp_path / "eval"), tmp_path / "new" / "table.md"
    command = ["significance", *models, "--samples", "20", "--suite", "sts17"]
    printed = run(*command, "--data", data, "--output", output).out
    assert printed == output.read_text()
    assert printed.startswith("# one and two: sts17\n")
    assert len(rows_of(printed, "STS17")) == 7
    assert "20 samples, seed 1" in printed
    assert run(*command, "--data", data, "--output", "-").out == printed  # once
    assert run(*command, "--data", tmp_path).out == printed  # finds eval itself
    both = run(*command, "sts", "--data", data).out
    assert rows_of(both, "STS17") == rows_of(printed, "STS17")
    assert rows_of(both, "2012")
    (data / "sts13" / "STS.input.FNWN.txt").unlink()
    without = run(*command[:-2], "--suite", "sts", "--data", data, status=3).out
    assert "STS.input.FNWN.txt" in without


def test_a_model_is_compared_with_a_smaller_copy_of_itself(models, tmp_path, run):
    data = write_sts(tmp_path / "eval")
    options = ["--suite", "sts17", "--data", data, "--samples", "20"]
    smaller = ["--dimension", "2", "--precision", "int4"]
    printed = run("significance", models[1], models[1], *options, *smaller).out
    assert printed.startswith("# two and two-2-int4: sts17\n")


@pytest.mark.parametrize(
    ("values", "measures"),
    [
        (["1", "2", "3", "4", "5", "5"], ["pearson", "spearman"]),
        (["1", "0", "1", "0", "1", "0"], ["average precision", "accuracy"]),
        ([], ["accuracy@1", "accuracy@5", "MRR@10", "nDCG@10"]),
    ],
)
def test_two_models_are_compared_on_own_pairs(values, measures, models, tmp_path, run):
    rows = PAIRS.read_text().splitlines()[: len(values) or 6]
    lines = [f"{row}\t{value}" for row, value in zip(rows, values, strict=False)] or rows
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(lines) + "\n")
    printed = run("significance", *models, "--pairs", path, "--samples", "20").out
    table = [line for line in printed.splitlines() if "| mine.tsv |" in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [row[3] for row in cells] == measures
    for row in cells:
        low, high = (float(end) for end in row[7].split(" to "))
        assert low <= float(row[6]) <= high
        assert row[8]
        assert bool(row[9]) == (len(set(values)) > 2)  # Steiger's is of correlations
