"""A model directory says which tokenizer it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.load import load_tokenizer


@pytest.mark.parametrize("kind", ["subword", "word", "char_ngram"])
def test_each_kind_comes_back_as_itself(
    kind: str, sentences: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    saved = request.getfixturevalue(kind)
    saved.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(saved)
    assert loaded.tokens() == saved.tokens()
    assert loaded.vocab_size == saved.vocab_size
    assert loaded.encode_batch(sentences).ids.tolist() == saved.encode_batch(sentences).ids.tolist()


def test_settings_come_back_too(tmp_path: Path) -> None:
    from paraphrastic_hf.text.word import WordTokenizer

    WordTokenizer(["The"], lowercase=False, keep_unknown=True).save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert loaded.encode_batch(["The ocelot the"])[0].tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    "content", [None, "", "[]", "{}", '{"kind": "magic"}', '{"kind": "word"}'], ids=str
)
def test_a_directory_without_a_tokenizer_of_ours_is_a_model_error(
    content: str | None, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "paraphrastic_tokenizer.json").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=tmp_path.name):
        load_tokenizer(tmp_path)


def test_a_missing_directory_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere"):
        load_tokenizer(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", None),
        ("tokenizer_config.json", "{}"),
        ("tokenizer_config.json", "{"),
        ("ngrams.json", '["a'),
    ],
)
def test_an_ngram_tokenizer_that_is_not_whole_is_a_model_error(
    name: str, content: str | None, char_ngram: Any, tmp_path: Path
) -> None:
    """Its defaults would cut text otherwise than it was trained on."""
    char_ngram.save(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match="no whole n-gram tokenizer"):
        load_tokenizer(tmp_path)
