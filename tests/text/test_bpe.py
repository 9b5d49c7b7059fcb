import os
from itertools import pairwise
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.text.bpe import BytePairTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer

CODES = "#version: 0.2\nt h\nth e</w>\no l\nol d</w>\n"
TEXTS = ["The old thief .", "a cold day, the Ünd", ""]


def from_codes(folder: Path, text: str) -> BytePairTokenizer:
    path = folder / "bpe.codes"
    path.write_text(text, encoding="utf-8")
    return BytePairTokenizer.from_codes(path)


def by_hand(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Repeatedly merge the pair that comes first in the codes."""
    parts = [*word[:-1], word[-1] + "</w>"]
    while True:
        pairs = [pair for pair in pairwise(parts) if pair in merges]
        if not pairs:
            return parts
        best = min(pairs, key=merges.index)
        place = list(pairwise(parts)).index(best)
        parts[place : place + 2] = ["".join(best)]


def test_text_is_split_by_the_codes(tmp_path):
    tokenizer = from_codes(tmp_path, CODES)
    merges = [tuple(line.split()) for line in CODES.splitlines()[1:]]
    ids = tokenizer.encode_batch(TEXTS)
    found = [tokenizer.tokens()[number] for number in ids[0]]
    words = ["the", "old", "thief", "."]
    assert found == [part for word in words for part in by_hand(word, merges)]
    assert tokenizer.decode(ids[0]) == "the old thief ."
    assert len(ids[2]) == 0


def test_saved_tokenizers_load_with_stock_classes(tmp_path):
    tokenizer = MarkedTokenizer(from_codes(tmp_path, CODES), "end")
    tokenizer.save(tmp_path / "saved")
    stock = AutoTokenizer.from_pretrained(tmp_path / "saved")
    again = load_tokenizer(tmp_path / "saved")
    for text in TEXTS[:2]:
        ids = tokenizer.encode_batch([text])[0].tolist()
        assert stock(text)["input_ids"] == again.encode_batch([text])[0].tolist() == ids
        assert again.decode(ids) == tokenizer.decode(ids)
    assert again.vocab_size == tokenizer.vocab_size


@pytest.mark.parametrize("text", ["#version: 0.2\n", "t h e\n"])
def test_files_without_codes_are_refused(tmp_path, text):
    with pytest.raises(DataError):
        from_codes(tmp_path, text)
    with pytest.raises(DataError):
        BytePairTokenizer.from_codes(tmp_path / "nothing")


def test_the_released_codes_match_the_released_vocabulary():
    folder = Path(os.environ.get("PARAPHRASTIC_DATA", "nowhere")) / "scpn"
    if not (folder / "bpe.codes").exists():
        pytest.skip("PARAPHRASTIC_DATA does not contain the released codes")
    tokenizer = BytePairTokenizer.from_codes(folder / "bpe.codes")
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    known = set(tokenizer.tokens())
    whole = [line.split(" ")[0] for line in lines[:2000]]
    words = [word for word in whole if not word.endswith("@@") and word.isalpha()]
    assert sum(f"{word}</w>" in known for word in words) > 0.99 * len(words)
    alone = sum(len(ids) == 1 for ids in tokenizer.encode_batch(words))
    assert alone > 0.99 * len(words)
