"""Every command names mistakes in its arguments, without network."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.text.word import WordTokenizer

RECIPES = Path(__file__).parents[2] / "recipes"
OWN = "paraphrastic-"
TWO = {"languages": ["en", "fr"], "translates": ["en", "fr"], "reconstructs": ["en", "fr"]}
CONFIGS: dict[str, dict[str, Any]] = {  # model directories without weights
    "average": {"model_type": f"{OWN}averaging"},
    "bgt": {"model_type": f"{OWN}bgt", **TWO},
    "scpn": {"model_type": f"{OWN}scpn", "template": "parse", "writes": "sentence"},
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
MBR = "translate bgt lines.txt --to fr --decode mbr"
FRENCH = "translate bgt lines.txt --to fr"
ATTACK = "attack english labeled.tsv"
MISTAKES = {  # commands, with a part of the message
    # Misspelled names
    "trian x": "'train'",
    "data stat sick": "'stats'",
    "data info sik": "'sick'",
    "analyze normms": "'norms'",
    "encode english x --ouput v.npy": "--output",
    "mine m a b --score ratoi": "'ratio'",
    "evaluate english --suite stss": "'sts'",
    "train own.yaml --output x --lr 1": "learning_rate",
    "tune own.yaml --grid margn=0.3,0.5 --output x": "training.margin",
    "encode englsh lines.txt": "'english'",
    "significance english simlie --pairs mine.tsv": "mine.tsv",
    "simile -m englihs -s lines.txt -r lines.txt": "'english'",
    "analyze norms englsh --output o": "words",
    "predict runs/sick lines.txt": "runs/sick",
    "encode model.safetensors lines.txt": "model.safetensors",
    "train own --sources pairs.tsv --output x --start englsh": "'english'",
    # Missing, empty or wrong files
    "train absent.yaml --output x": "absent.yaml",
    "train own --output x --sources none.tsv": "none.tsv",
    "train own --output x --sources blank.tsv": "blank.tsv",
    "train own --output x --data no/such": "no/such",
    "evaluate english --data no/such": "no/such",
    "encode english nofile": "nofile",
    "convert nofile --output x": "nofile",
    "corpus sample nofile": "nofile",
    "simile -s empty.txt -r lines.txt": "empty.txt",
    "compare -s lines.txt one.txt -r lines.txt": "one.txt",
    "simile -s lines.txt -r lines.txt one.txt": "one.txt",
    "compare -s lines.txt lines.txt -r lines.txt --nbest nbest.txt": "nbest.txt:1",
    "encode english pairs.csv": "--column",
    "encode english pairs.tsv --column nosuch": "nosuch",
    "translate damaged lines.txt": "damaged",
    "translate average lines.txt": "average",
    "reconstruct english lines.txt --language en": "english",
    "predict bert pairs.tsv": "'bert'",
    "parse language lines.txt": "language",
    "perplexity bgt lines.txt": "bgt",
    "paraphrase average lines.txt": "average",
    "card full --evaluation full --command-line x --summary y": "full",
    "data build twitter": "twitter",
    "data build trec": "TREC_10.label:2",
    "data build trec --data none": "none",
    "data build sick": "sick2014",
    "data counts --data full": "full",
    "attack average lines.txt --paraphrases lines.txt --output x": "lines.txt:1",
    "evaluate absent/model": "absent/model",
    # Outputs
    "train own.yaml --output finished": "finished",
    "train own.yaml --output full --development none": "full",
    "encode english lines.txt --output full/": "full",
    "encode english lines.txt --output v": "v.npy",
    "convert lines.txt --output full": "full",
    "pack english --output full": "full",
    "publish model full me/x --dry-run x": "full",
    "publish model english me/x --dry-run full": "full",
    "score english pairs.tsv --output there.npy": "there.npy",
    f"{FRENCH} --output ''": "--output",
    "translate marian lines.txt --output lines.txt/x": "lines.txt/x",
    "score english pairs.tsv --output link.tsv": "link.tsv",
    "simile -s link.tsv -r pairs.tsv --output link.tsv": "link.tsv",
    f"{ATTACK} --paraphrases a/pairs.tsv --output labeled.tsv": "labeled.tsv",
    f"{ATTACK} --paraphrases a/pairs.tsv --output -": "--output",
    # Wrong numbers and options
    "neighbors english lines.txt --query - cat": "--query",
    "mine english lines.txt lines.txt --neighbors 0": "0",
    "encode english lines.txt --threads x": "--threads",
    "simile -s lines.txt -r lines.txt --alpha -1": "alpha",
    "significance english tiny --suite sts17 x": "'x'",
    "evaluate tiny --columns 2 3": "--columns",
    "evaluate english --precision int2": "int2",
    "evaluate english --dimension 800": "800",
    "pack english --dimension 0 --output x": "0",
    "serve tiny --port 70000": "--port",
    "tune sick-averaging --grid epochs=1,2 --output x": "supervised",
    "tune own.yaml --grid margin=0.4,0.4 --output x": "training.margin",
    "analyze neighbors average --query a --rows --among x --output o": "--rows",
    "analyze languages average --epochs 3 --output o": "--epochs",
    "analyze languages words --distances nofile --output o": "nofile",
    "analyze fit english --output o": "english",
    "analyze convergence words --output o": "--output",
    "analyze ngram-vocabulary own --sources pairs.tsv --output o": "char_ngram",
    "data build trec --config course": "'coarse'",
    "data build paranmt --set min_scor=1": "'min_score'",
    "data build paranmt --set min_score": "'min_score'",
    "data build paranmt --set min_score=high": "min_score",
    "data build paranmt --set split=train": "split",
    "translate bgt lines.txt": "--to en",
    f"{FRENCH} --from en": "--from",
    f"{FRENCH} --outputs 9 --beams 5": "9",
    f"{FRENCH} --top-p 0.5": "--sample",
    f"{FRENCH} --sample --beams 3": "--beams",
    f"{FRENCH} --metric bleu": "--metric",
    f"{FRENCH} --aggregate": "--aggregate",
    MBR: "--outputs",
    f"{MBR} --outputs 4 --metric bleu --aggregate": "--aggregate",
    f"{MBR} --outputs 4 --metric-similarity windows --aggregate": "windows",
    "parse parser": "parser",
    "parse parser lines.txt --pairs pairs.tsv": "--pairs",
    "parse parser lines.txt --keep-same": "--pairs",
    "parse parser --pairs pairs.tsv --template": "--pairs",
    f"paraphrase scpn lines.txt {TEMPLATE} --canonical": "--canonical",
    f"paraphrase scpn lines.txt {TEMPLATE} --trees a --parser b": "--parser",
    "paraphrase scpn lines.txt --template-file - --trees -": "-",
    "attack average labeled.tsv --paraphrases a/p.tsv --paraphrases b/p.tsv --output x": "p",
    f"{ATTACK} --paraphrases ../up=a/pairs.tsv --output x": "'../up'",
    f"{ATTACK} --paraphrases nmt-bt=a/pairs.tsv --back-translate x y --output x": "'nmt-bt'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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
def test_a_mistake_is_named(command, folder, tmp_path, run, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PARAPHRASTIC_DATA", str(folder))
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path))
    before = sorted(folder.rglob("*.*"))
    said = run(*shlex.split(command), status=2).err
    assert MISTAKES[command] in said.rpartition("error: ")[2]  # without the usage
    assert sorted(folder.rglob("*.*")) == before
