"""Warnings of characters that a tokenizer drops."""

from __future__ import annotations

import pytest

from paraphrastic_hf.training.data import tokenizers
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.settings import TokenizerArguments

LINES = [f"the cat number {number} sleeps on the red wall" for number in range(10)] * 30


@pytest.mark.parametrize(
    ("settings", "is_named"),
    [({}, True), ({"character_coverage": 1.0}, False), ({"keep_unknown": True}, False)],
)
def test_frequently_dropped_characters_are_named(
    settings: dict[str, object], is_named: bool, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = {"vocab_size": 60, "character_coverage": 0.98, **settings}
    train_tokenizer(TokenizerArguments(kind="sentencepiece", **chosen), LINES, 1)  # type: ignore
    said = [each for each in caplog.records if "character_coverage" in each.getMessage()]
    assert len(said) == is_named
    assert all(set("0123456789") & set(str(each.args[1])) for each in said)


def test_a_regular_sample_of_lines_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "SAMPLE", 10)
    sample: list[str] = []
    lines = [str(number) for number in range(100)]
    assert list(tokenizers._sampled(iter(lines), sample)) == lines
    assert sample == lines[::16]
