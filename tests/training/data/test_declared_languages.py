"""Text in another language than declared gives a warning."""

import importlib.util
import logging
import re
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


@pytest.mark.parametrize(
    ("sources", "noticed"),
    [
        ([("en-fr", "en", "fr"), ("en-de", "en", "de")], []),
        ([("en-fr", "fr", "fr")], [r"\b1\b.*\bfr\b.*\ben\b"]),
        ([("en-fr", "fr", "en")], [r"languages: \[en, fr\]"]),  # the other order
        ([("en-fr", "en", "de")], [r"\b2\b.*\bde\b.*\bfr\b"]),  # another language
        ([("en-fr", "en", "fr"), ("en-fr", "eng", "fr")], [r"\beng\b"]),  # two codes for one
    ],
)
def test_text_in_another_language_gives_a_warning(sources, noticed, caplog):
    found = warnings(caplog, *(source(*each) for each in sources))
    assert len(found) == len(noticed)
    assert all(re.search(key, text) for key, text in zip(noticed, found, strict=True))


def test_scripts_without_spaces_and_from_right_to_left_are_distinguished():
    arabic = "القطة تنام على الجدار في الليل"
    texts = ["猫正在墙上睡觉，外面下着雨", "猫は壁の上で眠っています", arabic]
    assert languages_of(texts) == ["zh", "ja", "ar"]


def test_without_py3langid_the_extra_is_named(caplog, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with caplog.at_level(logging.INFO):
        warn_of_languages([source("en-fr", "fr", "en")], 1)
    assert "paraphrastic-hf[identify]" in caplog.text
