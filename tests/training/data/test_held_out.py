"""Bitext pairs held out of training for model selection."""

from dataclasses import replace

import numpy as np
import pytest

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import CheckpointError, DataError
from paraphrastic_hf.evaluation.measures.similarity import Encode, score_suite
from paraphrastic_hf.evaluation.suites.development import read_clean
from paraphrastic_hf.training.data.corpus import load_corpus
from paraphrastic_hf.training.data.held_out import (
    MOST,
    HeldOut,
    hold_out,
    judged_retrieval,
    read_held_out,
)
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.engine.recipe import SourceArguments
from tests.trained import FAMILIES
from tests.training.runs import BITEXT, card, record, trained

MINED = SourceArguments(path="mined.tsv", languages=["en", "fr"], hold_out=False)


def source(pairs: list[tuple[str, str]], *languages: str, **beside: list[str]) -> SourcePairs:
    return SourcePairs(SourceArguments(path="a.tsv", languages=list(languages)), pairs, beside)


def numbered(count: int, first: str = "the", second: str = "le") -> list[tuple[str, str]]:
    return [(f"{first} {i}", f"{second} {i}") for i in range(count)]


def retrieval(encode: Encode, held_out: HeldOut) -> float:
    return float(np.mean([each.score for each in judged_retrieval(encode, held_out)]))


def test_one_in_twenty_pairs_is_held_out_up_to_a_limit():
    for count, held in ((100, 5), (20 * MOST + 5000, MOST)):
        pairs = numbered(count)
        names = [f"{a} {b}" for a, b in pairs]
        (kept,), found = hold_out([source(pairs, "en", "fr", name=names)])
        assert len(found["en-fr"]) == held
        assert len(kept.pairs) == count - held
        assert not set(found["en-fr"]) & set(kept.pairs)
        assert kept.beside["name"] == [f"{a} {b}" for a, b in kept.pairs]
    repeated = [(f"the {i % 40}", f"le {i}") for i in range(400)]
    _, found = hold_out([source(repeated, "en", "fr")])
    assert len({first for first, _ in found["en-fr"]}) == len(found["en-fr"]) == 20


def test_held_out_sentences_are_not_trained_on_in_their_languages():
    pairs = [*numbered(200), *numbered(200, "THE", "un"), *numbered(200, "a", "LE")]
    sources, found = hold_out([source(pairs, "en", "fr"), source(numbered(9), "en", "en")])
    kept = [{side.lower() for side in of} for of in zip(*sources[0].pairs, strict=True)]
    for held, sides in zip(zip(*found["en-fr"], strict=True), kept, strict=True):
        assert not {side.lower() for side in held} & sides
    assert sources[1].pairs == numbered(9)


def test_order_sides_and_other_languages_do_not_change_the_choice():
    pairs, german = numbered(300), numbered(40, "the", "das")
    _, found = hold_out([source(pairs, "en", "fr")])
    turned = [(b, a) for a, b in pairs[::-1]]
    _, again = hold_out(
        [source(german, "en", "de"), source(turned[:100], "fr", "en"), source(turned, "fr", "en")]
    )
    assert again["en-fr"] == found["en-fr"]
    assert len(again["de-en"]) == 2
    assert all(first.startswith("das") for first, _ in again["de-en"])


def test_mined_pairs_are_not_held_out_but_filtered():
    mined = replace(source(numbered(100, "the", "un"), "en", "fr"), source=MINED)
    alone = replace(source(numbered(60), "en", "de"), source=replace(MINED, languages=["en", "de"]))
    sources, found = hold_out([source(numbered(100), "en", "fr"), mined, alone])
    assert len(found["en-fr"]) == 5
    assert all(second.startswith("le") for _, second in found["en-fr"])
    assert "de-en" not in found
    assert len(sources[1].pairs) == 95
    assert sources[2].pairs == numbered(60)
    for few in (mined, source(numbered(100), "en", "en"), source(numbered(19), "en", "fr")):
        with pytest.raises(DataError):
            hold_out([few])


@pytest.mark.parametrize("content", ["[", "[1]", '{"en-fr": [1]}'])
def test_damaged_held_out_pairs_are_named(content, tmp_path):
    (tmp_path / "held_out.json").write_text(content)
    with pytest.raises(CheckpointError):
        read_held_out(tmp_path)


def test_retrieval_is_averaged_over_languages():
    vectors = {"a": [1, 0], "b": [0, 1], "x": [1, 0.1], "y": [0.1, 1], "z": [1, 0.2]}

    def encode(texts: list[str]) -> np.ndarray:
        return np.array([vectors[text] for text in texts], np.float32)

    held_out = {"en-fr": [("a", "x"), ("b", "y")], "de-en": [("x", "a"), ("z", "b")]}
    assert retrieval(encode, {"en-fr": held_out["en-fr"]}) == 100
    assert retrieval(encode, held_out) == pytest.approx((100 + 75) / 2)


RECIPES = {
    "contrastive": f"""
data: {{sources: [{{path: {BITEXT}, languages: [en, fr]}}]}}
tokenizer: {{vocab_size: 300, character_coverage: 1.0}}
model: {{hidden_size: 16, initializer_std: 0.1}}
training: {{epochs: 2, batch_size: 10, mega_batch: 1, learning_rate: 0.01}}
""",
    "generative": FAMILIES["bgt"],
}


@pytest.mark.parametrize("kind", ["contrastive", "generative"])
def test_a_run_does_not_train_on_held_out_pairs(kind, tmp_path, sts_folder):
    work, more = tmp_path / "kept", ["--development", "clean-and-bitext"]
    output = trained(tmp_path, RECIPES[kind], *more, data_root=sts_folder.parent, work=work)
    lines = BITEXT.read_text(encoding="utf-8").splitlines()
    held_out, corpus = read_held_out(work), load_corpus(work / "corpus")
    number = len(held_out["en-fr"])
    assert number == len(lines) // 20 > 0
    assert len(corpus) == len(lines) - number
    run = record(output)
    assert run["pairs_held_out"] == {"en-fr": number}
    if kind == "generative":
        assert run["pairs"] == len(corpus) - 5
        assert f"{number} of en-fr" in card(output)
    encoder = SentenceEncoder.from_pretrained(output)
    scores = score_suite(encoder.encode, read_clean(sts_folder))
    halves = (
        np.mean([each.scores["pearson"] for each in scores]),
        retrieval(encoder.encode, held_out),
    )
    assert len(scores) == 3
    assert run["progress"]["best_score"] == pytest.approx(np.mean(halves), abs=1e-3)
