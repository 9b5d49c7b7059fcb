"""Each script of `paraphrastic completion`, sourced by the shell it is for."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
from pathlib import Path

import pytest

from paraphrastic_hf.cli.completion import Level, levels_of
from paraphrastic_hf.cli.main import COMMANDS, build_parser, main
from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.config.recipe import CORPUS, key_paths, kind_of, read_mapping
from paraphrastic_hf.pipelines.recipe import MakeArguments
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

CASES = [
    ("trai", ["train"]),
    ("tra", ["train", "transfer", "translate"]),
    ("encode eng", ["english"]),
    ("data sta", ["stats"]),
    ("data stats sick", ["sick", "sick_e"]),
    ("analyse nor", ["norms"]),
    ("evaluate english --suite sts-", ["sts-bins", "sts-hard", "sts-metrics"]),
    ("mine a.txt b.txt --score rat", ["ratio"]),
    ("mine a.txt b.txt --model mul", ["multilingual"]),
    ("encode --bad-lines keep mul", ["multilingual"]),
    ("train own.yaml --output runs/x --training.marg", ["--training.margin"]),
    ("train own.yaml --training.optimizer adag", ["adagrad"]),
    ("train fine", ["fine-tune"]),
    ("tune default/multilingual-d", ["default/multilingual-dictionaries"]),
    ("simile --sys", ["--systems"]),
    ("completion fi", ["fish"]),
]
BASH = """
source {script}
COMP_WORDS=(paraphrastic {line})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_paraphrastic
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# what `_describe` would show; the rest of the system of completion needs a terminal
ZSH = """
compdef() {{ true; }}
_files() {{ true; }}
_describe() {{
    local each
    for each in "${{(@P)2}}"; do
        [[ $each == $PREFIX* ]] && print -r -- "${{each%%:*}}"
    done
    true
}}
source {script}
words=(paraphrastic {line}) CURRENT=$#words PREFIX=$words[-1]
_paraphrastic
"""
FISH = "source {script}; complete -C 'paraphrastic {line}'"


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def script(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    shell = str(request.param)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main(["completion", shell]) == 0
    path = tmp_path_factory.mktemp("completion") / f"script.{shell}"
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def completed(script: Path, line: str, folder: Path) -> list[str]:
    """What the script's shell offers for the last word of a line."""
    shell = script.suffix.removeprefix(".")
    program = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell].format(script=script, line=line)
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    command = [shell, *options, "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=folder, check=False
    )
    assert done.stderr == ""
    return sorted(each.split("\t")[0] for each in done.stdout.splitlines() if each)


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_the_last_word_is_completed(
    script: Path, line: str, expected: list[str], tmp_path: Path
) -> None:
    assert completed(script, line, tmp_path) == expected


def test_a_file_is_left_to_the_shell(script: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").touch()
    found = completed(script, "encode english lin", tmp_path)
    assert found in ([], ["lines.txt"])  # bash and zsh look for files when nothing is offered


@pytest.fixture(scope="module")
def levels() -> dict[tuple[str, ...], Level]:
    return {level.path: level for level in levels_of(build_parser(COMMANDS))}


def test_a_command_is_offered_the_recipes_that_it_takes_and_no_others(
    levels: dict[tuple[str, ...], Level],
) -> None:
    offered = {
        path: {kind_of(read_mapping(find_recipe(name))) for name in levels[path].places[0]}
        for path in [("train",), ("tune",), ("corpus", "make"), ("analyse", "data-amount")]
    }
    assert offered["tune",] == offered["analyse", "data-amount"] == {"contrastive"}
    assert offered["corpus", "make"] == {CORPUS}
    assert {"contrastive", "distillation", "translation"} < offered["train",]
    assert CORPUS not in offered["train",]


def test_a_command_is_offered_the_keys_that_it_takes_and_no_others(
    levels: dict[tuple[str, ...], Level],
) -> None:
    def keys(*path: str) -> set[str]:
        names = {name for option in levels[path].options for name in option.names}
        return {name.removeprefix("--") for name in names if "." in name}

    assert keys("tune") == {key for key in key_paths(ContrastiveRecipe) if "." in key}
    assert "make.workers" in keys("corpus", "make")
    assert "training.margin" not in keys("corpus", "make") | keys("corpus", "encode")
    assert keys("tune") < keys("train")
    for action in ("encode", "mine"):
        names = {name for option in levels["corpus", action].options for name in option.names}
        assert {f"--{key}" for key in key_paths(MakeArguments)} < names


@pytest.mark.parametrize("command", ["translate", "reconstruct", "transfer", "paraphrase"])
def test_models_that_write_do_not_come_with_the_package(
    command: str, levels: dict[tuple[str, ...], Level]
) -> None:
    assert not any(levels[command,].places)


def test_every_command_and_option_is_known(levels: dict[tuple[str, ...], Level]) -> None:
    assert list(levels[()].commands) == list(COMMANDS)
    assert {path[0] for path in levels if path} == set(COMMANDS)
    for path, level in levels.items():
        names = [name for option in level.options for name in option.names]
        assert {"-h", "--help"} <= set(names), path
        assert len(names) == len(set(names)), path
    assert ("data", "stats") in levels
    assert levels["encode",].places == (("english", "multilingual", "tiny", "simile"), ())
