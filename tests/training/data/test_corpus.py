"""Sampling of sources in an epoch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.text.contract import SpecialIds
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.contrastive.job import Contrastive
from paraphrastic_hf.training.data.corpus import PairCorpus, seen_in_epoch, size_of_epoch
from paraphrastic_hf.training.kinds import Context
from tests.training.runs import BITEXT, recipe_of


@pytest.mark.parametrize("weights", [[1, 1, 1], [0, 2, 0.5], [2.25, 0.1, 1 / 3], [0, 0, 0]])
def test_every_epoch_has_the_predicted_size(weights: list[float]) -> None:
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


def test_languages_are_balanced_by_weighted_counts() -> None:
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


def test_balancing_keeps_a_weight_of_zero() -> None:
    corpus = corpus_of(("en", "fr", 10, 1), ("en", "ar", 5, 0), ("en", "de", 0, 3))
    assert corpus.evened(0).weights == [1, 0, 3]
    assert corpus_of(("en", "fr", 10, 0)).evened(0).weights == [0]


def test_a_recipe_balances_languages(tmp_path: Path) -> None:
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
