"""Sentence vectors of a generative model less what all of them share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from paraphrastic_hf import BGTModel, SentenceEncoder
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.generative.test_generative import PAIRS, write_recipe

TEXTS = [text for pair in PAIRS for text in pair]
BRIEF = ["--epochs", "4"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    train(load_recipe(write_recipe(folder), BRIEF), folder / "out", progress=False)
    return folder / "out"


def centred(plain: Path, folder: Path) -> Path:
    generator = LatentGenerator.from_pretrained(plain)
    generator.centre_on([*TEXTS, "", "zzz"])
    generator.save_pretrained(folder / "centred")
    return folder / "centred"


def test_a_run_takes_the_mean_of_its_sentences_from_every_vector(
    plain: Path, tmp_path: Path
) -> None:
    recipe = load_recipe(write_recipe(tmp_path), [*BRIEF, "--centre", "1000"])
    train(recipe, tmp_path / "out", progress=False)
    found = SentenceEncoder.from_pretrained(tmp_path / "out").encode(TEXTS)
    before = SentenceEncoder.from_pretrained(plain).encode(TEXTS)
    assert np.abs(before.mean(0)).max() > 0.01
    np.testing.assert_allclose(found, before - before.mean(0), atol=1e-6)


def test_a_trained_model_is_centred_on_the_texts_it_is_given(plain: Path, tmp_path: Path) -> None:
    before = SentenceEncoder.from_pretrained(plain).encode(TEXTS)
    after = SentenceEncoder.from_pretrained(centred(plain, tmp_path)).encode(TEXTS)
    np.testing.assert_allclose(after, before - before.mean(0), atol=1e-6)


def test_centring_again_starts_from_the_vectors_as_they_were(plain: Path, tmp_path: Path) -> None:
    generator = LatentGenerator.from_pretrained(centred(plain, tmp_path))
    once = generator.model.centre.clone()
    generator.centre_on(TEXTS)
    torch.testing.assert_close(generator.model.centre, once)


def test_what_says_nothing_stays_the_zero_vector(plain: Path, tmp_path: Path) -> None:
    encoder = SentenceEncoder.from_pretrained(centred(plain, tmp_path))
    assert not encoder.encode(["", "zzz"]).any()


def test_stock_loaders_give_the_centred_vectors(plain: Path, tmp_path: Path) -> None:
    folder = centred(plain, tmp_path)
    wanted = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
    stock = SentenceTransformer(str(folder), trust_remote_code=True)
    np.testing.assert_allclose(stock.encode(TEXTS), wanted, atol=1e-5)


def test_only_meaning_is_centred_and_writing_stays(plain: Path, tmp_path: Path) -> None:
    before, after = (
        LatentGenerator.from_pretrained(path) for path in (plain, centred(plain, tmp_path))
    )
    texts = [english for english, _ in PAIRS]
    assert before.translate(texts, to="fr") == after.translate(texts, to="fr")
    ids = torch.tensor([[5, 6, 7]])
    english = [each.model.reading("en")(ids).sentence_embedding for each in (before, after)]
    torch.testing.assert_close(*english)


def test_a_run_that_is_resumed_ends_as_an_unbroken_one(tmp_path: Path) -> None:
    options = ["--epochs", "12", "--centre", "8", "--checkpoint_every", "2"]
    recipe = load_recipe(write_recipe(tmp_path), options)
    train(recipe, tmp_path / "whole", progress=False)
    calls = 0
    loss = BGTModel.forward

    def fails(model: BGTModel, *args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += "sides" in options
        if calls == 10:
            raise KeyboardInterrupt
        return loss(model, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BGTModel, "forward", fails)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tmp_path / "broken", progress=False)
    train(recipe, tmp_path / "broken", progress=False)
    whole, broken = (
        SentenceEncoder.from_pretrained(tmp_path / name).encode(TEXTS)
        for name in ("whole", "broken")
    )
    np.testing.assert_array_equal(whole, broken)


def test_going_on_from_a_centred_model_takes_the_mean_anew(plain: Path, tmp_path: Path) -> None:
    start = centred(plain, tmp_path)
    text = write_recipe(tmp_path).read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("tokenizer:", "model:"))]
    path = tmp_path / "further.yaml"
    path.write_text("\n".join([*kept, f"start: {start}"]), encoding="utf-8")
    with pytest.raises(RecipeError, match=r"which training moves: set training\.centre"):
        train(load_recipe(path, BRIEF), tmp_path / "refused", progress=False)
    train(load_recipe(path, [*BRIEF, "--centre", "1000"]), tmp_path / "out", progress=False)
    found = SentenceEncoder.from_pretrained(tmp_path / "out").encode(TEXTS)
    assert np.abs(found.mean(0)).max() < 1e-6


def test_a_reading_has_a_centre_of_its_own(plain: Path) -> None:
    model = LatentGenerator.from_pretrained(plain).model
    model.reading("semantic").centre_on(torch.ones(32))
    assert model.centre is None
    assert not model.config.is_centred


def test_a_centre_of_another_size_and_texts_without_a_token_are_refused(plain: Path) -> None:
    generator = LatentGenerator.from_pretrained(plain)
    with pytest.raises(ValueError, match=r"centre must have the shape \(32,\), got \(3,\)"):
        generator.model.centre_on(torch.zeros(3))
    with pytest.raises(ValueError, match="no text has a known token"):
        generator.centre_on(["", "zzz"])
