"""Conversion of files to model directories, in Python and on the command line."""

import errno
import hashlib
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.conversion.convert import convert
from paraphrastic_hf.conversion.release import Choices
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.directory import load_model
from paraphrastic_hf.errors import DataError, DiskError
from paraphrastic_hf.text.word import WordTokenizer
from tests.conversion.released import WORDS, lstm_arrays, random_arrays, run, save, states_of_zeros

TEXTS = ["The cat sleeps.", "a dog doesn't run", "zebra", "n't"]


def glove(path: Path, words: list[str]) -> np.ndarray:
    """Write a vectors file and return its numbers."""
    table = np.random.default_rng(5).normal(0, 1, (len(words), 5)).astype(np.float32)
    lines = [
        f"{word} {' '.join(map(repr, row))}\n"
        for word, row in zip(words, table.tolist(), strict=True)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return table


def test_vectors_are_averaged(tmp_path):
    table = glove(tmp_path / "v.txt", WORDS)
    row = dict(zip(WORDS, table, strict=True))
    _, vectors = run(tmp_path / "v.txt", [*TEXTS, ""])
    unknown = row["UUUNKKK"]
    expected = [
        np.mean([row["the"], row["cat"], row["sleeps"], row["."]], 0),
        np.mean([row["a"], row["dog"], unknown, unknown, unknown], 0),  # doesn, 't, run
        unknown,
        np.mean([unknown, unknown], 0),
        np.zeros(5),
    ]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    _, vectors = run(tmp_path / "v.txt", ["The cat does n't run", "cat."], spaced=True)
    np.testing.assert_allclose(vectors, [table[[0, 1, 7, 6, 8]].mean(0), table[8]], atol=1e-6)
    table = glove(tmp_path / "v.txt", ["the", "cat", "Cat"])  # unknown words are left out
    _, (vector,) = run(tmp_path / "v.txt", ["the Cat sat"], cased=True)
    np.testing.assert_allclose(vector, table[[0, 2]].mean(0), atol=1e-6)


def test_vectors_of_trigrams_are_detected(tmp_path):
    table = glove(tmp_path / "v.txt", [" ca", "cat", "at ", "e c", "UUUNKKK"])
    converted, vectors = run(tmp_path / "v.txt", ["cat", "a cat"])
    assert converted.kind == "trigrams"
    expected = [table[:3].mean(0), table[[4, 4, 0, 1, 2]].mean(0)]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_a_member_of_an_archive_is_converted(tmp_path):
    table = glove(tmp_path / "v.txt", WORDS)
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.write(tmp_path / "v.txt", "a/v.txt")
        archive.writestr("README", "hello")
    convert(tmp_path / "v.zip" / "a" / "v.txt", tmp_path / "out")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    np.testing.assert_allclose(encoder.encode(["cat"])[0], table[1], atol=1e-6)
    source = json.loads((tmp_path / "out" / "source.json").read_text())
    assert source["sha256"] == hashlib.sha256((tmp_path / "v.zip").read_bytes()).hexdigest()


@pytest.mark.parametrize(("source", "kind"), [("words.txt", None), ("lstm.pickle", "lstm-avg")])
def test_every_loader_reads_conversions(source, kind, tmp_path):
    rng, out = np.random.default_rng(2), tmp_path / "out"
    rows = {word: row for row, word in enumerate(WORDS)}
    arrays = [*random_arrays(rng, (len(WORDS), 4)), *lstm_arrays(rng, 4, 3), *states_of_zeros(3)]
    glove(tmp_path / "words.txt", WORDS)
    save(tmp_path / "lstm.pickle", [*arrays, rows])
    texts = ["the cat sleeps", "a dog runs fast"]
    _, vectors = run(tmp_path / source, texts, kind=kind)
    theirs = SentenceTransformer(str(out), device="cpu", trust_remote_code=kind is not None)
    np.testing.assert_allclose(theirs.encode(texts), vectors, atol=1e-6)
    batch = AutoTokenizer.from_pretrained(out)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        output = AutoModel.from_pretrained(out)(batch["input_ids"], batch["attention_mask"])
    np.testing.assert_allclose(output.sentence_embedding, vectors, atol=1e-6)


def test_source_json_records_the_origin(tmp_path, capsys):
    rows = {word: row for row, word in enumerate(WORDS)}
    path = save(tmp_path / "gran.pickle", [np.ones((len(WORDS), 4), np.float32), rows])
    out = tmp_path / "out"
    assert main(["convert", str(path), "--output", str(out), "--spaced"]) == 0
    printed = capsys.readouterr().out
    assert str(out) in printed
    source = json.loads((out / "source.json").read_text())
    assert source["file"] == "gran.pickle"
    assert source["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (source["format"], source["kind"]) == ("theano", "words")
    assert all(difference in printed for difference in source["differences"])
    assert not (out / "README.md").exists()
    assert not any(".part" in str(path) for path in out.rglob("*"))


def test_errors_leave_no_output(tmp_path, capsys):
    (tmp_path / "bad.txt").write_text("the 1 2\ncat 1 nan\n")
    out = tmp_path / "out"
    assert main(["convert", str(tmp_path / "bad.txt"), "--output", str(out)]) == 2
    error = capsys.readouterr().err
    assert "bad.txt:2" in error
    assert not out.exists()
    command = ["convert", str(tmp_path / "bad.txt"), "--output", str(out), "--bad-rows", "skip"]
    assert main(command) == 0
    assert main(["convert", str(tmp_path / "no.txt"), "--output", str(out)]) == 2
    assert "no.txt" in capsys.readouterr().err


def fill_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Make writing the weights fail (`after` = 0), or the next write after `after` others."""
    if after == 0:

        def save_file(*_: object, **__: object) -> None:
            raise SafetensorError("I/O error: No space left on device (os error 28)")

        monkeypatch.setattr("transformers.modeling_utils.safe_save_file", save_file)
        return
    write, left = Path.write_bytes, iter(range(after))

    def write_bytes(path: Path, content: bytes) -> int:
        if next(left, None) is None:
            write(path, content[:5])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_no_partial_output(there, after, tmp_path, monkeypatch):
    """An existing conversion stays whole. `after` 6 and 7 are beyond the last file."""
    glove(tmp_path / "glove.txt", ["the", "kettle"])
    out = tmp_path / "out"
    if there:
        convert(tmp_path / "glove.txt", out)
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        fill_disk(patch, after)
        if after > 5:
            convert(tmp_path / "glove.txt", out, overwrite=True)
            return
        with pytest.raises(DiskError, match=str(out)) as error:
            convert(tmp_path / "glove.txt", out, overwrite=True)
    assert str(error.value).count(str(out)) == 1
    after_it = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after_it == before
    assert out.exists() == there


def test_saving_to_a_full_disk_leaves_no_files(tmp_path, monkeypatch):
    encoder = SentenceEncoder.from_table(np.ones((3, 2)), WordTokenizer(["cat"]))
    for after in (0, 1, 3):
        with monkeypatch.context() as patch:
            fill_disk(patch, after)
            with pytest.raises(DiskError):
                encoder.save_pretrained(tmp_path / "out")
        assert not list(tmp_path.iterdir())


def test_foreign_folders_are_not_overwritten(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("the 1 2\ncat 1 3\n")
    (tmp_path / "b.txt").write_text("the 5 2 7\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "recipe.yaml").write_text("seed: 1\n")
    with pytest.raises(DataError):
        convert(tmp_path / "a.txt", run, overwrite=True)
    assert [path.name for path in run.iterdir()] == ["recipe.yaml"]
    out = tmp_path / "out"
    command = ["convert", str(tmp_path / "a.txt"), "--output", str(out)]
    assert main(command) == 0
    assert out.joinpath("model.safetensors").stat().st_mode & 0o044 == 0o044
    assert main(["convert", str(tmp_path / "b.txt"), "--output", str(out)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    convert(tmp_path / "b.txt", out, Choices(cased=True), overwrite=True)
    assert load_model(out).config.hidden_size == 3
    choices = json.loads((out / "source.json").read_text())["choices"]
    assert choices == {"bad_rows": "refuse", "cased": True}


@pytest.mark.parametrize("name", ["vectors.zip", "model.pt", "v.txt"])
def test_undecodable_names_and_options_without_effect_are_refused(name, tmp_path):
    glove(tmp_path / "v.txt", WORDS)
    choices = [Choices()]
    if name == "v.txt":
        given = {"vocabulary": "x", "side": "first", "combine": "add", "activation": "tanh"}
        choices = [Choices(**{key: value}) for key, value in (*given.items(), ("kind", "lstm"))]
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("vectoren-é.txt", "the 1 2\n")
        damaged = (tmp_path / name).read_bytes().replace("é".encode(), b"\xff\xff")
        (tmp_path / name).write_bytes(damaged)
    for choice in choices:
        with pytest.raises(DataError):
            convert(tmp_path / name, tmp_path / "out", choice)


def test_a_failed_rename_loses_no_model(tmp_path, monkeypatch):
    glove(tmp_path / "v.txt", WORDS)
    _, before = run(tmp_path / "v.txt", TEXTS)
    real = os.replace

    def refuse(source: object, target: object) -> None:
        if Path(str(target)).name == "out" and not str(source).endswith(".old.part"):
            raise OSError("not empty")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DataError):
        convert(tmp_path / "v.txt", tmp_path / "out", overwrite=True)
    after = SentenceEncoder.from_pretrained(tmp_path / "out").encode(TEXTS)
    np.testing.assert_array_equal(after, before)
