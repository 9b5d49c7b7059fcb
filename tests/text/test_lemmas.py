"""Dictionary forms of English words."""

from __future__ import annotations

import sys

import pytest

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.text.overlap import lemmatize


def test_every_word_of_a_text_is_a_dictionary_form() -> None:
    pytest.importorskip("simplemma", reason="pip install 'paraphrastic-hf[lemmas]'")
    assert lemmatize(["cats", "went", "two dogs", "", "qwrtz"]) == [
        "cat",
        "go",
        "two dog",
        "",
        "qwrtz",
    ]


def test_without_simplemma_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(RecipeError, match=r"paraphrastic-hf\[lemmas\]"):
        lemmatize(["cats"])
