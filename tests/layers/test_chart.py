import numpy as np
import pytest

from paraphrastic_hf.predictors.parser import best_splits, bracketing


def every_bracketing(start, end):
    if end - start == 1:
        yield [(start, end)]
    for split in range(start + 1, end):
        for left in every_bracketing(start, split):
            for right in every_bracketing(split, end):
                yield [(start, end), *left, *right]


def total(scores, spans):
    return float(sum(scores[start, end] for start, end in spans))


@pytest.mark.parametrize("words", [1, 2, 3, 6])
def test_cky_finds_the_best_bracketing(words):
    scores = np.random.default_rng(words).normal(size=(1, words + 1, words + 1))
    splits, best = best_splits(scores.astype(np.float32))
    found = bracketing(splits[0], words)
    highest = max(total(scores[0], spans) for spans in every_bracketing(0, words))
    assert total(scores[0], found) == pytest.approx(highest, abs=1e-5)  # float32
    assert best[0, 0, words] == pytest.approx(highest, abs=1e-5)
    assert found in list(every_bracketing(0, words))


def test_sentences_of_a_batch_are_independent():
    scores = np.random.default_rng(0).normal(size=(3, 8, 8)).astype(np.float32)
    splits, _ = best_splits(scores)
    for row, words in enumerate((7, 3, 1)):
        alone, _ = best_splits(scores[row : row + 1, : words + 1, : words + 1])
        assert bracketing(splits[row], words) == bracketing(alone[0], words)


def test_a_sentence_of_500_words_is_parsed():
    spans = bracketing(best_splits(np.zeros((1, 501, 501), np.float32))[0][0], 500)
    assert len(spans) == 999
