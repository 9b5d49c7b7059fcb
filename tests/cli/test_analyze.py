"""`paraphrastic analyze` end to end."""

import json

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import DEMO, write_ewt
from tests.corpora.made_files import put
from tests.evaluation.sts_files import write_sts

SENTENCE = [("the", "DT", "det"), ("cat", "NN", "root"), ("sleeps", "VBZ", "acl")]


@pytest.fixture
def root(tmp_path):
    """A data root with every file that a kind reads, and a model in `model`."""
    lines = DEMO.read_text().replace("\t", "\n").splitlines()
    tokenizer = WordTokenizer.train(lines, vocab_size=300)
    table = np.random.default_rng(0).standard_normal((tokenizer.vocab_size, 8))
    encoder = SentenceEncoder.from_table(table.astype(np.float32), tokenizer)
    encoder.save_pretrained(tmp_path / "model")
    words = "".join(f"{word} {500 - i}\n" for i, word in enumerate(tokenizer.tokens()[2:]))
    put(tmp_path, {"words/enwiki_vocab_min200.txt.xz": words})
    put(tmp_path, {"model/recipe.yaml": f"data: {{sources: [{json.dumps(str(DEMO))}]}}"})
    write_ewt(tmp_path / "eval", [SENTENCE] * 5)
    write_sts(tmp_path / "eval")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("neighbors", "--query the --most 50"),
        ("neighbors", "--query the --rows --neighbors 2"),
        ("norms", ""),
        ("weighting", ""),
        ("weighting", f"--text {DEMO}"),
        ("fit", "--pairs 10 --batch-size 5"),
        ("under-training", ""),
        ("negatives", "--pairs 12 --batch-size 3 --sizes 1 2 4"),
        ("errors", "english --count 2"),
    ],
)
def test_a_kind_prints_its_page_and_writes_its_files(kind, options, root, run):
    out = root / "out"
    given = [kind, root / "model", *options.split(), "--data", root, "--output", out]
    printed = run("analyze", *given).out
    page = (out / f"{kind}.md").read_text()
    assert printed.startswith(page.split("\n")[0])
    assert str(out / f"{kind}.png") in printed
    assert (out / f"{kind}.png").stat().st_size > 1000
    assert json.loads((out / f"{kind}.json").read_text())["kind"] == kind


def test_a_recipe_takes_overrides(root, run):
    out, recipe = ["--output", root / "out"], DEMO.parent / "demo.yaml"
    settings = ["--sources", DEMO, "--epochs", "1", "--development", "clean", "--data", root]
    found = run("analyze", "data-amount", recipe, "--sizes", "20", *settings, *out).out
    assert "| pairs | random | ordered |" in found
    runs = [root / "out" / "runs" / f"{order}-20" for order in ("random", "ordered")]
    assert "| random-20 |" in run("analyze", "convergence", *runs, *out).out


def test_a_missing_file_is_named_with_its_option(root, run, monkeypatch):
    given = ["analyze", "weighting", root / "model", "--output", root / "out"]
    (root / "model" / "recipe.yaml").unlink()
    assert "--text" in run(*given, "--data", root, status=2).err
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    assert "--data" in run("analyze", "norms", *given[2:], status=2).err


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("neighbors MODEL --query zebra", "'zebra'"),
        ("neighbors MODEL MODEL --query a", "name"),
        ("errors MODEL", "models"),
        ("norms MODEL --corpus treebank", "treebank"),
        ("gates MODEL", "GRAN"),
        (f"data-amount {DEMO.parent}/demo.yaml --sources {DEMO} --sizes 5", "run.development"),
    ],
)
def test_wrong_arguments_of_an_analysis_are_named(command, named, root, run):
    words = command.replace("MODEL", str(root / "model")).split()
    said = run("analyze", *words, "--data", root, "--output", root / "out", status=2).err
    assert named in said
