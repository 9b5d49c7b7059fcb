"""Batches of about equally many tokens."""

from __future__ import annotations

import numpy as np
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


@given(
    lengths=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80),
    max_tokens=st.integers(1, 200),
    seed=st.integers(0, 99),
)
def test_every_pair_is_in_one_batch_and_no_batch_is_beyond_the_budget(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int
) -> None:
    array = np.array(lengths, np.int64).reshape(-1, 2)
    plan, again = (
        plan_pair_batches(
            array, max_tokens=max_tokens, max_examples=20, random=np.random.default_rng(seed)
        )
        for _ in range(2)
    )
    assert sorted(number for batch in plan for number in batch.tolist()) == [*range(len(lengths))]
    for batch in plan:
        assert len(batch) <= 20
        assert len(batch) == 1 or len(batch) * array[batch].max(0).sum() <= max_tokens
    assert all(np.array_equal(one, two) for one, two in zip(plan, again, strict=True))


def test_little_of_a_batch_of_pairs_is_padding_and_seeds_differ() -> None:
    random = np.random.default_rng(0)
    first = random.geometric(0.07, 5000) + 2
    second = np.maximum(2, np.rint(first * random.normal(1.1, 0.2, 5000)))
    lengths = np.stack([first, second], 1).astype(np.int64)
    plans = [
        plan_pair_batches(
            lengths, max_tokens=2000, max_examples=500, random=np.random.default_rng(seed)
        )
        for seed in range(2)
    ]
    padded = sum(len(batch) * lengths[batch].max(0).sum() for batch in plans[0])
    assert lengths.sum() / padded > 0.85  # 0.96 with ten times as many pairs
    assert {tuple(batch) for batch in plans[0]} != {tuple(batch) for batch in plans[1]}
