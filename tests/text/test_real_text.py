from __future__ import annotations

import os
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lines() -> list[str]:
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set")
    pairs = [
        pair
        for name in ("en-fr/tatoeba", "en-zh/tatoeba", "en-ar/tatoeba", "en-fr/python_docs")
        for pair in read_pairs(Path(root) / "train" / f"{name}.tsv.xz", max_pairs=2000)
    ]
    return [side for pair in pairs for side in pair]


@pytest.mark.parametrize("kind", ["sentencepiece", "word"])
def test_ids_equal_auto_tokenizer(kind: str, lines: list[str], tmp_path: Path) -> None:
    if kind == "sentencepiece":
        # half the lines and a low coverage, so that some characters are unknown
        subword = SubwordTokenizer.train(lines[::2], vocab_size=8000, character_coverage=0.98)
        subword.save(tmp_path)
        ours = subword.encode_batch(lines)
    else:
        word = WordTokenizer.train(lines[::2], vocab_size=5000)
        word.save(tmp_path)
        ours = word.encode_batch(lines)
    theirs = AutoTokenizer.from_pretrained(tmp_path)(lines)["input_ids"]
    differing = [line for i, line in enumerate(lines) if ours[i].tolist() != theirs[i]]
    assert differing == []
