"""The scripts of `paraphrastic completion`, run by their shells."""

import argparse
import contextlib
import io
import shutil
import subprocess

import pytest

from paraphrastic_hf.cli.completion import recipe_keys, recipes_of
from paraphrastic_hf.cli.main import COMMANDS, build_parser, main
from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.config.recipe import CORPUS, key_paths, kind_of, read_mapping
from paraphrastic_hf.pipelines.recipe import MakeArguments
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe

CASES = [
    ("trai", ["train"]),
    ("tra", ["train", "transfer", "translate"]),
    ("encode eng", ["english", "english-window"]),
    ("encode english lin", ["lines.txt"]),
    ("data sta", ["stats"]),
    ("data stats sick", ["sick", "sick_e"]),
    ("analyze nor", ["norms"]),
    ("evaluate english --suite sts-", ["sts-bins", "sts-hard", "sts-metrics"]),
    ("mine a.txt b.txt --score rat", ["ratio"]),
    ("mine mul", ["multilingual"]),
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
$(complete -p paraphrastic | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
FISH = "source {script}; complete -C 'paraphrastic {line}'"


@pytest.fixture(scope="module", params=["bash", "fish"])  # zsh completes only in a terminal
def script(request, tmp_path_factory):
    shell = str(request.param)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    with contextlib.redirect_stdout(io.StringIO()) as text:
        assert main(["completion", shell]) == 0
    path = tmp_path_factory.mktemp("completion") / f"script.{shell}"
    path.write_text(text.getvalue())
    return path


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_the_last_word_is_completed(script, line, expected, tmp_path):
    (tmp_path / "lines.txt").touch()
    shell = script.suffix.removeprefix(".")
    program = {"bash": BASH, "fish": FISH}[shell].format(script=script, line=line)
    options = {"bash": ["--norc"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        check=False,
    )
    assert done.stderr == ""
    assert sorted(each.split("\t")[0] for each in done.stdout.splitlines() if each) == expected


def test_zsh_completes_names_and_files(capsys):
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef paraphrastic")
    assert (
        "compadd -- english english-window multilingual paraphraser parser tiny simile;" in script
    )


def parser_of(*path):
    parser: argparse.ArgumentParser = build_parser(COMMANDS)
    for word in path:
        (commands,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
        parser = commands.choices[word]
    return parser


def test_only_recipes_of_the_right_kind_are_completed():
    offered = {
        path: {
            kind_of(read_mapping(find_recipe(name)))
            for name in recipes_of(parser_of(*path).get_default("recipe_kinds"))
        }
        for path in [("train",), ("tune",), ("corpus", "make"), ("analyze", "data-amount")]
    }
    assert offered["tune",] == offered["analyze", "data-amount"] == {"contrastive"}
    assert offered["corpus", "make"] == {CORPUS}
    assert {"contrastive", "distillation", "translation"} < offered["train",]
    assert CORPUS not in offered["train",]


def test_only_keys_of_the_right_kind_are_completed():
    def keys(*path):
        return set(recipe_keys(parser_of(*path).get_default("recipe_kinds")))

    assert keys("tune") == set(key_paths(ContrastiveRecipe))
    assert keys("tune") < keys("train")
    assert "make.workers" in keys("corpus", "make")
    for action in ("encode", "mine"):
        assert keys("corpus", action) == set(key_paths(MakeArguments))
