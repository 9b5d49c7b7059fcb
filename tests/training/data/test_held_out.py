"""Pairs of bitext that pick a checkpoint and that training never sees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.config.recipe import read_recipe
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import CheckpointError, DataError
from paraphrastic_hf.evaluation.measures.similarity import Encode, score_suite
from paraphrastic_hf.evaluation.suites.development import read_clean
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.corpus import load_corpus
from paraphrastic_hf.training.data.development import development_scorer, read_development
from paraphrastic_hf.training.data.held_out import (
    MOST,
    HeldOut,
    hold_out,
    judged_retrieval,
    read_held_out,
)
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe

BITEXT = Path(__file__).parents[3] / "recipes" / "default" / "en-fr.tsv"

MINED = SourceArguments(path="mined.tsv", languages=["en", "fr"], hold_out=False)


def source(pairs: list[tuple[str, str]], *languages: str, **beside: list[str]) -> SourcePairs:
    return SourcePairs(SourceArguments(path="a.tsv", languages=list(languages)), pairs, beside)


def numbered(count: int, first: str = "the", second: str = "le") -> list[tuple[str, str]]:
    return [(f"{first} {i}", f"{second} {i}") for i in range(count)]


def retrieval(encode: Encode, held_out: HeldOut) -> float:
    return float(np.mean([each.score for each in judged_retrieval(encode, held_out)]))


def test_a_twentieth_is_held_out_and_no_more_than_the_bound() -> None:
    for count, held in ((100, 5), (20 * MOST + 5000, MOST)):
        sources, found = hold_out([source(numbered(count), "en", "fr")])
        assert len(found["en-fr"]) == held
        assert len(sources[0].pairs) == count - held
        assert not set(found["en-fr"]) & set(sources[0].pairs)


def test_no_sentence_of_a_held_out_pair_is_trained_on_in_its_languages() -> None:
    """Each sentence is in two pairs, once in capitals."""
    pairs = [*numbered(200), *numbered(200, "THE", "un"), *numbered(200, "a", "LE")]
    sources, found = hold_out([source(pairs, "en", "fr"), source(numbered(9), "en", "en")])
    kept = [{side.lower() for side in of} for of in zip(*sources[0].pairs, strict=True)]
    for held, sides in zip(zip(*found["en-fr"], strict=True), kept, strict=True):
        assert not {side.lower() for side in held} & sides
    assert sources[1].pairs == numbered(9)


def test_no_held_out_sentence_has_two_translations() -> None:
    pairs = [(f"the {i % 40}", f"le {i}") for i in range(400)]
    _, found = hold_out([source(pairs, "en", "fr")])
    assert len({first for first, _ in found["en-fr"]}) == len(found["en-fr"]) == 20


def test_the_choice_hangs_on_the_pairs_alone() -> None:
    """Other orders and sides, and pairs of other languages beside them, change nothing."""
    pairs, german = numbered(300), numbered(40, "the", "das")
    _, found = hold_out([source(pairs, "en", "fr")])
    turned = [(b, a) for a, b in pairs[::-1]]
    _, again = hold_out(
        [source(german, "en", "de"), source(turned[:100], "fr", "en"), source(turned, "fr", "en")]
    )
    assert again["en-fr"] == found["en-fr"]
    assert len(again["de-en"]) == 2
    assert all(first.startswith("das") for first, _ in again["de-en"])


def test_pairs_that_no_translator_made_are_none_to_choose_by() -> None:
    """Mined ones; but those that share a sentence with a held-out pair are not trained on."""
    mined = replace(source(numbered(100, "the", "un"), "en", "fr"), source=MINED)
    alone = replace(source(numbered(60), "en", "de"), source=replace(MINED, languages=["en", "de"]))
    sources, found = hold_out([source(numbered(100), "en", "fr"), mined, alone])
    assert len(found["en-fr"]) == 5
    assert all(second.startswith("le") for _, second in found["en-fr"])
    assert "de-en" not in found
    assert len(sources[1].pairs) == 95
    assert sources[2].pairs == numbered(60)
    with pytest.raises(DataError, match="too few or none"):
        hold_out([mined])


def test_what_stands_beside_pairs_goes_with_them() -> None:
    pairs = numbered(40)
    names = [f"{a} {b}" for a, b in pairs]
    sources, _ = hold_out([source(pairs, "en", "fr", name=names)])
    assert len(sources[0].pairs) == 38
    assert sources[0].beside["name"] == [f"{a} {b}" for a, b in sources[0].pairs]


@pytest.mark.parametrize(("count", "language"), [(100, "en"), (19, "fr")])
def test_without_enough_bitext_the_way_out_is_named(count: int, language: str) -> None:
    with pytest.raises(DataError, match=r"have too few or none: .* take development clean"):
        hold_out([source(numbered(count), "en", language)])


@pytest.mark.parametrize("content", ["[", "[1]", '{"en-fr": [1]}'])
def test_damaged_held_out_pairs_are_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "held_out.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"held_out.json, .* is damaged"):
        read_held_out(tmp_path)


def test_retrieval_is_the_mean_of_languages() -> None:
    """All of one are found; of the other one in one direction and two in the other."""
    vectors = {"a": [1, 0], "b": [0, 1], "x": [1, 0.1], "y": [0.1, 1], "z": [1, 0.2]}

    def encode(texts: list[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts], np.float32)

    held_out = {"en-fr": [("a", "x"), ("b", "y")], "de-en": [("x", "a"), ("z", "b")]}
    assert retrieval(encode, {"en-fr": held_out["en-fr"]}) == 100
    assert retrieval(encode, held_out) == pytest.approx((100 + 75) / 2)


@pytest.fixture
def recipe(tmp_path: Path) -> ContrastiveRecipe:
    path = tmp_path / "recipe.yaml"
    settings = {
        "data": {"sources": [{"path": str(BITEXT), "languages": ["en", "fr"]}]},
        "tokenizer": {"vocab_size": 300, "character_coverage": 1.0},
        "model": {"hidden_size": 16, "initializer_std": 0.1},
        "training": {"epochs": 2, "batch_size": 10, "mega_batch": 1, "learning_rate": 0.01},
        "run": {"development": "clean-and-bitext"},
    }
    path.write_text(json.dumps(settings), encoding="utf-8")
    return read_recipe(ContrastiveRecipe, path)


def test_a_generative_run_is_picked_by_both_halves_too(tmp_path: Path, sts_folder: Path) -> None:
    settings = {
        "kind": "generative",
        "data": {"sources": [{"path": str(BITEXT), "languages": ["en", "fr"]}], "held_out": 5},
        "tokenizer": {"kind": "word", "vocab_size": 100, "marks": "end"},
        "model": {"hidden_size": 16, "encoder_layers": 1, "heads": 2, "feed_forward": 16},
        "training": {"steps": 2, "batch_tokens": 100, "learning_rate": 0.01, "warmup_steps": 1},
        "run": {"development": "clean-and-bitext"},
    }
    path, work, output = tmp_path / "recipe.yaml", tmp_path / "kept", tmp_path / "out"
    path.write_text(json.dumps(settings), encoding="utf-8")
    result = train(
        load_recipe(path), output, data_root=sts_folder.parent, work=work, progress=False
    )
    held_out, corpus = read_held_out(work), load_corpus(work / "corpus")
    number = len(held_out["en-fr"])
    assert len(corpus) == len(BITEXT.read_text(encoding="utf-8").splitlines()) - number
    run = json.loads((output / "run.json").read_text(encoding="utf-8"))
    assert (run["pairs"], run["pairs_held_out"]) == (len(corpus) - 5, {"en-fr": number})
    assert f"Pairs held out of training: {number} of en-fr." in (output / "README.md").read_text()
    encoder = SentenceEncoder.from_pretrained(output)
    scores = score_suite(encoder.encode, read_clean(sts_folder)).datasets
    halves = np.mean([each.pearson for each in scores]), retrieval(encoder.encode, held_out)
    assert result.best_score == pytest.approx(np.mean(halves), abs=1e-3)


def test_a_run_is_picked_by_both_halves_and_never_sees_what_it_holds_out(
    recipe: ContrastiveRecipe, tmp_path: Path, sts_folder: Path
) -> None:
    work, output = tmp_path / "kept", tmp_path / "out"
    result = train(recipe, output, data_root=sts_folder.parent, work=work, progress=False)
    lines = BITEXT.read_text(encoding="utf-8").splitlines()
    held_out, corpus = read_held_out(work), load_corpus(work / "corpus")
    number = len(held_out["en-fr"])
    assert number == len(lines) // 20 > 0
    assert len(corpus) == len(lines) - number
    run = json.loads((output / "run.json").read_text(encoding="utf-8"))
    assert (run["development"], run["pairs_held_out"]) == ("clean-and-bitext", {"en-fr": number})

    encoder = SentenceEncoder.from_pretrained(output)
    scores = score_suite(encoder.encode, read_clean(sts_folder)).datasets
    halves = np.mean([each.pearson for each in scores]), retrieval(encoder.encode, held_out)
    assert len(scores) == 3
    assert result.best_score == pytest.approx(np.mean(halves), abs=1e-3)
    score = development_scorer(
        "clean-and-bitext",
        encoder.tokenizer,
        read_development("clean-and-bitext", sts_folder.parent),
        held_out,
    )
    assert score is not None
    assert score(encoder.model) == pytest.approx(np.mean(halves), abs=1e-3)
