import os
import shutil

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.storage.locate import packaged_folder
from tests.texts import SENTENCES


def test_files_are_encoded_once(tmp_path, refused):
    files = [tmp_path / f"part-{number}.txt" for number in range(2)]
    for number, file in enumerate(files):
        text = "".join(f"{line}\n" for line in SENTENCES[number::2])
        file.write_text(text, encoding="utf-8")
    output = tmp_path / "vectors"
    command = ["corpus", "encode", "english", *map(str, files), "--output", str(output)]
    assert main([*command, "--normalize-embeddings"]) == 0
    encoder = SentenceEncoder.from_pretrained("english")
    for number in range(2):
        wanted = encoder.encode(SENTENCES[number::2], normalize_embeddings=True)
        found = np.load(output / f"part-{number}.npy")
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    stamp = (output / "part-0.npy").stat().st_mtime_ns
    (output / "part-1.npy").unlink()
    (output / "logs" / "completions" / "00001").unlink()
    (output / "part-1.npy.part").touch()  # a killed run leaves this file
    assert main([*command, "--normalize-embeddings"]) == 0
    assert not any(output.glob("*.part"))
    assert (output / "part-0.npy").stat().st_mtime_ns == stamp
    assert (output / "part-1.npy").exists()
    assert "normalize" in refused(*command)
    files[0].write_text("another line\n", encoding="utf-8")
    assert str(output) in refused(*command, "--normalize-embeddings")
    assert "10000" in refused(*command, "--tasks", "0")


@pytest.mark.slow
def test_a_changed_model_is_noticed(tmp_path, refused):
    """The name of the model stays, its files change."""
    model, text, output = tmp_path / "model", tmp_path / "text.txt", tmp_path / "vectors"
    text.write_text("a cat\n", encoding="utf-8")
    command = ["corpus", "encode", str(model), str(text), "--output"]
    shutil.copytree(packaged_folder("tiny"), model)
    assert main([*command, str(output)]) == 0
    shutil.rmtree(model)
    shutil.copytree(packaged_folder("english"), model)
    assert str(output) in refused(*command, str(output))
    assert main([*command, str(tmp_path / "others")]) == 0
    sides = [str(output), str(tmp_path / "others")]
    assert sides[1] in refused("corpus", "mine", *sides, "--output", str(tmp_path / "mined"))


@pytest.mark.slow
def test_changed_text_of_equal_size_and_time_is_noticed(tmp_path, refused):
    text, output = tmp_path / "text.txt", tmp_path / "vectors"
    text.write_text("a cat\n", encoding="utf-8")
    command = ["corpus", "encode", "tiny", str(text), "--output", str(output)]
    assert main(command) == 0
    before = text.stat()
    text.write_text("a dog\n", encoding="utf-8")
    os.utime(text, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert str(output) in refused(*command)
    mine = ["corpus", "mine", str(output), str(output), "--output", str(tmp_path / "mined")]
    assert str(text) in refused(*mine)


def test_files_of_equal_name_are_refused(tmp_path, refused):
    for name in ("a.txt", "a.tsv"):
        (tmp_path / name).write_text("a cat\n")
    files = [str(tmp_path / name) for name in ("a.txt", "a.tsv")]
    output = str(tmp_path / "x")
    assert "a.npy" in refused("corpus", "encode", "english", *files, "--output", output)
