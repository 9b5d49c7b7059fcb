"""Bitext between several languages and its sampling."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf.training.data.bitexts import Bitexts
from paraphrastic_hf.training.data.corpus import language_shares


def corpus(*pairs: tuple[str, str]) -> Any:
    codes = sorted({code for pair in pairs for code in pair})
    language = np.array([codes.index(code) for pair in pairs for code in pair])

    class Corpus(SimpleNamespace):
        def __len__(self) -> int:
            return len(pairs)

    return Corpus(languages=codes, language=language)


def test_sides_are_in_the_order_of_languages() -> None:
    found = Bitexts.of(corpus(("en", "fr"), ("fr", "en"), ("de", "en")), ["en", "fr", "de"])
    assert found.languages == [("en", "fr"), ("en", "de")]
    assert found.sides.tolist() == [[0, 1], [3, 2], [5, 4]]
    assert found.bitext.tolist() == [0, 0, 1]
    assert {k: v.tolist() for k, v in found.grouped().items()} == {
        ("en", "fr"): [[0, 1], [3, 2]],
        ("en", "de"): [[5, 4]],
    }


def many(french: int, german: int) -> Bitexts:
    pairs = [("en", "fr")] * french + [("en", "de")] * german
    return Bitexts.of(corpus(*pairs), ["en", "fr", "de"])


def test_exponents_balance_languages() -> None:
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


def test_languages_are_translated_and_reconstructed_equally_often() -> None:
    """N / (N + 1) for each of N languages besides English, 1 / (N + 1) for English (5.13.1)."""
    expected = {"en": 1 / 3, "fr": 2 / 3, "de": 2 / 3}
    for pairs in (many(6, 6), many(6000, 2)):
        assert pairs.translation_weights() == pytest.approx(expected)
        assert pairs.first_chosen() == pytest.approx([1 / 3, 1 / 3])
    one = many(1, 0)
    assert one.translation_weights() == pytest.approx({"en": 1 / 2, "fr": 1 / 2})
    assert one.first_chosen() == pytest.approx([0.5])
