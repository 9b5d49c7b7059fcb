"""What is mistyped is named at once, with what was probably meant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.config.recipe import key_paths
from paraphrastic_hf.errors import nearest, nearest_name
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "recipes" / "demo"
OFFLINE = """
import socket, sys
def refuse(*arguments):
    sys.exit("a network was asked")
socket.socket.connect = socket.getaddrinfo = refuse
from paraphrastic_hf.cli.main import main
status = main(sys.argv[1:])
heavy = {"torch", "transformers", "numpy", "huggingface_hub"} & set(sys.modules)
assert not heavy, heavy
import time
print("seconds", time.process_time())
sys.exit(status)
"""
PROGRAM = """
import sys
from paraphrastic_hf.cli.main import main
status = main(sys.argv[1:])
assert "torch" not in sys.modules
sys.exit(status)
"""


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The last line of a command that must fail, whether its parser refuses it or its run does."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code  # type: ignore[assignment]
    assert status == 2
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("trian", ["train", "tune"], "train"),
        ("lr", ["layers", "learning_rate", "lowercase"], "learning_rate"),
        ("Learning-Rate", ["learning_rate"], "learning_rate"),
        ("neigh", ["norms", "neighbours"], "neighbours"),
        ("tuna", ["tune", "tunes"], "tune"),
        ("xyzzy", ["train", "tune"], None),
        ("--ouput", ["--output", "--quiet"], "--output"),
    ],
)
def test_the_nearest_name_is_that_of_its_spelling_its_initials_or_its_beginning(
    name: str, known: list[str], meant: str | None
) -> None:
    assert nearest(name, known) == meant


def test_a_name_like_no_other_lists_them_all() -> None:
    assert nearest_name("xyzzy", ["train", "tune"]) == "there are train, tune"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian", "x"], "there is no command 'trian'; did you mean 'train'?"),
        (["data", "stat", "sick"], "there is no action 'stat'; did you mean 'stats'?"),
        (["analyse", "normms"], "there is no kind 'normms'; did you mean 'norms'?"),
        (["data", "stats", "sick", "--jsno"], "instead of --jsno, did you mean --json?"),
        (["encode", "english", "x", "--ouput", "v.npy"], "did you mean --output?"),
        (["train", "r.yaml", "--ouput", "runs/x"], "did you mean --output?"),
        (["mine", "a", "b", "--model", "m", "--score", "ratoi"], "did you mean 'ratio'?"),
        (["evaluate", "english", "--suite", "stss", "--data", "."], "did you mean 'sts'?"),
        (["train", str(DEMO / "demo.yaml"), "--output", "x", "--lr", "1"], "learning_rate'?"),
        (["tune", str(DEMO / "demo.yaml"), "--output", "x", "--grid", "lr=1,2"], "learning_rate'?"),
        (["data", "info", "sik"], "did you mean 'sick'?"),
    ],
)
def test_what_was_meant_is_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(arguments, capsys)


def test_every_key_of_a_recipe_is_found_when_two_of_its_letters_are_swapped() -> None:
    names = {key.rsplit(".", 1)[-1] for key in key_paths(ContrastiveRecipe)}
    swapped = {name: name[:1] + name[2] + name[1] + name[3:] for name in names if len(name) > 4}
    wrong = {name: nearest(typed, names) for name, typed in swapped.items() if typed not in names}
    assert {name: found for name, found in wrong.items() if found != name} == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["encode", "englsh", "x"], "there is no model 'englsh'; did you mean 'english'?"),
        (["score", "Engish", "x"], "did you mean 'english'?"),
        (["evaluate", "multilingal"], "did you mean 'multilingual'?"),
        (["significance", "english", "simlie"], "did you mean 'simile'?"),
        (["simile", "-m", "englihs", "-s", "x", "-r", "x"], "did you mean 'english'?"),
        (["compare", "-m", "englihs", "-s", "x", "y", "-r", "x"], "did you mean 'english'?"),
        (["mine", "a", "b", "--model", "multilingul"], "did you mean 'multilingual'?"),
        (["neighbours", "englsh", "x", "--query", "a"], "did you mean 'english'?"),
        (["analyse", "norms", "englsh", "--output", "o"], "did you mean 'english'?"),
        (["analyse", "neighbours", "english", "englsh", "--query", "a", "--output", "o"], "'engli"),
        (["predict", "runs/sick", "x"], "runs/sick is no model directory: nothing is there"),
        (["perplexity", "./lm", "x"], "./lm is no model directory: nothing is there"),
        (["encode", "model.safetensors", "x"], "model.safetensors is no model directory"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_mistyped_model_is_named_at_once_and_no_network_is_asked(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    # of the processor, which others on the machine slow down too; the import check is the guard
    assert float(done.stdout.split()[-1]) < 2


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"\x1f\x8b"], ids=str)
def test_sources_that_are_missing_or_empty_are_named_before_torch_is_imported(
    content: bytes | None, tmp_path: Path
) -> None:
    name = "mine.tsv.gz" if content == b"\x1f\x8b" else "mine.tsv"
    if content is not None:
        (tmp_path / name).write_bytes(content)
    command = ["train", str(DEMO / "demo.yaml"), "--output", "x", "--sources", name]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    said = "is not there" if content is None else "is damaged" if len(name) > 8 else "is empty"
    assert f"{name} {said}" in done.stderr
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["train", "towards-universal-2016/sick-universal"],
        ["train", "own"],
        ["tune", "own", "--grid", "margin=1", "--development", "clean"],
    ],
)
def test_a_mistyped_start_is_named_before_torch_is_imported(
    command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sick2014").mkdir()
    (tmp_path / "mine.tsv").write_text("a cat\tthe cat\n")
    command = [*command, "--output", "x", "--data", str(tmp_path), "--start", "englsh"]
    command += ["--sources", "mine.tsv"] * ("own" in command)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "there is no model 'englsh'; did you mean 'english'?" in done.stderr


def test_a_data_folder_that_is_not_there_is_refused_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["train", str(DEMO / "demo.yaml"), "--output", "x", "--data", "no/such"]
    assert "there is no folder no/such" in refused(command, capsys)
    command = ["evaluate", "english", "--data", "no/such"]
    assert "--data names no/such, and there is no such folder" in refused(command, capsys)


def test_a_command_by_the_name_that_others_give_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'neighbours'?" in refused(["search", "english", "a.txt"], capsys)


def test_a_name_that_begins_with_a_dash_says_how_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-dash.txt").write_text("a cat\n", encoding="utf-8")
    assert "./-dash.txt" in refused(["encode", "english", "-dash.txt", "--quiet"], capsys)
    said = refused(["encode", "english", "--", "-dash.txt", "--quiet"], capsys)
    assert "--quiet before --" in said
    for spelt in (["./-dash.txt", "--quiet"], ["--quiet", "--", "-dash.txt"]):
        assert main(["encode", "english", "--output", "x.npy", *spelt]) == 0
