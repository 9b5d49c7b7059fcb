import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import yaml

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.generation.likelihood import LanguageScorer
from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.pipelines.recipe import load_corpus_recipe
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.encoder.build import check_encoder, check_encoders
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.encoder.settings import EncoderArguments
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe

ROOT = Path(__file__).parents[2]
EVERY = sorted((ROOT / "recipes").rglob("*.yaml"))
CORPORA = [path for path in EVERY if "kind: corpus" in path.read_text(encoding="utf-8")]
RECIPES = [path for path in EVERY if path not in CORPORA]  # training recipes
PAPERS = sorted({path.parent for path in RECIPES} - {ROOT / "recipes" / "demo"})
# Smoke recipes whose data does not ship train on a shipped file.
BITEXT = "[{path: recipes/default/en-fr.tsv, languages: [en, fr]}]"
SHIPPED = {
    "smoke-mle.yaml": ["--sources", BITEXT, "--held_out", "3", "--epochs", "60"],
    "smoke-distilled.yaml": [],
}
SMOKE = sorted(path for path in RECIPES if path.name in ("smoke.yaml", *SHIPPED))


@pytest.mark.parametrize("path", EVERY, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recipe_loads_and_survives_a_round_trip(path, tmp_path):
    load = load_corpus_recipe if path in CORPORA else load_recipe
    recipe = load(path)
    if isinstance(recipe, SupervisedRecipe):
        first = [EncoderArguments(recipe.tokenizer, recipe.model)] if recipe.start is None else []
        for part in (*first, *recipe.parts):
            check_encoder(part)
    elif isinstance(recipe, ContrastiveRecipe):
        check_encoders(recipe)
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(asdict(recipe)), encoding="utf-8")
    assert load(again) == recipe


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_recipe_selects_models_on_a_reported_test_set(path):
    recipe = load_recipe(path)
    if isinstance(recipe, EncoderRecipe):
        clean = {"none", "clean", "clean-and-bitext"}
        clean |= {"ws353-tuning"} if path.parent.name == "paragram-2015" else set()
        assert recipe.run.development in clean


def _follows_templates(folder: Path) -> None:
    """Check that SCPN's output follows the given parse."""
    parses = [
        "(S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN)) (PP (IN) (NP (DT) (NN)))) (.))",
        "(S (PP (IN) (NP (DT) (NN))) (,) (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.))",
    ]
    paraphraser = SyntacticParaphraser.from_pretrained(folder)
    settings = {"min_overlap": None, "min_similarity": None}
    (plain, fronted) = paraphraser.paraphrase(
        ["the book was sold by the girl near the river ."], parses, **settings
    )[0]
    assert plain.text.startswith(("the girl ", "the book "))
    assert fronted.text.startswith("near the river , ")


def test_every_folder_has_a_smoke_recipe():
    made = {path.parent for path in CORPORA if path.name == "smoke.yaml"}
    assert {path.parent for path in SMOKE} | made == set(PAPERS)


@pytest.mark.slow  # `tests/golden` trains one of them quickly
@pytest.mark.parametrize("path", SMOKE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_smoke_recipes_learn_and_their_models_load(path, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    recipe = load_recipe(path, SHIPPED.get(path.name, []))
    train(recipe, tmp_path / "out", progress=False)
    log = (tmp_path / "out" / "logs" / "train.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [loss for line in log if (loss := json.loads(line).get("loss")) is not None]
    third = len(losses) // 3
    assert np.mean(losses[-third:]) < 0.7 * np.mean(losses[:third]), losses
    if recipe.kind == "language_model":
        scores = LanguageScorer.from_pretrained(tmp_path / "out").score(["the big cat sleeps"])
        assert np.isfinite(scores.nats).all()
        return
    if recipe.kind == "paraphrase":
        _follows_templates(tmp_path / "out")
        return
    if recipe.kind == "translation":
        written = Translator.from_pretrained(tmp_path / "out").translate(["le chat dort"])
        assert written[0][0].text
        return
    encoder = SentenceEncoder.from_pretrained(tmp_path / "out")
    vector = encoder.encode("the big cat sleeps")  # every smoke text has one of these words
    assert vector.shape == (encoder.dimension,)
    assert np.isfinite(vector).all()
    assert vector.any()
