"""Warnings of characters that a tokenizer drops."""

from __future__ import annotations

import pytest

from paraphrastic_hf.training.data import tokenizers
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.settings import TokenizerArguments

LINES = [f"the cat number {number} sleeps on the red wall" for number in range(10)] * 30


def settings(**more: object) -> TokenizerArguments:
    return TokenizerArguments(kind="sentencepiece", vocab_size=60, **more)  # type: ignore[arg-type]


def test_frequently_dropped_characters_are_named(caplog: pytest.LogCaptureFixture) -> None:
    train_tokenizer(settings(character_coverage=0.98), LINES, 1)
    (said,) = (each for each in caplog.records if "character_coverage" in each.getMessage())
    assert set("0123456789") & set(str(said.args[1]))  # type: ignore[index]


@pytest.mark.parametrize("more", [{"character_coverage": 1.0}, {"keep_unknown": True}])
def test_without_dropped_characters_there_is_no_warning(
    more: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    train_tokenizer(settings(**{"character_coverage": 0.98, **more}), LINES, 1)
    assert "character_coverage" not in caplog.text


def test_a_regular_sample_of_lines_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "SAMPLE", 10)
    sample: list[str] = []
    lines = [str(number) for number in range(100)]
    assert list(tokenizers._sampled(iter(lines), sample)) == lines
    assert sample == lines[::16]
