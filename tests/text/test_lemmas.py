from __future__ import annotations

import sys

import pytest

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.text.overlap import lemmatize


def test_words_are_lemmatized() -> None:
    pytest.importorskip("simplemma", reason="pip install 'paraphrastic-hf[lemmas]'")
    found = lemmatize(["cats", "went", "two dogs", "", "qwrtz"])
    assert found == ["cat", "go", "two dog", "", "qwrtz"]


def test_a_missing_simplemma_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(RecipeError):
        lemmatize(["cats"])
