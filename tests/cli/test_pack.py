"""`paraphrastic pack`: what it writes, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import RecurrentConfig, RecurrentModel, SentenceEncoder, packaged_model
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.text.word import WordTokenizer
from tests.texts import SENTENCES


def test_a_packaged_model_becomes_a_smaller_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny"
    assert main(["pack", "english", "--dimension", "16", "--output", str(folder)]) == 0
    size = (folder / "model.safetensors").stat().st_size
    assert capsys.readouterr().out == f"{folder}: 16 dimensions, {size / 1e3:.0f} kB of weights\n"
    whole = SentenceEncoder.from_pretrained("english")
    expected = whole.with_dimension(16).with_precision("int4")
    found = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_array_equal(found.encode(SENTENCES), expected.encode(SENTENCES))


@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16", "int8"])
def test_other_precisions(precision: str, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    options = ["--dimension", "8", "--precision", precision, "--output", str(folder)]
    assert main(["pack", "english", *options]) == 0
    cut = SentenceEncoder.from_pretrained("english").with_dimension(8)
    found = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_allclose(found.table(), cut.table(), atol=0.03)
    assert found.dimension == 8


def test_a_folder_with_something_in_it_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny"
    command = ["pack", "english", "--dimension", "8", "--output", str(folder)]
    assert main(command) == 0
    assert main(command) == 2
    assert "holds a model: choose another --output, or give --over" in capsys.readouterr().err
    assert main([*command, "--overwrite", "--precision", "int8"]) == 0
    (folder / "config.json").unlink()
    assert main([*command, "--overwrite"]) == 2
    assert "holds other things than a model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dimension", "2000"], "english, --dimension 2000: dimension must be from 1 to"),
        (["--dimension", "0"], "paraphrastic pack: english, --dimension 0: dimension must be from"),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pack", "english", *options, "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_model_that_does_not_average_is_refused(
    word: WordTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = RecurrentModel(RecurrentConfig(vocab_size=word.vocab_size, hidden_size=4))
    SentenceEncoder(model.eval(), word).save_pretrained(tmp_path / "lstm")
    assert main(["pack", str(tmp_path / "lstm"), "--output", str(tmp_path / "out")]) == 2
    assert "lstm is no average, and only averages are packed" in capsys.readouterr().err


def test_a_training_run_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(packaged_model("tiny"), tmp_path / "run")
    command = ["pack", str(tmp_path / "run"), "--output", str(tmp_path / "run"), "--overwrite"]
    assert main(command) == 2
    assert "run holds a training run: choose another --output" in capsys.readouterr().err
