"""Segmentation of ASCII words by the compiled table, compared with sentencepiece."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from paraphrastic_hf.text.normalize import SPACE_MARK
from paraphrastic_hf.text.subword import SubwordTokenizer

WordTable = pytest.importorskip("paraphrastic_hf.encoders.static._words").WordTable


def cut(model: tuple[list[str], np.ndarray, bool], words: list[str]) -> list[list[int]]:
    """Ids of words as the table segments them."""
    known = WordTable(lowercase=False)
    known.cut_with(*model)
    found = read(known, " ".join(words))
    assert list(found) == words
    return [ids or [] for ids in found.values()]


def read(known: WordTable, text: str) -> dict[str, list[int] | None]:
    """Words that a table lacks, with their ids."""
    block = known.block()
    rows, out = np.zeros((100_000, 1), np.float32), np.empty((1, 1), np.float32)
    block.mean([text], 0, 1, rows, out, False)
    return block.words()


SCORES: dict[str, Callable[[str, float], float]] = {
    "as trained": lambda piece, score: score,
    "all equal": lambda piece, score: -1.0,
    "every path equal": lambda piece, score: -float(len(piece)),
    "long pieces never": lambda piece, score: -float(len(piece) ** 2),
    "unknown beside free pieces": lambda piece, score: 0.0,
    "few values": lambda piece, score: -float(len(piece) % 3),
}


@pytest.mark.parametrize("keep_unknown", [False, True])
@pytest.mark.parametrize("scores", SCORES)
def test_ascii_words_are_segmented_like_sentencepiece(
    scores: str, keep_unknown: bool, subword: SubwordTokenizer
) -> None:
    proto = ModelProto.FromString(subword._model)
    for piece in proto.pieces:
        piece.score = SCORES[scores](piece.piece, piece.score)
    tokenizer = SubwordTokenizer(proto.SerializeToString(), keep_unknown=keep_unknown)
    random = np.random.default_rng(0)
    known = [piece.strip(SPACE_MARK) for piece in tokenizer.tokens()[2:] if piece.isascii()]
    parts = [*filter(None, known), *"etaoin srhld#{~", *map(chr, range(33, 127))]
    words = {"".join(random.choice(parts, size)) for size in range(1, 12) for _ in range(300)}
    words |= {"a" * 5000, "#" * 100, *map(chr, range(33, 127))}
    chosen = sorted({part for word in words for part in word.lower().split()})
    expected = [row.tolist() for row in tokenizer.encode_batch(chosen)]
    assert cut(tokenizer.unigram(), chosen) == expected


def test_other_words_are_left_to_the_tokenizer(subword: SubwordTokenizer) -> None:
    known = WordTable()
    known.cut_with(*subword.unigram())
    words = read(known, "the été the")
    assert list(words) == ["the", "été"]
    assert words["the"]
    assert words["été"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        (["a"], np.zeros(2, np.float32), True),
        (["a", "b"], np.zeros(1, np.float32), True),
        (["a"], np.zeros(1), True),
        (["a", 3], np.zeros(2, np.float32), True),
        (["a", "\ud800"], np.zeros(2, np.float32), True),
        (("a",), np.zeros(1, np.float32), True),
        (["a"], None, True),
    ],
)
def test_a_wrong_model_is_refused_and_the_previous_one_stays(
    wrong: tuple[object, ...], subword: SubwordTokenizer
) -> None:
    known = WordTable()
    known.cut_with(*subword.unigram())
    expected = read(known, "the cat")
    with pytest.raises((ValueError, TypeError)):
        known.cut_with(*wrong)
    assert read(known, "the cat") == expected


def test_odd_models_give_valid_ids() -> None:
    """No pieces, no mark, the empty piece, infinite and NaN scores, duplicate pieces."""
    for pieces in ([], ["", "", "a"], ["", "", SPACE_MARK], ["a", "a", "aa"], ["é", "a\0"]):
        for score in (0.0, -1e38, np.inf, -np.inf, np.nan):
            for keep_unknown in (False, True):
                model = (pieces, np.full(len(pieces), score, np.float32), keep_unknown)
                for ids in cut(model, ["a", "aaaa", "b", "abab"]):
                    assert all(0 <= i < max(2, len(pieces)) for i in ids)
