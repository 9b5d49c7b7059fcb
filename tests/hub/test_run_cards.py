"""A model has a card as soon as it is trained: of every kind and family, from its run alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from paraphrastic_hf.hub import families
from paraphrastic_hf.hub.cards import run_card
from paraphrastic_hf.hub.selection import SELECTION
from paraphrastic_hf.models import GENERATIVE
from paraphrastic_hf.models import families as models
from paraphrastic_hf.training.encoder.recipe import DEVELOPMENT_SETS
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe
from tests.data_root import DEMO, write_supervised
from tests.trained import BGT, FAMILIES, ORDERLESS, RECIPES, code_of, trained


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_supervised(tmp_path_factory.mktemp("data"))


def card_of(model: Path) -> str:
    """Its card, without line breaks in prose."""
    text = (model / "README.md").read_text(encoding="utf-8")
    return re.sub(r"(?<=[\w.,:;)`]) ?\n(?=[\w(`\"])", " ", text)


@pytest.mark.parametrize("name", RECIPES)
def test_a_trained_model_has_a_card_whose_code_runs(
    name: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, what = RECIPES[name]
    model = trained(recipe, tmp_path, root)
    text = (model / "README.md").read_text(encoding="utf-8")
    assert what in card_of(model)
    assert text == run_card(model)  # from what lies in the folder, nothing else
    assert str(tmp_path) not in text
    assert str(DEMO) not in text
    front = yaml.safe_load(text.split("---")[1])
    assert "license" not in front  # nobody has stated one
    assert "language" not in front
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "card"})


def test_every_family_has_a_sentence_of_its_own() -> None:
    generative = {model.config_class.model_type.split("-", 1)[1] for model in GENERATIVE}
    assert families.FAMILIES.keys() == models.FAMILIES.keys() | generative


def test_a_generative_model_says_what_it_writes_and_what_its_variables_hold(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = trained(BGT, tmp_path, root)
    card, run = card_of(model), json.loads((model / "run.json").read_text())
    assert "the mean of the variable semantic, which a transformer infers from its words" in card
    for name, value in run["held_out"]["active_units"].items():
        assert f"active_units, {name} | {value:.4g} |" in card
    (block,) = re.findall(r"```python\n(.*?)```", (model / "README.md").read_text(), re.DOTALL)
    assert '.translate(["a cat sleeps"], to="fr")' in block
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {"__name__": "card"})


def test_every_development_set_has_its_words() -> None:
    assert SELECTION.keys() == set(DEVELOPMENT_SETS)


def test_a_family_and_tokens_without_a_sentence_are_named(tmp_path: Path) -> None:
    found = families.composition({"model_type": "paraphrastic-new-one"}, tmp_path)
    assert found == "what a new_one model makes of its tokens"


@pytest.mark.parametrize("name", ["word", "tagging", "language_model"])
def test_figures_of_the_card_are_those_of_the_run(name: str, root: Path, tmp_path: Path) -> None:
    model = trained(RECIPES[name][0], tmp_path, root)
    run, card = json.loads((model / "run.json").read_text()), card_of(model)
    at = run["progress"]
    assert f"steps {at['step']:,}; {at['examples']:,}" in card
    if name == "word":
        assert SELECTION["none"] in card
        assert "Nothing has been measured." in card
        assert "| pairs.tsv | 60 | not stated |" in card
        assert ORDERLESS in card
    elif name == "tagging":
        best = f"{at['best_score']:.2f}"
        assert "The state with the best accuracy on the validation split was kept" in card
        assert f"Its step is {at['best_step']}, its score {best}." in card
        accuracy, unknown = run["test"]["accuracy"], run["test"]["unknown_accuracy"]
        assert f"| test | {accuracy:.4g} | {unknown:.4g} |" in card
        assert "| treebank | 32 | 4 | 4 |" in card
        assert "order" not in card.split("## Limits")[1]
    else:
        perplexity = f"{run['held_out']['perplexity']:.1f}"
        assert f"Perplexity {perplexity} a token" in card
        assert "on 10 sentences" in card


def test_the_licence_of_a_corpus_on_record_is_named_and_its_languages(
    root: Path, tmp_path: Path
) -> None:
    recipe = f"{RECIPES['word'][0]}".replace(
        f"[{DEMO}]", f"[{{path: {DEMO}, languages: [en, fr]}}]"
    )
    front = yaml.safe_load(
        (trained(recipe, tmp_path, root) / "README.md").read_text().split("---")[1]
    )
    assert front["language"] == ["en", "fr"]
    tagger = trained(RECIPES["tagging"][0], tmp_path / "mine", root)
    (row,) = [line for line in card_of(tagger).splitlines() if line.startswith("| treebank")]
    assert not row.endswith("| not stated |")


def test_a_language_whose_pieces_were_dropped_is_none_of_the_model(
    root: Path, tmp_path: Path
) -> None:
    french = f"[{DEMO}, {{path: {DEMO.parents[1]}/default/en-fr.tsv, languages: [en, fr]}}]"
    recipe = RECIPES["sentencepiece"][0].replace(f"[{DEMO}]", french)
    recipe = recipe.replace("vocab_size: 250", "vocab_size: 390, apart: [fr]")
    model = trained(recipe + "finish: {drop_apart: true}", tmp_path, root)
    front = yaml.safe_load((model / "README.md").read_text().split("---")[1])
    assert front["language"] == ["en"]
    assert " kB of weights." in card_of(model)


def test_a_table_changed_after_selection_is_said_to_be(root: Path, tmp_path: Path) -> None:
    from tests.evaluation.sts_files import write_sts

    write_sts(tmp_path / "data" / "eval")
    recipe = RECIPES["sentencepiece"][0].replace("development: none", "development: stsb-dev")
    model = trained(recipe + "finish: {significant_bits: 5}", tmp_path, tmp_path / "data")
    card = card_of(model)
    assert "The state that scored best on STS-B dev was kept." in card
    assert "Its step is 3, its score" in card
    assert "before `finish` in the recipe changed the table" in card
    assert "Nothing but the development score has been measured." in card


def test_pairs_held_out_and_sets_that_are_to_come_are_named(root: Path, tmp_path: Path) -> None:
    model = trained(RECIPES["word"][0], tmp_path, root)
    run = json.loads((model / "run.json").read_text(encoding="utf-8"))
    progress = {**run["progress"], "best_step": 2, "best_score": 61.25}
    told = {"progress": progress, "development": "newer", "pairs_held_out": {"en-fr": 1200}}
    card = run_card(model, run={**run, **told})
    assert "Pairs held out of training: 1,200 of en-fr." in card
    assert "scored best on newer" in card
    assert "its score 61.25." in " ".join(card.split())


def test_order_counts_for_what_reads_in_order_alone(root: Path, tmp_path: Path) -> None:
    limits = {}
    for name in ("recurrent", "charagram", "mixture"):
        (tmp_path / name).mkdir()
        card = card_of(trained(RECIPES[name][0], tmp_path / name, root))
        limits[name] = card.split("## Limits")[1]
    assert "order" not in limits["recurrent"]
    assert "only where an n-gram" in limits["charagram"]
    assert "only where an n-gram" in limits["mixture"]


def test_another_run_in_the_folder_has_its_own_card_and_curve(root: Path, tmp_path: Path) -> None:
    model = trained(RECIPES["word"][0], tmp_path, root)
    assert (model / "training.png").exists()
    recipe = load_recipe(tmp_path / "recipe.yaml", ["--epochs", "0"])
    train(recipe, model, overwrite=True, progress=False)
    assert "steps 0; 0 examples" in card_of(model)
    assert "training.png" not in card_of(model)
    assert not (model / "training.png").exists()  # nothing was logged


def test_a_gran_without_its_gate_is_called_so() -> None:
    sentence = families.FAMILIES["gated"]({"variant": 0, "bidirectional": True}, "words")
    assert "network, BiGRAN without its gate, makes of its words" in sentence


ALONE = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "paraphrastic_hf":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize("name", ["gated_conv", "marian", "language_model", "sentencepiece"])
def test_what_a_card_says_of_other_libraries_runs_without_this_package(
    name: str, root: Path, tmp_path: Path
) -> None:
    """And without a prompt, or a warning about a model of another type."""
    model = trained(FAMILIES[name], tmp_path, root)
    code = code_of((model / "README.md").read_text("utf-8"))
    named = re.findall(r"^(?:model|directory) = .*$", code, re.MULTILINE)[:1]
    kept = [part for part in code.split("\n\n") if "paraphrastic_hf" not in part]
    kept = [part for part in kept if not part.startswith(("Translator.", "model = "))]
    program = "\n".join([ALONE, *named, *kept])
    assert "import AutoModel" in program or "SentenceTransformer(" in program
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "of type" not in done.stderr
