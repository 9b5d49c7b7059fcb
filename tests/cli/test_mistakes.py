"""Every command names mistakes in its arguments, most before slow imports, and without network."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.text.word import WordTokenizer
from tests.cli.conftest import Run

RECIPES = Path(__file__).parents[2] / "recipes"
SLOW = {"torch", "transformers", "datasets", "pandas", "matplotlib", "scipy"}
OWN = "paraphrastic-"
TWO = {"languages": ["en", "fr"], "translates": ["en", "fr"], "reconstructs": ["en", "fr"]}
CONFIGS: dict[str, dict[str, Any]] = {  # model directories without weights
    "average": {"model_type": f"{OWN}averaging"},
    "bgt": {"model_type": f"{OWN}bgt", **TWO},
    "scpn": {"model_type": f"{OWN}scpn", "template": "parse", "writes": "sentence"},
    "generator": {"model_type": f"{OWN}scpn", "template": "template", "writes": "parse"},
    "plain": {"model_type": f"{OWN}paraphraser"},
    "parser": {"model_type": f"{OWN}parser"},
    "language": {"model_type": f"{OWN}language-model"},
    "marian": {"model_type": "marian"},
    "bert": {"model_type": "bert"},
}
FILES = {
    "lines.txt": "a cat sleeps\nit rains\n",
    "one.txt": "a cat sleeps\n",
    "empty.txt": "",
    "mine.tsv": "",
    "blank.tsv": "\n \n",
    "pairs.tsv": "a cat sleeps\tthe cat is asleep\nit rains\tit is raining\n",
    "a/pairs.tsv": "1\ta text\n",
    "pairs.csv": "source,target\na cat,the cat\n",
    "labeled.tsv": "pos\ta cat sleeps\nneg\tit rains\n",
    "nbest.txt": "9 ||| a\n",
    "-dash.txt": "a cat\n",
    "own.yaml": "kind: contrastive\ndata: {sources: [{path: pairs.tsv}]}\n",
    "full/file": "",
    "there.npy/file": "",
    "damaged/config.json": "{",
    "finished/config.json": json.dumps({"model_type": f"{OWN}averaging"}),
    "finished/recipe.yaml": "kind: contrastive\n",
    "finished/run.json": "{}",
    "paranmt/para-nmt-50m.txt": "a big cat\tone large cat\t0.9\n",
    "trec/train_5500.label": "HUM:ind Who ?\n",
    "trec/TREC_10.label": "NUM:x 1 ?\nOOPS 2 ?\n",
}
TEMPLATE = '--template "(ROOT (S (NP) (VP)))"'
FILLED = f"paraphrase scpn lines.txt {TEMPLATE} --generator generator"
MBR = "translate bgt lines.txt --to fr --decode mbr"
FRENCH = "translate bgt lines.txt --to fr"
ATTACK = "attack english labeled.tsv"
EARLY = {  # commands refused before slow imports, with a part of the message
    # Misspelled names
    "trian x": "'train'",
    "search english a.txt": "'neighbors'",
    "data stat sick": "'stats'",
    "data info sik": "'sick'",
    "data info nosuch": "nosuch",
    "data stats sick --jsno": "--json",
    "data build paranmtt": "'paranmt'",
    "analyze normms": "'norms'",
    "encode english x --ouput v.npy": "--output",
    "train r.yaml --ouput runs/x": "--output",
    "mine m a b --score ratoi": "'ratio'",
    "evaluate english --suite stss": "'sts'",
    "train own.yaml --output x --marign 1": "margin",
    "train own.yaml --output x --lr 1": "learning_rate",
    "tune own.yaml --output x --grid lr=1,2": "learning_rate",
    "encode englsh x": "'english'",
    "score Engish x": "'english'",
    "evaluate multilingal": "'multilingual'",
    "significance english simlie": "'simile'",
    "simile -m englihs -s x -r x": "'english'",
    "compare -m englihs -s x y -r x": "'english'",
    "mine multilingul a b": "'multilingual'",
    "neighbors englsh x --query a": "'english'",
    "analyze norms englsh --output o": "'english'",
    "predict runs/sick x": "runs/sick",
    "perplexity ./lm x": "./lm",
    "encode model.safetensors x": "model.safetensors",
    "train own --sources pairs.tsv --output x --start englsh": "'english'",
    # Missing, empty or wrong files
    "train absent.yaml --output x": "absent.yaml",
    "train own --output x --sources none.tsv": "none.tsv",
    "train own --output x --sources mine.tsv": "mine.tsv",
    "train own --output x --sources blank.tsv": "blank.tsv",
    "train own --output x --data no/such": "no/such",
    "evaluate english --data no/such": "no/such",
    "encode english nofile": "nofile",
    "score english nofile": "nofile",
    "neighbors english nofile --query a": "nofile",
    "mine multilingual nofile nofile": "nofile",
    "simile -s nofile -r lines.txt": "nofile",
    "simile -s lines.txt -r nofile": "nofile",
    "simile -s empty.txt -r lines.txt": "empty.txt",
    "compare -s nofile lines.txt -r lines.txt": "nofile",
    "compare -s lines.txt one.txt -r lines.txt": "one.txt",
    "predict bert nofile": "nofile",
    "parse parser nofile": "nofile",
    "convert nofile --output x": "nofile",
    "corpus sample nofile": "nofile",
    "encode english pairs.csv": "--column",
    "encode english pairs.tsv --column nosuch": "nosuch",
    "encode english -dash.txt --quiet": "./-dash.txt",
    "encode english -- -dash.txt --quiet": "--quiet",
    "translate damaged lines.txt": "damaged",
    "translate average lines.txt": "average",
    "reconstruct english lines.txt --language en": "english",
    "predict bert pairs.tsv": "'bert'",
    "parse language lines.txt": "language",
    "perplexity bgt lines.txt": "bgt",
    "card full --evaluation full --command-line x --summary y": "full",
    # Outputs
    "train own.yaml --output finished": "finished",
    "train own.yaml --output full": "full",
    "tune own.yaml --grid margin=0.4 --output full --development clean": "full",
    "encode english lines.txt --output full/": "full",
    "encode english lines.txt --output v.csv": "v.csv",
    "encode english lines.txt --output v": "v.npy",
    "convert lines.txt --output full": "full",
    "pack english --output full": "full",
    "publish model full me/x --dry-run x": "full",
    "publish model english me/x --dry-run full": "full",
    "score english pairs.tsv --output there.npy": "there.npy",
    "encode english lines.txt --output there.npy": "there.npy",
    "predict bert pairs.tsv --output there.npy": "there.npy",
    "perplexity language lines.txt --output there.npy": "there.npy",
    "parse parser lines.txt --output there.npy": "there.npy",
    "simile -s lines.txt -r lines.txt --output there.npy": "there.npy",
    f"{FRENCH} --output there.npy": "there.npy",
    f"{FRENCH} --output ''": "--output",
    "translate marian lines.txt --output lines.txt/x": "lines.txt/x",
    "simile -s lines.txt -r lines.txt --output one.txt/o.json": "one.txt/o.json",
    "score english pairs.tsv --output link.tsv": "link.tsv",
    "encode english pairs.tsv --output link.tsv": "link.tsv",
    "translate bgt pairs.tsv --to fr --output link.tsv": "link.tsv",
    "simile -s link.tsv -r pairs.tsv --output link.tsv": "link.tsv",
    "mine english pairs.tsv pairs.tsv --output link.tsv": "link.tsv",
    "score average pairs.tsv --output average/config.json": "config.json",
    "encode average pairs.tsv --output average/config.json": "config.json",
    f"{ATTACK} --paraphrases a/pairs.tsv --output labeled.tsv": "labeled.tsv",
    f"{ATTACK} --paraphrases a/pairs.tsv --output -": "--output",
    # Wrong numbers and options
    "neighbors english lines.txt --query - cat": "--query",
    "mine english lines.txt lines.txt --neighbors 0": "0",
    "simile -s lines.txt -r lines.txt --samples 0": "samples",
    "simile -s lines.txt -r lines.txt --seed -1": "seed",
    "significance english englsh --pairs pairs.tsv": "englsh",
    "evaluate english --suite nosuch": "nosuch",
    "evaluate tiny --columns 2 3": "--columns",
    "tune own.yaml --grid margin=0.4 --output x --development clean --trials 0": "trials",
    "tune sick-averaging --grid epochs=1,2 --output x": "supervised",
    "tune own.yaml --grid margn=0.3,0.5 --output x": "training.margin",
    "analyze variables average --output x": "average",
    "translate bgt lines.txt": "--to en",
    "translate bgt lines.txt --to de": "'de'",
    f"{FRENCH} --from en": "--from",
    "translate bgt nofile --to fr": "nofile",
    f"{FRENCH} --outputs 9 --beams 5": "9",
    f"{FRENCH} --top-p 0.5": "--sample",
    f"{FRENCH} --beams 0": "beams",
    f"{FRENCH} --sample --temperature 0": "temperature",
    f"{FRENCH} --sample --beams 3": "--beams",
    f"{FRENCH} --metric bleu": "--metric",
    f"{FRENCH} --aggregate": "--aggregate",
    MBR: "--outputs",
    f"{MBR} --outputs 9 --beams 5": "beams",
    f"{MBR} --outputs 4 --metric bleu --aggregate": "--aggregate",
    f"{MBR} --outputs 4 --metric-similarity windows --aggregate": "windows",
    f"{MBR} --outputs 2 --metric bleu --metric-model english": "--metric-model",
    "reconstruct bgt lines.txt": "--language en",
    "transfer bgt --source lines.txt --style lines.txt --language de": "'de'",
    "parse parser": "parser",
    "parse parser lines.txt --pairs pairs.tsv": "--pairs",
    "parse parser lines.txt --keep-same": "--pairs",
    "parse parser --pairs pairs.tsv --template": "--pairs",
    "paraphrase scpn lines.txt": "templates.tsv",
    f"paraphrase scpn lines.txt {TEMPLATE} --canonical": "--canonical",
    f"paraphrase scpn lines.txt {TEMPLATE}": "--generator",
    FILLED: "parser",
    f"paraphrase scpn lines.txt {TEMPLATE} --generator scpn --parser parser": "sentences",
    f"{FILLED} --parser average": "average",
    f"paraphrase generator lines.txt {TEMPLATE}": "parses",
    f"paraphrase plain lines.txt {TEMPLATE}": "template",
    "paraphrase scpn lines.txt --canonical": "template",
    "paraphrase scpn lines.txt --template '(S (NP)'": "brackets",
    f"paraphrase scpn lines.txt {TEMPLATE} --draw 2": "--draw",
    f"paraphrase scpn lines.txt {TEMPLATE} --beams 0": "beams",
    f"paraphrase scpn lines.txt {TEMPLATE} --outputs 0": "outputs",
    f"paraphrase scpn lines.txt {TEMPLATE} --sample --temperature 0": "temperature",
    f"paraphrase scpn lines.txt {TEMPLATE} --temperature 2": "--sample",
    f"paraphrase scpn lines.txt {TEMPLATE} --seed {2**64}": "seed",
    f"paraphrase scpn lines.txt {TEMPLATE} --trees a --parser b": "--parser",
    f"paraphrase scpn lines.txt {TEMPLATE} --encoder none --min-similarity 0.5": "--min-similarity",
    f"paraphrase scpn lines.txt {TEMPLATE} --min-overlap nan": "--min-overlap",
    "paraphrase scpn lines.txt --template-file - --trees -": "-",
    "paraphrase plain lines.txt --canonical --outputs 2": "--outputs",
    "paraphrase plain lines.txt --canonical --draw 2 --min-overlap 0": "--draw",
    "attack average labeled.tsv --back-translate bgt bgt:fr --output x": "--to en",
    f"{ATTACK} --paraphrases a/p.tsv --paraphrases b/p.tsv --output x": "p",
    f"{ATTACK} --paraphrases ../up=a/pairs.tsv --output x": "'../up'",
    f"{ATTACK} --paraphrases =a/pairs.tsv --output x": "''",
    f"{ATTACK} --paraphrases nmt-bt=a/pairs.tsv --back-translate x y --output x": "'nmt-bt'",
    f"{ATTACK} --paraphrases - --paraphrases x=- --output x": "-",
}
LATE = {  # commands refused after slow imports
    "significance english tiny --samples 0": "--samples",
    "significance english tiny --seed -1": "--seed",
    "significance english tiny --suite sts17 x": "'x'",
    "analyze neighbors average --query a --rows --among x --output o": "--rows",
    "data build twitter": "twitter",
    "attack average lines.txt --paraphrases lines.txt --output x": "lines.txt:1",
    "evaluate absent/model": "absent/model",
    "analyze languages average --epochs 3 --output o": "--epochs",
    "analyze neighbors words --query the --among nofile --output o": "nofile",
    "analyze fit english --output o": "english",
    "analyze convergence words --output o": "--output",
    "analyze languages words --pairs 0 --output o": "--pairs",
    "analyze languages words --distances nofile --output o": "nofile",
    "analyze ngram-vocabulary own --sources pairs.tsv --output o": "char_ngram",
    "data build trec": "TREC_10.label:2",
    "data stats trec": "TREC_10.label:2",
    "data build trec --config course": "'coarse'",
    "data build trec --data none": "none",
    "data build europarl": "europarl",
    "data build paranmt --set min_scor=1": "'min_score'",
    "data build paranmt --set min_score": "'min_score'",
    "data build paranmt --set min_score=[1": "--min_score",
    "data build paranmt --set min_score=5": "train",
    "data build paranmt --set min_score=high": "min_score",
    "data build paranmt --set split=train": "split",
    "data build sick": "sick2014",
    "data counts --data full": "full",
    "evaluate english --precision int2": "int2",
    "evaluate english --dimension 800": "800",
    "significance english english --dimension 800": "800",
    "pack english --dimension 2000 --output x": "2000",
    "pack english --dimension 0 --output x": "0",
    "simile -s one.txt -r lines.txt": "one.txt",
    "simile -s lines.txt -r lines.txt one.txt": "one.txt: 1",
    "simile -s lines.txt -r lines.txt --alpha -1": "alpha",
    "compare -s lines.txt lines.txt -r lines.txt --nbest nbest.txt": "nbest.txt:1",
}
MISTAKES = EARLY | LATE
PROGRAM = """
import json, os, socket, sys
import numpy, tokenizers, tqdm.auto, yaml  # quick, and needed by all
from paraphrastic_hf.cli.main import main

