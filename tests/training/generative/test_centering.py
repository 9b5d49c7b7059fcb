"""Centering: subtracting the mean sentence vector of a generative model."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.generative.test_generative import PAIRS, write_recipe
from tests.training.runs import train

TEXTS = [text for pair in PAIRS for text in pair]
BRIEF = ["--epochs", "4"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    train(load_recipe(write_recipe(folder), BRIEF), folder / "out")
    return folder / "out"


def centered(plain: Path, folder: Path) -> Path:
    generator = LatentGenerator.from_pretrained(plain)
    generator.center_on([*TEXTS, "", "zzz"])
    generator.save_pretrained(folder / "centered")
    return folder / "centered"


def test_training_subtracts_the_mean_sentence_vector(plain, tmp_path):
    recipe = load_recipe(write_recipe(tmp_path), [*BRIEF, "--center", "1000"])
    train(recipe, tmp_path / "out")
    found = SentenceEncoder.from_pretrained(tmp_path / "out").encode(TEXTS)
    before = SentenceEncoder.from_pretrained(plain).encode(TEXTS)
    assert np.abs(before.mean(0)).max() > 0.01
    np.testing.assert_allclose(found, before - before.mean(0), atol=1e-6)


def test_center_on_subtracts_the_mean_of_the_given_texts(plain, tmp_path):
    folder = centered(plain, tmp_path)
    before = SentenceEncoder.from_pretrained(plain).encode(TEXTS)
    encoder = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_allclose(encoder.encode(TEXTS), before - before.mean(0), atol=1e-6)
    assert not encoder.encode(["", "zzz"]).any()  # no known token: the zero vector
    stock = SentenceTransformer(str(folder), trust_remote_code=True)
    np.testing.assert_allclose(stock.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    generator = LatentGenerator.from_pretrained(folder)
    once = generator.model.center.clone()
    generator.center_on(TEXTS)  # idempotent
    torch.testing.assert_close(generator.model.center, once)


def test_centering_leaves_decoding_and_language_variables_unchanged(plain, tmp_path):
    before, after = (
        LatentGenerator.from_pretrained(path) for path in (plain, centered(plain, tmp_path))
    )
    texts = [english for english, _ in PAIRS]
    assert before.translate(texts, to="fr") == after.translate(texts, to="fr")
    ids = torch.tensor([[5, 6, 7]])
    english = [each.model.reading("en")(ids).sentence_embedding for each in (before, after)]
    torch.testing.assert_close(*english)


def test_training_from_a_centered_model_recomputes_the_mean(plain, tmp_path):
    start = centered(plain, tmp_path)
    text = write_recipe(tmp_path).read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("tokenizer:", "model:"))]
    path = tmp_path / "further.yaml"
    path.write_text("\n".join([*kept, f"start: {start}"]), encoding="utf-8")
    with pytest.raises(RecipeError):
        train(load_recipe(path, BRIEF), tmp_path / "refused")
    train(load_recipe(path, [*BRIEF, "--center", "1000"]), tmp_path / "out")
    found = SentenceEncoder.from_pretrained(tmp_path / "out").encode(TEXTS)
    assert np.abs(found.mean(0)).max() < 1e-6


def test_each_reading_has_its_own_center(plain):
    generator = LatentGenerator.from_pretrained(plain)
    generator.model.reading("semantic").center_on(torch.ones(32))
    assert generator.model.center is None
    assert not generator.model.config.is_centered
    with pytest.raises(ValueError, match="text"):
        generator.center_on(["", "zzz"])
