from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from sentence_transformers import SentenceTransformer

from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.metrics.scorer import length_counter
from paraphrastic_hf.text.normalize import normalize
from tests.metrics.conftest import averaging
from tests.texts import SENTENCES

TEXTS = [*SENTENCES, "", " ", "\0", "zzz ☃☃ qqq", "<unk> <pad>", "a"]


@pytest.mark.parametrize("kind", ["subword", "word", "char_ngram"])
def test_lengths_equal_a_slow_loop(kind: str, request: pytest.FixtureRequest) -> None:
    tokenizer: Any = request.getfixturevalue(kind)
    names = tokenizer.tokens()
    pieces = [[names[i] for i in tokenizer.encode_batch([text])[0]] for text in TEXTS]
    encoder = averaging(tokenizer)
    assert length_counter(encoder)(TEXTS).tolist() == [len(row) for row in pieces]
    characters = length_counter(encoder, "characters")(TEXTS)
    assert characters.tolist() == [len(" ".join(row)) for row in pieces]


def test_characters_are_counted_like_the_2019_release(saved: Path, encoder: Any) -> None:
    """Its evaluate.py takes `len` of sentencepiece's pieces joined by spaces."""
    released = sentencepiece.SentencePieceProcessor(str(saved / "spiece.model"))
    counts = [len(" ".join(released.EncodeAsPieces(normalize(text)))) for text in SENTENCES]
    assert length_counter(encoder, "characters")(SENTENCES).tolist() == counts


def test_stock_static_embeddings_have_equal_lengths(
    stock: SentenceTransformer, encoder: Any
) -> None:
    texts = [text for text in TEXTS if "☃" not in text and "\0" not in text]
    for unit in ("tokens", "characters"):
        assert length_counter(encoder, unit)([]).shape == length_counter(stock, unit)([]).shape
        own, other = (length_counter(model, unit)(texts) for model in (encoder, stock))
        np.testing.assert_array_equal(own, other)


def test_transformer_lengths_ignore_special_tokens_padding_and_truncation(
    transformer: SentenceTransformer,
) -> None:
    """`cats` is cat + ##s. `encode` sets padding and truncation on the tokenizer."""
    texts = ["the cats sleeps", "dog", "", "the cat " * 20]
    for _ in range(2):
        assert length_counter(transformer)(texts).tolist() == [4, 1, 0, 40]
        characters = length_counter(transformer, "characters")(texts[:3])
        assert characters.tolist() == [len("the cat ##s sleeps"), 3, 0]
        transformer.encode(texts)


def test_a_model_without_tokenizer_is_refused() -> None:
    with pytest.raises(ModelError):
        length_counter(object())
