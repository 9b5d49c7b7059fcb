"""Mega-batches and their mini-batches."""

import numpy as np
import pytest
import torch

from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.megabatch import (
    interleave,
    make_pool,
    mega_batch_size,
    split,
)


def test_the_size_by_hand():
    """The size grows by 1 every 150 steps, to 60 at step 59 x 150 = 8,850."""
    sizes = [mega_batch_size(step, 60, 150) for step in (0, 149, 150, 299, 300, 8849, 8850, 10**6)]
    assert sizes == [1, 1, 2, 2, 3, 59, 60, 60]
    assert {mega_batch_size(step, 60, 0) for step in (0, 1, 10**6)} == {60}  # without annealing
    assert {mega_batch_size(step, 1, 5) for step in range(100)} == {1}


def test_interleaving_by_hand():
    """Partners differ in the last bit: 6 with 7, 3 (a swapped pair) with 2."""
    assert interleave(np.array([6, 3, 0])).tolist() == [6, 7, 3, 2, 0, 1]


def test_a_pool_has_the_languages_and_groups_of_its_sentences():
    language, group = np.array([5, 6, 7, 9], np.int16), np.array([0, 1, 2, 0])
    never = Ragged.from_lists([[2], [], [0, 1]])
    pool = make_pool(torch.zeros(3, 2), np.array([2, 3, 1]), language, group, never)
    assert pool.language.tolist() == [7, 9, 6]
    assert pool.group.tolist() == [2, 0, 1]
    assert pool.never.tolist() == [[0, 1], [2, -1], [-1, -1]]


def test_splitting_by_hand():
    """Negatives are positions: position 2 is sentence 3."""
    sentences, negatives = np.array([6, 7, 3, 2, 0, 1]), np.array([2, 5, -1, 0, 3, 1])
    one, two = split(sentences, negatives, 2)
    assert one.pairs.tolist() == [[6, 3], [7, 2]]
    assert one.negatives.tolist() == [[3, -1], [1, 6]]
    assert two.pairs.tolist() == [[0], [1]]
    assert two.negatives.tolist() == [[2], [7]]
    assert one.weight == two.weight == 1
    one, two = split(sentences, negatives, 2, sides=1)
    assert one.negatives.tolist() == [[3, -1]]
    assert one.sentences.tolist() == [[6, 3], [7, 2], [3, 3]]  # 3 replaces its missing negative
    assert two.sentences.tolist() == [[0], [1], [2]]
    assert one.share(1, 2).sentences.tolist() == [[3], [2], [3]]


def random_batch(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return interleave(random.permutation(2 * pairs)[:pairs] * 2), random.integers(
        -1, 2 * pairs, 2 * pairs
    )


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_splitting_keeps_all_pairs_and_negatives(batch_size):
    sentences, negatives = random_batch(20)
    batches = list(split(sentences, negatives, batch_size))
    chosen = np.array([sentences[i] if i >= 0 else -1 for i in negatives])
    assert all(batch.pairs.shape[1] == batch_size for batch in batches[:-1])
    assert np.concatenate([b.pairs.T for b in batches]).reshape(-1).tolist() == sentences.tolist()
    assert np.concatenate([b.negatives.T for b in batches]).reshape(-1).tolist() == chosen.tolist()


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_the_shares_of_processes_add_up_to_the_batch_and_its_mean(world):
    (batch,) = split(*random_batch(5), 5)
    shares = [batch.share(rank, world) for rank in range(world)]
    if world <= 5:
        for name in ("pairs", "negatives"):
            whole = np.concatenate([getattr(share, name) for share in shares], 1)
            assert whole.tolist() == getattr(batch, name).tolist()
    cost = np.random.default_rng(1).random(20)
    losses = [share.weight * cost[share.pairs[0]].mean() for share in shares]
    assert np.mean(losses) == pytest.approx(cost[batch.pairs[0]].mean())
