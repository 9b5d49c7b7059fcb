"""Text in another language than declared is noticed."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

import pytest

from paraphrastic_hf.text.language_id import languages_of
from paraphrastic_hf.training.data.declared_languages import warn_of_languages
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.engine.recipe import SourceArguments

FOLDER = Path(__file__).parents[3] / "recipes" / "default"


def source(name: str, *languages: str) -> SourcePairs:
    rows = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [tuple(row.split("\t")) for row in rows]
    return SourcePairs(SourceArguments(path=name, languages=list(languages)), pairs)  # type: ignore[arg-type]


def warnings(caplog: pytest.LogCaptureFixture, *sources: SourcePairs) -> list[str]:
    with caplog.at_level(logging.WARNING):
        warn_of_languages(sources, 1)
    return [record.getMessage() for record in caplog.records]


def test_text_as_declared_is_no_matter(caplog: pytest.LogCaptureFixture) -> None:
    assert warnings(caplog, source("en-fr", "en", "fr"), source("en-de", "en", "de")) == []


def test_sides_in_the_other_order_are_noticed(caplog: pytest.LogCaptureFixture) -> None:
    (found,) = warnings(caplog, source("en-fr", "fr", "en"))
    assert "en-fr is declared fr, en and looks like en, fr" in found
    assert "write languages: [en, fr]" in found


def test_another_language_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    (found,) = warnings(caplog, source("en-fr", "en", "de"))
    assert "side 2 of en-fr is declared de and looks like fr" in found


def test_two_codes_for_one_language_are_noticed(caplog: pytest.LogCaptureFixture) -> None:
    (found,) = warnings(caplog, source("en-fr", "en", "fr"), source("en-fr", "eng", "fr"))
    assert "en and eng look like one language, en" in found


def test_scripts_without_spaces_and_from_right_to_left_are_told_apart() -> None:
    texts = [
        "猫正在墙上睡觉，外面下着雨",
        "猫は壁の上で眠っています",
        "القطة تنام على الجدار في الليل",
    ]
    assert languages_of(texts) == ["zh", "ja", "ar"]


def test_without_the_package_nothing_is_looked_at(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with caplog.at_level(logging.INFO):
        warn_of_languages([source("en-fr", "fr", "en")], 1)
    assert "pip install 'paraphrastic-hf[identify]'" in caplog.text
