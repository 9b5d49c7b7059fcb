"""Ids of a mixture: the ids of each part, one part after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer


def test_by_hand() -> None:
    """Two words with their end mark are ids 2, 3 and 4. The trigrams are 7 and 8."""
    words = MarkedTokenizer(WordTokenizer(["the", "cat"]), "end")
    tokenizer = MixedTokenizer([words, CharNgramTokenizer(ngrams=[" ca", "at "])])
    rows = tokenizer.encode_batch(["the cat", "", "the", "cats"])
    assert [rows[i].tolist() for i in range(len(rows))] == [[2, 3, 4, 7, 8], [], [2, 4], [7]]
    assert tokenizer.vocab_size == 5 + 4
    assert tokenizer.tokens()[5:] == ["<pad>", "<unk>", " ca", "at "]
    assert (tokenizer.special.start, tokenizer.special.end) == ((), (4,))


def test_each_part_has_its_range_of_ids(
    sentences: list[str],
    word: WordTokenizer,
    subword: SubwordTokenizer,
    char_ngram: CharNgramTokenizer,
    tmp_path: Path,
) -> None:
    parts = [word, char_ngram, subword]
    MixedTokenizer(parts).save(tmp_path)
    mixed = load_tokenizer(tmp_path)
    assert isinstance(mixed, MixedTokenizer)
    assert [type(part) for part in mixed.parts] == [type(part) for part in parts]
    rows = mixed.encode_batch(sentences)
    for first, part in zip(mixed.first_ids, parts, strict=True):
        own = part.encode_batch(sentences)
        for row in range(len(sentences)):
            ids = rows[row] - first
            found = ids[(ids >= 0) & (ids < part.vocab_size)]
            assert found.tolist() == own[row].tolist()


def test_parts_that_treat_case_differently_are_refused() -> None:
    with pytest.raises(ValueError, match="lowercase"):
        MixedTokenizer([WordTokenizer(["a"]), WordTokenizer(["A"], lowercase=False)])
