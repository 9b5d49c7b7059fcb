from itertools import product

import numpy as np
import pytest

from paraphrastic_hf.metrics.corpus_bleu import bleu_counts, bleu_of_counts, compare_bleu

BLEU = pytest.importorskip("sacrebleu.metrics").BLEU
WORDS = ["the", "a", "cat", "dog", "sees", "hears", "small", "old", "near", "house", "sleeps"]


def made(seed: int, segments: int, share: float, references: list[str]) -> list[str]:
    """Replace a share of the references' words."""
    random = np.random.default_rng(seed)

    def changed(word: str) -> str:
        return str(random.choice(WORDS)) if random.random() < share else word

    return [" ".join(map(changed, line.split())) for line in references[:segments]]


def made_references(segments: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, 15))) for _ in range(segments)]


def test_an_empty_hypothesis_has_bleu_0():
    assert bleu_counts([""], [["a b"]]).tolist() == [[0, 2, 0, 0, 0, 0, 0, 0, 0, 0]]
    assert bleu_of_counts(np.zeros(10)) == 0


@pytest.mark.parametrize("segments", [1, 2, 30])
def test_bleu_of_summed_counts_equals_sacrebleus(segments):
    references = made_references(segments)
    others = made(5, segments, 0.3, references)
    hypotheses = made(1, segments, 0.4, references)
    lists = [list(pair) for pair in zip(references, others, strict=True)]
    expected = BLEU().corpus_score(hypotheses, [references, others]).score
    assert bleu_of_counts(bleu_counts(hypotheses, lists).sum(0)) == pytest.approx(expected)


def test_intervals_equal_those_of_resampled_texts():
    """Oracle: sacrebleu scores the lines of each resample."""
    segments, samples = 12, 60
    references = made_references(segments, seed=2)
    systems = [made(seed, segments, 0.4, references) for seed in (3, 4)]
    found = compare_bleu(list(zip("ab", systems, strict=True)), references, samples=samples, seed=7)
    drawn = np.random.default_rng(7).integers(segments, size=(samples, segments))
    for system, each in zip(systems, found, strict=True):
        assert each.bleu.mean == pytest.approx(BLEU().corpus_score(system, [references]).score)
        scores = [
            BLEU().corpus_score([system[i] for i in row], [[references[i] for i in row]]).score
            for row in drawn
        ]
        low, high = np.quantile(scores, [0.025, 0.975])
        assert (each.bleu.low, each.bleu.high) == (pytest.approx(low), pytest.approx(high))


def test_p_equals_the_share_over_all_exchanged_texts():
    """Oracle: sacrebleu scores both corpora after each exchange."""
    segments = 6
    references = made_references(segments, seed=2)
    systems = [made(seed, segments, 0.4, references) for seed in (3, 4)]
    found = compare_bleu(list(zip("ab", systems, strict=True)), references)
    assert found[0].p_value is None
    differences = []
    for exchanged in product((0, 1), repeat=segments):
        pair = [[systems[side ^ x][i] for i, x in enumerate(exchanged)] for side in (0, 1)]
        first, second = (BLEU().corpus_score(each, [references]).score for each in pair)
        differences.append(first - second)
    assert found[1].p_value == np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError):  # noqa: PT011
        compare_bleu([("old", ["a", "b"]), ("new", ["a"])], ["a", "b"])
