"""Mega-batches grow as the thesis says, and fall apart into the mini-batches they were made of."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.megabatch import (
    MiniBatch,
    interleave,
    make_pool,
    mega_batch_size,
    split,
)


def test_the_size_by_hand() -> None:
    """1, and 1 more every 150 mini-batches, to 60 at mini-batch 59 x 150 = 8,850."""
    sizes = [mega_batch_size(step, 60, 150) for step in (0, 149, 150, 299, 300, 8849, 8850, 10**6)]
    assert sizes == [1, 1, 2, 2, 3, 59, 60, 60]
    assert {mega_batch_size(step, 60, 0) for step in (0, 1, 10**6)} == {60}  # without annealing
    assert {mega_batch_size(step, 1, 5) for step in range(100)} == {1}


def test_interleaving_by_hand() -> None:
    """Partners differ in the last bit: 6 with 7, 3 (a swapped pair) with 2."""
    assert interleave(np.array([6, 3, 0])).tolist() == [6, 7, 3, 2, 0, 1]


def test_a_pool_describes_its_sentences_in_their_order() -> None:
    """The order is the pool's, the numbers the corpus's: sentence 3, of language 9, is first."""
    language, group = np.array([5, 6, 7, 9], np.int16), np.array([50, 60, 70, 90])
    pool = make_pool(torch.zeros(4, 2), np.array([3, 2, 0, 1]), language, group)
    assert pool.language.tolist() == [9, 7, 5, 6]
    assert pool.group.tolist() == [90, 70, 50, 60]


def test_a_pool_knows_what_its_sentences_may_not_get() -> None:
    """Group 0 may not get 2, group 2 neither 0 nor 1; a row is filled up with -1."""
    never = Ragged.from_lists([[2], [], [0, 1]])
    group = np.array([0, 1, 2, 0])
    pool = make_pool(torch.zeros(3, 2), np.array([2, 3, 1]), np.zeros(4, np.int16), group, never)
    assert pool.never.tolist() == [[0, 1], [2, -1], [-1, -1]]


def test_splitting_by_hand() -> None:
    """Pairs (6, 7), (3, 2), (0, 1) in mini-batches of two; position 2 is sentence 3, and so on."""
    sentences, negatives = np.array([6, 7, 3, 2, 0, 1]), np.array([2, 5, -1, 0, 3, 1])
    one, two = split(sentences, negatives, 2)
    assert one.pairs.tolist() == [[6, 3], [7, 2]]
    assert one.negatives.tolist() == [[3, -1], [1, 6]]
    assert two.pairs.tolist() == [[0], [1]]
    assert two.negatives.tolist() == [[2], [7]]
    assert one.weight == two.weight == 1


def test_one_side_keeps_the_negatives_of_the_first_by_hand() -> None:
    sentences, negatives = np.array([6, 7, 3, 2, 0, 1]), np.array([2, 5, -1, 0, 3, 1])
    one, two = split(sentences, negatives, 2, sides=1)
    assert one.negatives.tolist() == [[3, -1]]
    assert one.sentences.tolist() == [[6, 3], [7, 2], [3, 3]]  # sentence 3 stands in for its own
    assert two.sentences.tolist() == [[0], [1], [2]]
    assert one.share(1, 2).sentences.tolist() == [[3], [2], [3]]


def random_batch(pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Interleaved sentences, and for each the position of its negative or -1."""
    random = np.random.default_rng(0)
    return interleave(random.permutation(2 * pairs)[:pairs] * 2), random.integers(
        -1, 2 * pairs, 2 * pairs
    )


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_splitting_loses_no_pair_and_no_negative(batch_size: int) -> None:
    sentences, negatives = random_batch(20)
    batches = list(split(sentences, negatives, batch_size))
    chosen = np.array([sentences[i] if i >= 0 else -1 for i in negatives])
    assert all(batch.pairs.shape[1] == batch_size for batch in batches[:-1])
    assert np.concatenate([b.pairs.T for b in batches]).reshape(-1).tolist() == sentences.tolist()
    assert np.concatenate([b.negatives.T for b in batches]).reshape(-1).tolist() == chosen.tolist()


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_the_shares_of_all_processes_are_the_batch_and_weigh_as_its_mean(world: int) -> None:
    """Each process takes the mean of its pairs; gradients are averaged over processes."""
    (batch,) = split(*random_batch(5), 5)
    shares = [batch.share(rank, world) for rank in range(world)]
    if world <= 5:
        for name in ("pairs", "negatives"):
            whole = np.concatenate([getattr(share, name) for share in shares], 1)
            assert whole.tolist() == getattr(batch, name).tolist()
    cost = np.random.default_rng(1).random(20)
    losses = [share.weight * cost[share.pairs[0]].mean() for share in shares]
    assert np.mean(losses) == pytest.approx(cost[batch.pairs[0]].mean())


def test_a_process_without_a_pair_takes_part_with_one_that_weighs_nothing() -> None:
    share = MiniBatch(np.array([[4], [5]]), np.array([[0], [1]])).share(1, 2)
    assert share.pairs.tolist() == [[4], [5]]
    assert share.weight == 0
