"""Training from a trained encoder: `start` of a contrastive recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, load_recipe, train
from paraphrastic_hf.errors import DataError, RecipeError

ROOT = Path(__file__).parents[3]
PAIRS = ROOT / "recipes" / "demo" / "pairs.tsv"
OWN = ROOT / "recipes" / "simple-and-effective-2019" / "own.yaml"
FINE_TUNE = OWN.with_name("fine-tune.yaml")
TEXTS = PAIRS.read_text(encoding="utf-8").replace("\t", "\n").splitlines()[:60]
FAMILIES = {
    "averaging": "model: {hidden_size: 12}",
    "charagram": "tokenizer: {kind: char_ngram, vocab_size: 300}\n"
    "model: {kind: charagram, hidden_size: 12}",
    "mixture": "parts:\n"
    "- {tokenizer: {kind: word, vocab_size: 150}, model: {hidden_size: 12}}\n"
    "- {tokenizer: {vocab_size: 200}, model: {hidden_size: 12, kind: recurrent}}",
}


def recipe(folder: Path, body: str, *overrides: str) -> Any:
    path = folder / "recipe.yaml"
    head = f"data: {{sources: [{json.dumps(str(PAIRS))}]}}\nrun: {{development: none}}\n"
    path.write_text(head + body, encoding="utf-8")
    return load_recipe(path, overrides)


def trained(folder: Path, body: str) -> SentenceEncoder:
    train(recipe(folder, body, "--epochs", "1"), folder / "first")
    return SentenceEncoder.from_pretrained(folder / "first")


def nearness(encoder: SentenceEncoder) -> float:
    """Return the mean cosine of paraphrases minus that of all pairs."""
    rows = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    first, second = ([row[side] for row in rows] for side in (0, 1))
    cosines = encoder.similarity(first, second)
    return float(np.diag(cosines).mean() - cosines.mean())


@pytest.mark.parametrize("family", FAMILIES)
def test_training_continues_from_the_earlier_model(family: str, tmp_path: Path) -> None:
    earlier = trained(tmp_path, FAMILIES[family])
    start = f"start: {tmp_path / 'first'}\nmodel: {{embedding_dropout: 0.1}}"
    train(recipe(tmp_path, start, "--epochs", "0"), tmp_path / "none")
    same = SentenceEncoder.from_pretrained(tmp_path / "none")
    np.testing.assert_allclose(same.encode(TEXTS), earlier.encode(TEXTS), atol=1e-7)
    assert same.tokenizer.tokens() == earlier.tokenizer.tokens()
    config = same.model.config.to_dict()
    for part in config.get("parts") or [config]:
        assert part["embedding_dropout"] == 0.1
    options = ["--epochs", "10", "--learning_rate", "1e-2", "--mega_batch", "1"]
    train(recipe(tmp_path, start, *options), tmp_path / "more")
    assert nearness(SentenceEncoder.from_pretrained(tmp_path / "more")) > nearness(earlier) + 0.01


@pytest.mark.slow
def test_the_fine_tune_recipe_improves_the_packaged_model(tmp_path: Path) -> None:
    options = ["--sources", str(PAIRS), "--epochs", "1"]
    train(load_recipe(FINE_TUNE, options), tmp_path / "mine")
    english = SentenceEncoder.from_pretrained("english")
    mine = SentenceEncoder.from_pretrained(tmp_path / "mine")
    assert mine.dimension == english.dimension
    assert mine.tokenizer.tokens() == english.tokenizer.tokens()
    assert nearness(mine) > nearness(english)
    unseen = "parliament debated the constitution"
    cosine = mine.similarity(mine.encode(unseen), english.encode(unseen))[0, 0]
    assert cosine > 0.99  # the pairs have none of its words


def test_start_on_the_command_line_replaces_the_encoder_of_the_recipe() -> None:
    recipe = load_recipe(OWN, ["--start", "english"])
    assert recipe.start == "english"
    assert recipe.model.embedding_dropout == 0.0  # from the recipe
    for key in ("--hidden_size", "--vocab_size"):
        with pytest.raises(RecipeError):
            load_recipe(OWN, ["--start", "english", key, "12"])


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("averaging", ["--training.freeze", "tables"]),
        ("averaging", ["--finish.dimension", "13"]),
        ("averaging", ["--matryoshka", "12"]),
        ("charagram", ["--finish.whiten", "0.25"]),
    ],
)
def test_keys_that_a_start_does_not_support_are_refused(
    family: str, options: list[str], tmp_path: Path
) -> None:
    trained(tmp_path, FAMILIES[family])
    with pytest.raises(RecipeError):
        train(recipe(tmp_path, f"start: {tmp_path / 'first'}", *options), tmp_path / "out")
    assert not (tmp_path / "out" / "recipe.yaml").exists()


@pytest.mark.parametrize("path", [OWN, FINE_TUNE])
def test_recipes_for_own_pairs_need_explicit_sources(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs.tsv").write_text("a cat\ta cat\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        train(load_recipe(path), tmp_path / "out")