def refuse(*arguments):
    sys.exit("a network was asked")

socket.socket.connect = socket.getaddrinfo = refuse
found = {}
for command, arguments in json.load(sys.stdin).items():
    process = os.fork()
    if not process:  # an interpreter without slow imports
        with open("said", "w") as said:
            os.dup2(said.fileno(), 2)
        try:
            status = main(arguments)
        except SystemExit as error:
            status = error.code
        with open("found", "w") as file:
            json.dump([status, sorted(sys.modules)], file)
        os._exit(0)
    os.waitpid(process, 0)
    found[command] = json.load(open("found"))
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    written = {f"{name}/config.json": json.dumps(config) for name, config in CONFIGS.items()}
    for name, text in (FILES | written).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "link.tsv").symlink_to(folder / "pairs.tsv")
    words = WordTokenizer.train(["the cat"], vocab_size=9)
    SentenceEncoder.from_table(
        np.eye(words.vocab_size, 4, dtype=np.float32), words
    ).save_pretrained(folder / "words")
    return folder


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_named(
    command: str, folder: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PARAPHRASTIC_DATA", str(folder))
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path))
    before = sorted(folder.rglob("*.*"))
    said = run(*shlex.split(command), status=2).err
    assert MISTAKES[command] in said.rpartition("error: ")[2]  # without the usage
    assert sorted(folder.rglob("*.*")) == before


@pytest.mark.slow
def test_a_mistake_is_found_before_anything_slow_is_imported(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({command: shlex.split(command) for command in list(EARLY)[::3]}),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PARAPHRASTIC_DATA": str(folder)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    late = {command: SLOW & set(modules) for command, (_, modules) in found.items()}
    assert [command for command, slow in late.items() if slow] == []
    assert {status for status, _ in found.values()} == {2}
