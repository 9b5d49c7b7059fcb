"""Batches of about equally many tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.training.data.batching import plan_batches, plan_pair_batches


@given(
    lengths=st.lists(st.integers(1, 60), max_size=80),
    max_tokens=st.integers(1, 200),
    max_examples=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_every_text_is_in_one_batch_and_no_batch_is_beyond_the_budget(
    lengths: list[int], max_tokens: int, max_examples: int, seed: int
) -> None:
    array = np.array(lengths, np.int64)
    budget = {"max_tokens": max_tokens, "max_examples": max_examples}
    plan = plan_batches(array, **budget, random=np.random.default_rng(seed))
    assert sorted(number for batch in plan for number in batch.tolist()) == [*range(len(lengths))]
    for batch in plan:
        assert len(batch) <= max_examples
        assert len(batch) == 1 or len(batch) * array[batch].max() <= max_tokens
    again = plan_batches(array, **budget, random=np.random.default_rng(seed))
    assert all(np.array_equal(one, two) for one, two in zip(plan, again, strict=True))


def test_texts_of_like_length_are_together_and_epochs_differ() -> None:
    lengths = np.random.default_rng(0).integers(5, 100, 2000)
    plans = [
        plan_batches(
            lengths, max_tokens=1000, max_examples=500, random=np.random.default_rng([1, epoch])
        )
        for epoch in range(2)
    ]
    padded = sum(len(batch) * lengths[batch].max() for batch in plans[0])
    assert padded < 1.25 * lengths.sum()  # random batches of this size have twice the text
    assert {tuple(sorted(b)) for b in plans[0]} != {tuple(sorted(b)) for b in plans[1]}


@pytest.fixture
def pair_lengths() -> np.ndarray:
    random = np.random.default_rng(0)
    first = random.geometric(0.07, 5000) + 2
    second = np.maximum(2, np.rint(first * random.normal(1.1, 0.2, 5000)))
    return np.stack([first, second], 1).astype(np.int64)


def pair_plan(lengths: np.ndarray, seed: int = 0, **options: int) -> list[np.ndarray]:
    settings = {"max_tokens": 2000, "max_examples": 500, **options}
    return plan_pair_batches(lengths, random=np.random.default_rng(seed), **settings)


def test_every_pair_is_in_one_batch_and_no_batch_is_too_large(pair_lengths: np.ndarray) -> None:
    batches = pair_plan(pair_lengths)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pair_lengths)))
    for batch in batches:
        assert len(batch) <= 500
        assert len(batch) == 1 or len(batch) * pair_lengths[batch].max(0).sum() <= 2000


def test_little_of_a_batch_is_padding(pair_lengths: np.ndarray) -> None:
    batches = pair_plan(pair_lengths)
    padded = sum(len(batch) * pair_lengths[batch].max(0).sum() for batch in batches)
    assert pair_lengths.sum() / padded > 0.85  # 0.96 with ten times as many pairs


def test_a_seed_gives_the_same_batches_of_pairs_and_another_others(
    pair_lengths: np.ndarray,
) -> None:
    first, again, other = (
        pair_plan(pair_lengths),
        pair_plan(pair_lengths),
        pair_plan(pair_lengths, seed=1),
    )
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(
        len(a) == len(b) and np.array_equal(a, b) for a, b in zip(first, other, strict=False)
    )


def test_no_pairs_are_no_batches_and_a_long_pair_is_one_of_its_own() -> None:
    assert pair_plan(np.empty((0, 2), np.int64)) == []
    lengths = np.array([[5000, 4000], [3, 3], [3, 4]])
    assert [0] in [batch.tolist() for batch in pair_plan(lengths)]
