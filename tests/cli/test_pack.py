"""`paraphrastic pack`."""

import shutil

import numpy as np
import pytest

from paraphrastic_hf import RecurrentConfig, RecurrentModel, SentenceEncoder, packaged_model
from tests.texts import SENTENCES


@pytest.mark.parametrize("precision", ["int4", "float32", "float16", "bfloat16", "int8"])
def test_pack_writes_a_smaller_copy(precision, tmp_path, run):
    folder = tmp_path / "small"
    options = [] if precision == "int4" else ["--precision", precision]  # int4 is the default
    printed = run("pack", "english", "--dimension", "16", *options, "--output", folder).out
    size = (folder / "model.safetensors").stat().st_size
    assert printed.startswith(str(folder))
    assert (f"{size / 1e3:.0f} kB" if size < 1e6 else f"{size / 1e6:.1f} MB") in printed
    cut = SentenceEncoder.from_pretrained("english").with_dimension(16)
    # only stored tables may have 16-bit floats
    expected = cut if precision == "float16" else cut.with_precision(precision)
    found = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_allclose(found.table(), expected.table(), atol=2e-3)
    assert found.encode(SENTENCES).shape == (len(SENTENCES), 16)


def test_only_a_packed_model_is_overwritten(tmp_path, run):
    folder, trained = tmp_path / "tiny", tmp_path / "run"
    command = ["pack", "english", "--dimension", "8", "--output", folder]
    run(*command)
    assert "--overwrite" in run(*command, status=2).err
    run(*command, "--overwrite", "--precision", "int8")
    (folder / "config.json").unlink()
    assert str(folder) in run(*command, "--overwrite", status=2).err
    shutil.copytree(packaged_model("tiny"), trained)
    assert str(trained) in run("pack", trained, "--output", trained, "--overwrite", status=2).err


def test_a_model_that_does_not_average_is_refused(word, tmp_path, run):
    model = RecurrentModel(RecurrentConfig(vocab_size=word.vocab_size, hidden_size=4))
    SentenceEncoder(model.eval(), word).save_pretrained(tmp_path / "lstm")
    assert "lstm" in run("pack", tmp_path / "lstm", "--output", tmp_path / "out", status=2).err
    assert not (tmp_path / "out").exists()
