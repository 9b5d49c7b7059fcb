"""The command line: help, streams, errors, and simple commands."""

import contextlib
import errno
import os
import pty
import shutil
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from paraphrastic_hf import SentenceEncoder, packaged_model
from paraphrastic_hf.cli.main import COMMANDS, build_parser
from paraphrastic_hf.cli.train import next_command
from paraphrastic_hf.config.recipe import key_paths
from paraphrastic_hf.errors import nearest, nearest_name
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from tests.analyses.made import demo_encoder
from tests.data_root import demo_pairs
from tests.made import recurrent
from tests.texts import SENTENCES

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


MISSING_TEXT = """
import sys
from paraphrastic_hf.cli.main import main
assert main(["train", "own", "--sources", "absent.tsv", "--output", "out"]) == 2
assert "torch" not in sys.modules
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cli") / "model"
    demo_encoder(0).save_pretrained(directory)
    return str(directory)


@pytest.mark.slow
def test_help_imports_no_slow_package():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: paraphrastic") == 1 + len(COMMANDS)


def test_a_missing_text_is_named_before_torch_is_imported(tmp_path):
    command = [sys.executable, "-c", MISSING_TEXT]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "absent.tsv" in done.stderr
    assert not any(tmp_path.iterdir())


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
    assert np.load(tmp_path / "v.npy").shape == (0, 8)


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


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("trian", ["train", "tune"], "train"),
        ("lr", ["layers", "learning_rate", "lowercase"], "learning_rate"),
        ("Learning-Rate", ["learning_rate"], "learning_rate"),
        ("neigh", ["norms", "neighbors"], "neighbors"),
        ("tuna", ["tune", "tunes"], "tune"),
        ("xyzzy", ["train", "tune"], None),
        ("--ouput", ["--output", "--quiet"], "--output"),
    ],
)
def test_the_nearest_name_is_found(name, known, meant):
    assert nearest(name, known) == meant
    shown = nearest_name(name, known)
    assert repr(meant) in shown if meant else all(each in shown for each in known)


def test_swapped_letters_still_find_every_key():
    names = {key.rsplit(".", 1)[-1] for key in key_paths(ContrastiveRecipe)}
    swapped = {name: name[:1] + name[2] + name[1] + name[3:] for name in names if len(name) > 4}
    wrong = {name: nearest(typed, names) for name, typed in swapped.items() if typed not in names}
    assert {name: found for name, found in wrong.items() if found != name} == {}


def test_a_repeated_option_of_several_values_joins_them():
    words = ["simile", "-r", "a", "-s", "b", "c", "-s", "d"]
    assert build_parser(["simile"]).parse_args(words).systems == ["b", "c", "d"]


def test_train_ends_with_a_command_that_runs(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "".join(f"{a}\t{b}\n" for a, b in demo_pairs())
    Path("pairs.tsv").write_text(text)
    small = ["--vocab_size", "200", "--hidden_size", "8", "--epochs", "1"]
    said = run("train", "own", "--sources", "pairs.tsv", "--output", "runs/a b", *small)
    assert "\r" not in said.err
    last = said.out.splitlines()[-1]
    assert "runs/a b" in last
    command = last.partition("paraphrastic ")[2]
    assert command == "score 'runs/a b' pairs.tsv"
    run("score", "runs/a b", "pairs.tsv")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"model_type": "paraphrastic-bgt"}, "score "),
        ({"model_type": "paraphrastic-parser"}, "parse "),
        ({"model_type": "paraphrastic-tagger"}, "Tagger."),
        ({"model_type": "marian"}, "translate "),
        ({"model_type": "marian", "template": "none"}, "--canonical"),
        ({"model_type": "paraphrastic-paraphraser"}, "--canonical"),
        ({"model_type": "paraphrastic-scpn", "template": "parse"}, "--template-file"),
        ({"model_type": "paraphrastic-scpn", "template": "parse", "writes": "parse"}, "generator="),
    ],
)
def test_the_next_command_suits_the_model(config, expected, tmp_path):
    write_json(tmp_path / "config.json", {**config, "is_encoder_decoder": True})
    command = next_command(tmp_path)
    assert expected in command
    assert str(tmp_path) in command


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


def test_a_file_of_the_model_is_not_overwritten(tmp_path, run):
    model, lines = tmp_path / "model", tmp_path / "lines.txt"
    lines.write_text("a cat\n")
    shutil.copytree(packaged_model("tiny"), model)
    config = model / "config.json"
    before = config.read_bytes()
    assert str(config) in run("encode", model, lines, "--output", config, status=2).err
    assert config.read_bytes() == before


def test_a_model_that_does_not_average_is_refused(word, tmp_path, run):
    recurrent(word).save_pretrained(tmp_path / "lstm")
    assert "lstm" in run("pack", tmp_path / "lstm", "--output", tmp_path / "out", status=2).err
    assert not (tmp_path / "out").exists()
