"""`paraphrastic significance` end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.evaluation.sts_files import PAIRS, write_sts


@pytest.fixture
def models(subword: SubwordTokenizer, tmp_path: Path) -> list[str]:
    paths = []
    for name, dim in (("one", 2), ("two", 64)):
        config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=dim)
        SentenceEncoder(AveragingModel(config), subword).save_pretrained(tmp_path / name)
        paths.append(str(tmp_path / name))
    return paths


def test_two_models_are_compared_dataset_by_dataset(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, output = write_sts(tmp_path / "eval"), tmp_path / "new" / "table.md"
    arguments = ["significance", *models, "--suite", "sts17", "--data", str(data)]
    assert main([*arguments, "--samples", "20", "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert printed == output.read_text(encoding="utf-8")
    assert printed.startswith("# one and two: sts17\n")
    assert printed.count("| STS17 |") == 7
    assert "Scores x 100; 20 samples, seed 1." in printed
    assert main([*arguments, "--samples", "20", "--output", "-"]) == 0
    assert capsys.readouterr().out == printed  # once
    of_all = ["significance", *models, "--suite", "sts17", "--data", str(tmp_path)]
    assert main([*of_all, "--samples", "20"]) == 0  # finds eval itself
    assert capsys.readouterr().out == printed


def test_suites_are_compared_in_one_table(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sts(tmp_path / "eval")
    arguments = ["significance", *models, "--samples", "5", "--data", str(data), "--suite"]
    main([*arguments, "sts17"])
    alone = [row for row in capsys.readouterr().out.splitlines() if row.startswith("| STS17 |")]
    assert main([*arguments, "sts17", "sts"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "# one and two: sts17, sts"
    assert [row for row in printed if row.startswith("| STS17 |")] == alone
    assert any(row.startswith("| 2012 |") for row in printed)
    assert main([*arguments, "sts17", "x"]) == 2
    assert "no suite 'x'" in capsys.readouterr().err


def test_a_model_is_compared_with_a_smaller_copy_of_itself(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sts(tmp_path / "eval")
    arguments = ["significance", models[1], models[1], "--suite", "sts17", "--data", str(data)]
    assert main([*arguments, "--samples", "20", "--dimension", "2", "--precision", "int4"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# two and two-2-int4: sts17\n")
    assert main([*arguments, "--dimension", "65"]) == 2
    assert "two, --dimension 65: dimension must be from 1 to 64" in capsys.readouterr().err


def test_missing_data_gives_exit_status_3(
    models: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_sts(tmp_path / "eval")
    (data / "sts13" / "STS.input.FNWN.txt").unlink()
    arguments = ["significance", *models, "--samples", "5", "--data", str(data)]
    assert main(arguments) == 3
    assert "Skipped, 2013: STS.input.FNWN.txt" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--samples", "0"], "--samples must be 1 or more"),
        (["--seed", "-1"], "--seed must be 0 or more"),
        (["--suite", "x"], "no suite 'x'"),
    ],
)
def test_wrong_options_are_one_line(
    option: list[str],
    message: str,
    models: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = str(write_sts(tmp_path / "eval"))
    assert main(["significance", *models, "--data", data, *option]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("values", "measures"),
    [
        (["1", "2", "3", "4", "5", "5"], ["pearson", "spearman"]),
        (["1", "0", "1", "0", "1", "0"], ["average precision", "accuracy"]),
        ([], ["accuracy@1", "accuracy@5", "MRR@10", "nDCG@10"]),
    ],
)
def test_two_models_are_compared_on_pairs_of_ones_own(
    values: list[str],
    measures: list[str],
    models: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = PAIRS.read_text(encoding="utf-8").splitlines()[: len(values) or 6]
    lines = (f"{row}\t{value}" for row, value in zip(rows, values, strict=True))
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(lines if values else rows) + "\n", encoding="utf-8")
    assert main(["significance", *models, "--pairs", str(path), "--samples", "20"]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if "| mine.tsv |" in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [row[3] for row in cells] == measures
    for row in cells:
        low, high = (float(end) for end in row[7].split(" to "))
        assert low <= float(row[6]) <= high
        assert row[8]
        assert bool(row[9]) == (len(set(values)) > 2)  # Steiger's is of correlations
