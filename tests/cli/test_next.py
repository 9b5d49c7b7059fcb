"""The last line of `train` and `encode`: the output, and a command or call that uses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.cli.train import next_command
from paraphrastic_hf.io.files import write_json
from tests.cli.conftest import Run
from tests.data_root import demo_pairs


def test_train_ends_with_a_command_that_runs(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{a}\t{b}\n" for a, b in demo_pairs())
    Path("pairs.tsv").write_text(text, encoding="utf-8")
    small = ["--vocab_size", "200", "--hidden_size", "8", "--epochs", "1"]
    said = run("train", "own", "--sources", "pairs.tsv", "--output", "runs/a b", *small)
    assert "\r" not in said.err
    last = said.out.splitlines()[-1]
    assert "runs/a b" in last
    command = last.partition("paraphrastic ")[2]
    assert command == "score 'runs/a b' pairs.tsv"
    run("score", "runs/a b", "pairs.tsv")


@pytest.mark.parametrize(
    ("model_type", "expected"),
    [
        ("bgt", "score"),
        ("classifier", "predict"),
        ("gated-conv", "translate"),
        ("language-model", "perplexity"),
        ("parser", "parse"),
        ("tagger", "Tagger"),
    ],
)
def test_the_next_command_suits_the_model(model_type: str, expected: str, tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"model_type": f"paraphrastic-{model_type}"})
    command = next_command(tmp_path)
    assert command.removeprefix("paraphrastic ").startswith(expected)
    assert str(tmp_path) in command


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "marian"}, "paraphrastic translate {} lines.txt"),
        ({"model_type": "marian", "template": "none"}, "--canonical"),
        ({"model_type": "paraphrastic-paraphraser"}, "--canonical"),
        ({"model_type": "paraphrastic-scpn", "template": "template"}, "--templates top20"),
        ({"model_type": "paraphrastic-scpn", "template": "parse"}, "--template-file parses.txt"),
        (
            {"model_type": "paraphrastic-scpn", "template": "template", "writes": "parse"},
            "generator='{}') in Python",
        ),
    ],
)
def test_the_next_command_suits_the_templates(
    config: dict[str, str], expected: str, tmp_path: Path
) -> None:
    write_json(tmp_path / "config.json", {**config, "is_encoder_decoder": True})
    command = next_command(tmp_path)
    assert expected.format(tmp_path) in command


def test_encode_ends_with_a_call_that_reads_the_output(tmp_path: Path, run: Run) -> None:
    (tmp_path / "lines.txt").write_text("a cat\na dog\n", encoding="utf-8")
    for output in (f"{tmp_path}/vectors.npy", f"{tmp_path}/vectors/"):
        (line,) = run("encode", "tiny", tmp_path / "lines.txt", "--output", output).out.splitlines()
        assert line.startswith(f"{output}: 2 vectors")
    vectors = np.load(tmp_path / "vectors.npy")
    assert f"{vectors.shape[1]} numbers" in line
    printed = run("encode", "tiny", tmp_path / "lines.txt").out
    assert len(printed.splitlines()) == 2
