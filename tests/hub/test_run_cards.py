import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from paraphrastic_hf import load_recipe, train
from paraphrastic_hf.errors import counted
from paraphrastic_hf.hub.cards import SELECTION, composition, run_card
from paraphrastic_hf.models import GENERATIVE
from paraphrastic_hf.models.families import FAMILIES as ENCODERS
from tests.data_root import DEMO
from tests.evaluation.sts_files import write_sts
from tests.trained import FAMILIES, code_of, trained


def card_of(model):
    return (model / "README.md").read_text()


def front_of(card):
    return yaml.safe_load(card.split("---")[1])


QUICK = ("word", "tagging", "language_model", "scpn")


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES],
)
def test_a_trained_model_has_a_card_whose_code_runs(name, models, monkeypatch):
    model = models(name)
    text = card_of(model)
    assert text == run_card(model)
    assert str(models.folder) not in text
    assert str(DEMO) not in text
    assert "{{" not in text
    paragraphs = text.split("\n\n")
    assert all(len(it.splitlines()) == 1 for it in paragraphs if it.startswith("The"))
    assert "license" not in front_of(text)
    monkeypatch.chdir(model.parent)
    exec(compile(code_of(text), "README.md", "exec"), {"__name__": "card"})


def test_every_family_has_its_own_sentence():
    sentences = [model.card_sentence for model in (*ENCODERS.values(), *GENERATIVE)]
    assert all(sentences)
    assert len({*sentences}) == len(sentences)


def test_a_generative_card_lists_active_units(models):
    model = models("bgt")
    card, run = card_of(model), json.loads((model / "run.json").read_text())
    for name, value in run["held_out"]["active_units"].items():
        assert f"active_units, {name} | {value:.4g} |" in card
    assert '.translate(["a cat sleeps"], to="fr")' in card


def test_an_unknown_family_is_named(tmp_path):
    assert "new-one" in composition({"model_type": "new-one"}, tmp_path)


@pytest.mark.parametrize("name", ["word", "tagging", "language_model"])
def test_scores_on_the_card_are_those_of_the_run(name, models):
    model = models(name)
    run, card = json.loads((model / "run.json").read_text()), card_of(model)
    at = run["progress"]
    assert f"{counted(at['step'], 'step')}, {counted(at['examples'], 'example')}" in card
    if name == "word":
        assert SELECTION["none"] in card
        assert "| pairs.tsv | 60 | not stated |" in card
        assert "dog bites man" in card
    elif name == "tagging":
        assert f"step {at['best_step']}" in card
        assert f"{at['best_score']:.2f}" in card
        accuracy, unknown = run["test"]["accuracy"], run["test"]["unknown_accuracy"]
        assert f"| test | {accuracy:.4g} | {unknown:.4g} |" in card
        assert "| treebank | 32 | 4 | 4 |" in card
        assert "order" not in card.split("## Limits")[1]
    else:
        perplexity = f"{run['held_out']['perplexity']:.1f}"
        assert f"Perplexity per token: {perplexity}" in card
        assert "10 sentences" in card


def test_the_card_names_license_and_languages(models, tmp_path):
    recipe = FAMILIES["word"].replace(f"[{DEMO}]", f"[{{path: {DEMO}, languages: [en, fr]}}]")
    front = front_of(card_of(trained(recipe, tmp_path, models.root)))
    assert front["language"] == ["en", "fr"]
    card = card_of(models("tagging"))
    (row,) = [line for line in card.splitlines() if line.startswith("| treebank")]
    assert not row.endswith("| not stated |")


@pytest.mark.slow
def test_a_dropped_language_is_not_listed(models, tmp_path):
    french = f"[{DEMO}, {{path: {DEMO.parents[1]}/default/en-fr.tsv, languages: [en, fr]}}]"
    recipe = FAMILIES["sentencepiece"].replace(f"[{DEMO}]", french)
    recipe = recipe.replace("vocab_size: 250", "vocab_size: 390, apart: [fr]")
    model = trained(recipe + "finish: {drop_apart: true}", tmp_path, models.root)
    front = front_of(card_of(model))
    assert front["language"] == ["en"]
    assert " kB" in card_of(model)


@pytest.mark.slow
def test_a_table_changed_after_selection_is_mentioned(models, tmp_path):
    write_sts(tmp_path / "data" / "eval")
    recipe = FAMILIES["sentencepiece"].replace("development: none", "development: stsb-dev")
    model = trained(recipe + "finish: {significant_bits: 5}", tmp_path, tmp_path / "data")
    card = card_of(model)
    assert SELECTION["stsb-dev"] in card
    assert "step 3 " in card
    assert "`finish`" in card


def test_held_out_pairs_and_unknown_sets_are_named(models):
    model = models("word")
    run = json.loads((model / "run.json").read_text())
    progress = {**run["progress"], "best_step": 2, "best_score": 61.25}
    told = {"progress": progress, "development": "newer", "pairs_held_out": {"en-fr": 1200}}
    card = run_card(model, run={**run, **told})
    assert "1,200 of en-fr" in card
    assert "newer" in card
    assert "61.25" in card


@pytest.mark.slow
def test_the_card_states_word_order(models):
    names = ("recurrent", "charagram", "mixture")
    recurrent, *others = (card_of(models(name)).split("## Limits")[1] for name in names)
    assert "order" not in recurrent
    assert all("n-gram" in limits for limits in others)


def test_another_run_in_the_folder_has_its_own_card_and_curve(models, tmp_path):
    model = trained(FAMILIES["word"], tmp_path, models.root)
    assert (model / "training.png").exists()
    recipe = load_recipe(tmp_path / "recipe.yaml", ["--epochs", "0"])
    train(recipe, model, overwrite=True, progress=False)
    assert "0 steps, 0 examples" in card_of(model)
    assert "training.png" not in card_of(model)
    assert not (model / "training.png").exists()  # nothing was logged


ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "paraphrastic_hf":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gated_conv", "marian", "language_model", "sentencepiece"])
def test_examples_for_other_libraries_run_without_this_package(name, models, tmp_path):
    model = models(name)
    code = code_of(card_of(model))
    named = re.findall(r"^(?:model|directory) = .*$", code, re.MULTILINE)[:1]
    kept = [part for part in code.split("\n\n") if "paraphrastic_hf" not in part]
    kept = [part for part in kept if not part.startswith(("Translator.", "model = "))]
    program = "\n".join([ALONE, *named, *kept])
    assert "import AutoModel" in program or "SentenceTransformer(" in program
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=model.parent,
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "of type" not in done.stderr
