"""Mistakes in arguments, which every command finds before it imports what takes seconds."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

SLOW = {"torch", "transformers", "datasets", "pandas", "matplotlib"}
OWN = "paraphrastic-"
TWO = {"languages": ["en", "fr"], "translates": ["en", "fr"], "reconstructs": ["en", "fr"]}
CONFIGS: dict[str, dict[str, Any]] = {  # the folders of models, which have no weights
    "average": {"model_type": f"{OWN}averaging"},
    "bgt": {"model_type": f"{OWN}bgt", **TWO},
    "scpn": {"model_type": f"{OWN}scpn", "template": "parse", "writes": "sentence"},
    "generator": {"model_type": f"{OWN}scpn", "template": "template", "writes": "parse"},
    "plain": {"model_type": f"{OWN}paraphraser"},
    "parser": {"model_type": f"{OWN}parser"},
    "language": {"model_type": f"{OWN}language-model"},
    "bert": {"model_type": "bert"},
}
FILES = {
    "lines.txt": "a cat sleeps\nit rains\n",
    "one.txt": "a cat sleeps\n",
    "pairs.tsv": "a cat sleeps\tthe cat is asleep\nit rains\tit is raining\n",
    "labelled.tsv": "pos\ta cat sleeps\nneg\tit rains\n",
    "own.yaml": "kind: contrastive\ndata: {sources: [{path: pairs.tsv}]}\n",
    "full/file": "",
    "damaged/config.json": "{",
    "finished/config.json": json.dumps({"model_type": f"{OWN}averaging"}),
    "finished/recipe.yaml": "kind: contrastive\n",
    "finished/run.json": "{}",
}
TEMPLATE = '--template "(ROOT (S (NP) (VP)))"'
MISTAKES = {  # the command, and what its message names
    "translate bgt lines.txt": "--to en",
    "translate bgt lines.txt --to de": "'de'",
    "translate bgt lines.txt --to fr --from en": "--from",
    "translate average lines.txt": "average",
    "translate damaged lines.txt": "damaged",
    "translate bgt nofile --to fr": "nofile",
    "translate bgt lines.txt --to fr --decode mbr": "--outputs",
    "reconstruct bgt lines.txt": "--language en",
    "transfer bgt --source lines.txt --style lines.txt --language de": "'de'",
    f"paraphrase scpn lines.txt {TEMPLATE}": "--generator",
    f"paraphrase scpn lines.txt {TEMPLATE} --generator generator": "name a parser",
    f"paraphrase scpn lines.txt {TEMPLATE} --generator scpn --parser parser": "sentences",
    f"paraphrase scpn lines.txt {TEMPLATE} --generator generator --parser average": "average",
    f"paraphrase generator lines.txt {TEMPLATE}": "parses",
    f"paraphrase plain lines.txt {TEMPLATE}": "template",
    "paraphrase scpn lines.txt --canonical": "template",
    "predict bert pairs.tsv": "'bert'",
    "parse lines.txt --parser language": "language",
    "perplexity bgt lines.txt": "bgt",
    "attack average labelled.tsv --back-translate bgt bgt:fr --output x": "--to en",
    "attack average lines.txt --paraphrases lines.txt --output x": "lines.txt:1",
    "encode english pairs.tsv --column nosuch": "nosuch",
    "encode english lines.txt --output full/": "full",
    "evaluate english --suite nosuch": "nosuch",
    "significance english englsh --pairs pairs.tsv": "englsh",
    "simile -s lines.txt -r lines.txt --samples 0": "samples",
    "compare -s lines.txt one.txt -r lines.txt": "one.txt",
    "train own.yaml --output finished": "finished",
    "train own.yaml --output full": "full",
    "train own.yaml --output x --marign 1": "margin",
    "tune own.yaml --grid margin=0.4 --output full --development clean": "full",
    "tune own.yaml --grid margin=0.4 --output x --development clean --trials 0": "trials",
    "card full --evaluation full --command-line x --summary y": "full",
    "publish model full me/x --dry-run x": "full",
    "publish model english me/x --dry-run full": "full",
    "convert nofile --output x": "nofile",
    "convert lines.txt --output full": "full",
    "data info nosuch": "nosuch",
    "corpus sample nofile": "nofile",
    "analyse variables average --output x": "average",
    "mine lines.txt lines.txt --model english --neighbours 0": "0",
    "pack english --output full": "full",
}
PROGRAM = """
import json, os, sys
import numpy, tokenizers, tqdm.auto, yaml  # which are quick, and needed by all
from paraphrastic_hf.cli.main import main

found = {}
for command, arguments in json.load(sys.stdin).items():
    process = os.fork()
    if not process:  # an interpreter that has imported none of what is slow
        with open("said", "w") as said:
            os.dup2(said.fileno(), 2)
        try:
            status = main(arguments)
        except SystemExit as error:
            status = error.code
        with open("found", "w") as file:
            json.dump([status, sorted(sys.modules)], file)
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(process, 0)
    found[command] = [*json.load(open("found")), open("said").read()]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, list[str], str]]:
    """Of every command its status, the modules that it imported and what it said."""
    folder = tmp_path_factory.mktemp("mistakes")
    written = {f"{name}/config.json": json.dumps(config) for name, config in CONFIGS.items()}
    for name, text in (FILES | written).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({command: shlex.split(command) for command in MISTAKES}),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PARAPHRASTIC_DATA": str(folder)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_found_before_anything_slow_is_imported(
    command: str, found: Mapping[str, tuple[int, list[str], str]]
) -> None:
    status, modules, said = found[command]
    assert status == 2
    assert MISTAKES[command] in said
    assert not SLOW & set(modules)
