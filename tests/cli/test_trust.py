"""Python code in a model directory runs only with `trust_remote_code`. Text on standard input is
never taken as the answer to a question of a library."""

import ast
import io
import json
import re
from pathlib import Path

import pytest

import paraphrastic_hf
from paraphrastic_hf import GenerationOptions
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.generation.any_translator import load_translator
from tests.generation.seq2seq import save_marian

SOURCE = Path(paraphrastic_hf.__file__).parent
LOADERS = ("SentenceTransformer", "pipeline")
CLASSES = ("Config", "Model", "ModelForSeq2SeqLM", "ModelForSequenceClassification", "Tokenizer")
CODE = """
from pathlib import Path
Path({ran!r}).touch()
import transformers
class Config(transformers.MarianConfig): pass
class Model(transformers.MarianMTModel):  # a class of its own: loading it marks the class
    config_class = Config
class Tokenizer(transformers.PreTrainedTokenizerFast): pass
class Module: pass
def generate(*args, **kwargs): pass
"""


def change(path, **values):
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}))


def maps(code="evil."):
    names = {"Config": "Config", "Tokenizer": "Tokenizer"}
    return {f"Auto{name}": code + names.get(name, "Model") for name in CLASSES}


def make_unknown(folder):
    change(folder / "config.json", model_type="evil", auto_map=maps())


def make_tokenizer(folder):
    tokenizer = [maps()["AutoTokenizer"], None]
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": tokenizer})


def make_generate(folder):
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text((folder / "evil.py").read_text())


def make_module(folder):
    module = {"idx": 0, "name": "0", "path": "", "type": "evil.Module"}
    (folder / "modules.json").write_text(json.dumps([module]))
    (folder / "paraphrastic_tokenizer.json").unlink()
    change(folder / "config.json", model_type="evil", auto_map=maps())


KINDS = {
    "unknown": make_unknown,
    "tokenizer": make_tokenizer,
    "generate": make_generate,
    "module": make_module,
}
COMMANDS = {  # commands that load models: D is the directory, F a file, R a recipe
    "encode": "D -",
    "simile": "-s F -r F --model D",
    "judge": "-s F F -r F --judge D --tagger D",
    "significance": "D english --suite sts --data .",
    "predict": "D -",
    "parse": "D -",
    "translate": "D -",
    "paraphrase": "D - --canonical",
    "attack": "D F --back-translate D D --output OUT",
    "reconstruct": "D -",
    "perplexity": "D -",
    "pack": "D --output OUT",
    "publish": "model D me/d --dry-run OUT",
    "train": "R --output OUT --start D",
}


@pytest.fixture
def ran(tmp_path):
    return tmp_path / "ran"


@pytest.fixture(params=KINDS)
def model(request, tmp_path, ran):
    folder = tmp_path / "model"
    save_marian(folder)
    (folder / "evil.py").write_text(CODE.format(ran=str(ran)))
    KINDS[request.param](folder)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(each, marks=() if each in ("encode", "translate") else pytest.mark.slow)
        for each in COMMANDS
    ],
)
def test_input_text_is_not_consent_to_run_code(command, model, ran, tmp_path, monkeypatch):
    (tmp_path / "lines.tsv").write_text("y\t1\n1\ty\n")
    (tmp_path / "recipe.yaml").write_text(RISK)
    given = {
        "D": str(model),
        "F": str(tmp_path / "lines.tsv"),
        "R": str(tmp_path / "recipe.yaml"),
        "OUT": str(tmp_path / "out"),
    }
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"y\n1\n" * 9)))
    main([command, *(given.get(word, word) for word in COMMANDS[command].split())])
    assert not ran.exists()


RISK = """
kind: minimum_risk
data: {from: de, to: en, sources: [{path: lines.tsv, languages: [de, en]}]}
"""


@pytest.mark.parametrize("model", ["unknown"], indirect=True)
def test_trusted_code_runs(model, ran, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "c"))
    translate = load_translator(model, trust_remote_code=True)
    assert ran.exists()
    assert len(translate(["the cat"], GenerationOptions(beams=1, max_tokens=4))) == 1


def loads_code(call, own):
    """Whether a call of transformers or sentence-transformers may load code."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "from_pretrained":
        loader = ast.unparse(call.func.value)
        return loader not in own and not loader.startswith(("cls", "super()"))
    return isinstance(call.func, ast.Name) and call.func.id in LOADERS


def test_every_loader_passes_trust_remote_code():
    texts = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    own = {name for text in texts.values() for name in re.findall(r"^class (\w+)", text, re.M)}
    calls = [
        (path, node)
        for path, text in texts.items()
        if any(name in text for name in ("from_pretrained", *LOADERS))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and loads_code(node, own)
    ]
    silent = [
        f"{path.relative_to(SOURCE)}:{call.lineno}"
        for path, call in calls
        if "trust_remote_code" not in ast.unparse(call) and "**trust" not in ast.unparse(call)
    ]
    assert len(calls) > 8
    assert not silent
