"""Training from a trained encoder: `start` of a contrastive recipe."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, load_recipe, packaged_model
from paraphrastic_hf.errors import DataError, RecipeError
from tests.trained import FAMILIES
from tests.training.runs import PAIRS, RECIPES, ROWS, recipe_of, told_apart, train

OWN = RECIPES / "simple-and-effective-2019" / "own.yaml"
FINE_TUNE = OWN.with_name("fine-tune.yaml")
TEXTS = [text for row in ROWS[:30] for text in row]


def further(folder: Path, family: str, *options: str) -> Any:
    """Train a model, and return a recipe that starts from it."""
    train(recipe_of(folder, FAMILIES[family]), folder / "first")
    text = f"""
data: {{sources: [{PAIRS}]}}
run: {{development: none}}
start: {folder / "first"}
model: {{embedding_dropout: 0.1}}
"""
    return recipe_of(folder, text, *options)


@pytest.mark.parametrize("family", ["word", "charagram", "mixture"])
def test_training_continues_from_the_earlier_model(family, tmp_path):
    train(further(tmp_path, family, "--epochs", "0"), tmp_path / "none")
    earlier, same = (SentenceEncoder.from_pretrained(tmp_path / name) for name in ("first", "none"))
    np.testing.assert_allclose(same.encode(TEXTS), earlier.encode(TEXTS), atol=1e-7)
    assert same.tokenizer.tokens() == earlier.tokenizer.tokens()
    config = same.model.config.to_dict()
    for part in config.get("parts") or [config]:
        assert part["embedding_dropout"] == 0.1
    options = ["--epochs", "10", "--learning_rate", "1e-2", "--mega_batch", "1"]
    train(further(tmp_path, family, *options), tmp_path / "more")
    assert told_apart(tmp_path / "more") > told_apart(tmp_path / "first") + 0.01


@pytest.mark.slow
def test_the_fine_tune_recipe_improves_the_packaged_model(tmp_path):
    options = ["--sources", str(PAIRS), "--epochs", "1"]
    train(load_recipe(FINE_TUNE, options), tmp_path / "mine")
    english = SentenceEncoder.from_pretrained("english")
    mine = SentenceEncoder.from_pretrained(tmp_path / "mine")
    assert mine.dimension == english.dimension
    assert mine.tokenizer.tokens() == english.tokenizer.tokens()
    assert told_apart(tmp_path / "mine") > told_apart(packaged_model("english"))
    unseen = "parliament debated the constitution"
    cosine = mine.similarity(mine.encode(unseen), english.encode(unseen))[0, 0]
    assert cosine > 0.99  # the pairs have none of its words


def test_start_on_the_command_line_replaces_the_encoder_of_the_recipe():
    recipe = load_recipe(OWN, ["--start", "english"])
    assert recipe.start == "english"
    assert recipe.model.embedding_dropout == 0.0  # from the recipe
    for key in ("--hidden_size", "--vocab_size"):
        with pytest.raises(RecipeError):
            load_recipe(OWN, ["--start", "english", key, "12"])


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("word", ["--training.freeze", "tables"]),
        ("word", ["--finish.dimension", "9"]),
        ("word", ["--matryoshka", "8"]),
        ("charagram", ["--finish.whiten", "0.25"]),
    ],
)
def test_keys_that_a_start_does_not_support_are_refused(family, options, tmp_path):
    with pytest.raises(RecipeError):
        train(further(tmp_path, family, *options), tmp_path / "out")
    assert not (tmp_path / "out" / "recipe.yaml").exists()


@pytest.mark.parametrize("path", [OWN, FINE_TUNE])
def test_recipes_for_own_pairs_need_explicit_sources(path, tmp_path):
    with pytest.raises(DataError):
        train(load_recipe(path), tmp_path / "out")
