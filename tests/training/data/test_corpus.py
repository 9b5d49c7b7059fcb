"""Sampling of sources and of bitexts in an epoch."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf.text.contract import SpecialIds
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.contrastive.job import Contrastive
from paraphrastic_hf.training.data.bitexts import Bitexts
from paraphrastic_hf.training.data.corpus import (
    PairCorpus,
    language_shares,
    seen_in_epoch,
    size_of_epoch,
)
from paraphrastic_hf.training.kinds import Context
from tests.training.runs import BITEXT, recipe_of


@pytest.mark.parametrize("weights", [[1, 1, 1], [0, 2, 0.5], [2.25, 0.1, 1 / 3], [0, 0, 0]])
def test_every_epoch_has_the_predicted_size(weights):
    source = np.repeat([0, 1], [7, 5]).astype(np.int32)  # the third source is empty
    for epoch in range(3):
        seen = seen_in_epoch(source, weights, np.random.default_rng(epoch))
        assert len(seen) == size_of_epoch(source, weights)
        for number, weight in enumerate(weights):
            times = np.bincount(seen, minlength=12)[source == number]
            assert all(int(weight) <= count <= int(weight) + 1 for count in times)


def corpus_of(*sources: tuple[str, str, int, float]) -> PairCorpus:
    """Return a corpus of empty pairs from the languages, number of pairs and weight of sources."""
    pairs = [(a, b) for a, b, count, _ in sources for _ in range(count)]
    names = sorted({code for pair in pairs for code in pair})
    return PairCorpus(
        sentences=Ragged.from_lists([[] for _ in range(2 * len(pairs))]),
        language=np.array([names.index(code) for pair in pairs for code in pair]),
        group=np.arange(2 * len(pairs)),
        never=None,
        source=np.repeat(np.arange(len(sources)), [count for _, _, count, _ in sources]),
        names=[f"{number}.tsv" for number in range(len(sources))],
        weights=[weight for *_, weight in sources],
        swaps=[False for _ in sources],
        languages=names,
        special=SpecialIds(),
    )


def test_languages_are_balanced_by_weighted_counts():
    corpus = corpus_of(
        ("en", "fr", 60, 1), ("fr", "en", 20, 2), ("en", "ar", 100, 0.04), ("en", "en", 25, 1)
    )  # 100, 4 and 25 pairs per epoch
    assert corpus.evened(1) is corpus
    shares = np.array([100, 100, 4, 25]) ** 0.5
    scale = 129 / (10 + 2 + 5)
    wanted = np.array([1, 2, 0.04, 1]) * scale * shares / [100, 100, 4, 25]
    np.testing.assert_allclose(corpus.evened(0.5).weights, wanted)
    even = corpus.evened(0)
    np.testing.assert_allclose(even.weights, np.array([0.43, 0.86, 0.43, 1.72]))
    assert abs(even.pairs_in_epoch - corpus.pairs_in_epoch) <= 2


def test_balancing_keeps_a_weight_of_zero():
    corpus = corpus_of(("en", "fr", 10, 1), ("en", "ar", 5, 0), ("en", "de", 0, 3))
    assert corpus.evened(0).weights == [1, 0, 3]
    assert corpus_of(("en", "fr", 10, 0)).evened(0).weights == [0]


def test_a_recipe_balances_languages(tmp_path):
    recipe = recipe_of(
        tmp_path,
        f"data: {{language_exponent: 0, sources: ["
        f"{{path: {BITEXT}, languages: [en, fr]}}, "
        f"{{path: {BITEXT.with_name('en-de.tsv')}, languages: [en, de], max_pairs: 20}}]}}\n"
        "tokenizer: {kind: word, vocab_size: 100}\nmodel: {hidden_size: 8}\n"
        "run: {development: none}\n",
    )
    job = Contrastive(recipe, Context())
    job.prepare(tmp_path / "work")
    job.build(tmp_path / "work")
    french, german = np.bincount(job.corpus.source)  # without pairs of unknown tokens
    assert french > german
    wanted = (french + german) / 2
    np.testing.assert_allclose(np.array(job.corpus.weights) * [french, german], wanted)


def two_sided(*pairs: tuple[str, str]) -> Any:
    codes = sorted({code for pair in pairs for code in pair})
    language = np.array([codes.index(code) for pair in pairs for code in pair])

    class Corpus(SimpleNamespace):
        def __len__(self) -> int:
            return len(pairs)

    return Corpus(languages=codes, language=language)


def test_sides_are_in_the_order_of_languages():
    found = Bitexts.of(two_sided(("en", "fr"), ("fr", "en"), ("de", "en")), ["en", "fr", "de"])
    assert found.languages == [("en", "fr"), ("en", "de")]
    assert found.sides.tolist() == [[0, 1], [3, 2], [5, 4]]
    assert found.bitext.tolist() == [0, 0, 1]
    assert {k: v.tolist() for k, v in found.grouped().items()} == {
        ("en", "fr"): [[0, 1], [3, 2]],
        ("en", "de"): [[5, 4]],
    }


def many(french: int, german: int) -> Bitexts:
    pairs = [("en", "fr")] * french + [("en", "de")] * german
    return Bitexts.of(two_sided(*pairs), ["en", "fr", "de"])


def test_exponents_balance_languages():
    assert many(6, 2).draw(1.0, np.random.default_rng(0)).tolist() == list(range(8))
    assert language_shares(many(9, 1).counts(), 0.5) == pytest.approx([0.75, 0.25])
    bitexts = many(9, 3)
    drawn = bitexts.draw(0.0, np.random.default_rng(0))
    assert np.bincount(bitexts.bitext[drawn]).tolist() == [6, 6]
    french, german = drawn[drawn < 9], drawn[drawn >= 9]
    assert len(set(french.tolist())) == 6  # without repetition, and new each epoch
    assert np.bincount(german, minlength=12)[9:].tolist() == [2, 2, 2]
    other = bitexts.draw(0.0, np.random.default_rng(1))
    assert set(other[other < 9].tolist()) != set(french.tolist())


def test_languages_are_translated_and_reconstructed_equally_often():
    """N / (N + 1) for each of N languages besides English, 1 / (N + 1) for English (5.13.1)."""
    expected = {"en": 1 / 3, "fr": 2 / 3, "de": 2 / 3}
    for pairs in (many(6, 6), many(6000, 2)):
        assert pairs.translation_weights() == pytest.approx(expected)
        assert pairs.first_chosen() == pytest.approx([1 / 3, 1 / 3])
    one = many(1, 0)
    assert one.translation_weights() == pytest.approx({"en": 1 / 2, "fr": 1 / 2})
    assert one.first_chosen() == pytest.approx([0.5])
