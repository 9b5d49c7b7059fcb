"""The command line: help, streams, errors, and simple commands."""

import contextlib
import errno
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.cli.main import COMMANDS
from paraphrastic_hf.text.word import WordTokenizer

DEMO = Path(__file__).parents[2] / "recipes" / "demo"
HELP = """
import os, sys
from paraphrastic_hf.cli.main import COMMANDS, main
for command in [[], *([name] for name in COMMANDS)]:
    process = os.fork()
    if not process:
        try:
            main([*command, "--help"])
        except SystemExit:
            slow = {"torch", "transformers", "datasets", "pandas", "scipy"} & set(sys.modules)
            sys.stdout.flush()
            os._exit(bool(slow))
    assert not os.waitpid(process, 0)[1], command
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    lines = (DEMO / "pairs.tsv").read_text().replace("\t", "\n").splitlines()
    tokenizer = WordTokenizer.train(lines, vocab_size=400)
    table = AveragingModel(AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=32))
    directory = tmp_path_factory.mktemp("cli") / "model"
    SentenceEncoder(table, tokenizer).save_pretrained(directory)
    return str(directory)


@pytest.mark.slow
def test_help_imports_no_slow_package():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: paraphrastic") == 1 + len(COMMANDS)


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        (["train", "own"], ["recipe", "data", "tokenizer", "model", "training", "finish", "run"]),
        (["corpus", "make", "paranmt-2018/spanish"], ["recipe", "data", "engine", "make", "steps"]),
    ],
)
def test_keys_are_tables_with_the_values_of_the_recipe(command, groups, run):
    printed = run(*command, "--keys").out
    assert [line for line in printed.splitlines() if line in groups] == groups
    part = run(*command, "--keys", groups[-1]).out
    assert part.split("\n\n")[1] in printed
    assert groups[1] not in part.splitlines()
    assert "'datta'" in run(*command, "--keys", "datta", status=2).err
    assert "RECIPE" in run(*command[:-1], "--keys", status=2).err


def test_keys_show_values_not_defaults(run):
    rows = run("train", "own", "--keys", "training").out.splitlines()
    assert ["margin", "0.4"] in [row.split()[:2] for row in rows]
    rows = run("train", "paragram-phrase", "--keys", "training").out.splitlines()
    assert ["mega_batch", "1"] in [row.split()[:2] for row in rows]


def test_streams_are_utf_8_in_any_locale(model):
    done = subprocess.run(
        [sys.executable, "-m", "paraphrastic_hf.cli.main", "score", model, "-"],
        input="日本\tça va\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").endswith("\t日本\tça va\n")


def test_encode_prints_the_vectors_of_the_encoder(model, tmp_path, run):
    (tmp_path / "text").write_text("the cat\nthe dog\n")
    printed = run("encode", model, tmp_path / "text", "--normalize-embeddings").out
    rows = np.array([[float(x) for x in line.split("\t")] for line in printed.splitlines()])
    encoder = SentenceEncoder.from_pretrained(model)
    expected = encoder.encode(["the cat", "the dog"], normalize_embeddings=True)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_score_writes_the_cosine_before_each_line(model, run):
    lines = [
        line.split("\t") for line in run("score", model, DEMO / "questions.tsv").out.splitlines()
    ]
    assert len(lines) == 4
    assert all(-1 <= float(line[0]) <= 1 and len(line) == 3 for line in lines)


def test_score_names_the_bad_line(model, tmp_path, run):
    few, many, output = tmp_path / "p.tsv", tmp_path / "q.tsv", tmp_path / "o.tsv"
    few.write_text("a\tb\nno tab here\n")
    many.write_text("a\tb\n" + "no tab here\n" * 3)
    assert "p.tsv:2" in run("score", model, few, "--output", output).err
    assert output.read_text().splitlines()[1] == "nan\tno tab here"
    output.unlink()
    for path, options in ((few, ["--bad-lines", "refuse"]), (many, [])):
        said = run("score", model, path, "--output", output, *options, status=2)
        assert f"{path}:2" in said.err
        assert not output.exists()


def test_the_nearest_neighbor_of_a_line_is_itself(model, tmp_path, run):
    rows = (DEMO / "pairs.tsv").read_text().splitlines()
    lines = [row.split("\t")[0] for row in rows]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(lines) + "\n")
    queries = [lines[17], lines[3], "caf\udce9"]
    output = run(
        "neighbors", model, corpus, "--query", *queries, "--neighbors", "2"
    ).out.splitlines()
    assert output[1] == f"  1.0000\t18\t{lines[17]}"
    assert output[4] == f"  1.0000\t4\t{lines[3]}"
    assert output[6] == "caf\ufffd"


def test_output_may_be_a_device_or_a_link(model, tmp_path, run):
    full, link, target = (tmp_path / name for name in ("full", "link.tsv", "target.tsv"))
    full.symlink_to("/dev/full")
    link.symlink_to(target)
    assert "/full" in run("score", model, DEMO / "pairs.tsv", "--output", full, status=2).err
    assert full.is_char_device()
    run("score", model, DEMO / "pairs.tsv", "--output", link)
    assert link.is_symlink()
    assert target.stat().st_size > 0


def test_an_empty_file_gives_an_empty_array(model, tmp_path, run):
    (tmp_path / "empty").touch()
    run("encode", model, tmp_path / "empty", "--output", f"{tmp_path}/v/")
    assert pyarrow.parquet.read_table(tmp_path / "v").num_rows == 0
    run("encode", model, tmp_path / "empty", "--output", tmp_path / "v.npy")
    assert np.load(tmp_path / "v.npy").shape == (0, 32)


@pytest.mark.slow
def test_bars_are_shown_in_a_terminal_only(tmp_path):
    small = ["--vocab_size", "200", "--hidden_size", "8", "--sources", str(DEMO / "pairs.tsv")]
    command = [sys.executable, "-m", "paraphrastic_hf.cli.main", "train", "own", *small]
    command += ["--output", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "\r" not in done.stderr
    assert "train.jsonl" in done.stderr
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, 100))
    closed = subprocess.DEVNULL
    process = subprocess.Popen([*command, "--overwrite"], stdin=closed, stdout=closed, stderr=inner)
    os.close(inner)
    said = b""
    with contextlib.suppress(OSError):  # the other side is closed
        while block := os.read(outer, 4096):
            said += block
    os.close(outer)
    assert process.wait() == 0
    assert b"pairs/s" in said
    assert b"\r" in said


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "OUT"),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "paraphrastic-hf[train]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_system_error_names_the_output_or_the_fix(error, named, tmp_path, run, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("paraphrastic_hf.cli.score.run", fail)
    output = tmp_path / "out"
    output.write_text("here")
    said = run("score", "english", "pairs.tsv", "--output", output, status=2).err
    assert named.replace("OUT", str(output)) in said
    assert said.count("\n") == 1
