"""Batches of pairs by a budget of tokens on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.training.pair_batches import plan_pair_batches


@pytest.fixture
def lengths() -> np.ndarray:
    random = np.random.default_rng(0)
    first = random.geometric(0.07, 5000) + 2
    second = np.maximum(2, np.rint(first * random.normal(1.1, 0.2, 5000)))
    return np.stack([first, second], 1).astype(np.int64)


def plan(lengths: np.ndarray, seed: int = 0, **options: int) -> list[np.ndarray]:
    settings = {"max_tokens": 2000, "max_examples": 500, **options}
    return plan_pair_batches(lengths, random=np.random.default_rng(seed), **settings)


def test_every_pair_is_in_one_batch_and_no_batch_is_too_large(lengths: np.ndarray) -> None:
    batches = plan(lengths)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= 500
        assert len(batch) == 1 or len(batch) * lengths[batch].max(0).sum() <= 2000


def test_little_of_a_batch_is_padding(lengths: np.ndarray) -> None:
    batches = plan(lengths)
    padded = sum(len(batch) * lengths[batch].max(0).sum() for batch in batches)
    assert lengths.sum() / padded > 0.85  # 0.96 with ten times as many pairs


def test_a_seed_gives_the_same_batches_and_another_others(lengths: np.ndarray) -> None:
    first, again, other = plan(lengths), plan(lengths), plan(lengths, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(
        len(a) == len(b) and np.array_equal(a, b) for a, b in zip(first, other, strict=False)
    )


def test_no_pairs_are_no_batches_and_a_long_pair_is_one_of_its_own() -> None:
    assert plan(np.empty((0, 2), np.int64)) == []
    lengths = np.array([[5000, 4000], [3, 3], [3, 4]])
    assert [0] in [batch.tolist() for batch in plan(lengths)]
