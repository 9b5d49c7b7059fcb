"""Batches of about equally many tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.training.data.batching import plan_batches, plan_pair_batches

Plan = list[np.ndarray]


def plan_of(lengths: np.ndarray, seed: Any = 0, tokens: int = 1000, examples: int = 500) -> Plan:
    plan = plan_batches if lengths.ndim == 1 else plan_pair_batches
    random = np.random.default_rng(seed)
    return plan(lengths, max_tokens=tokens, max_examples=examples, random=random)


def padded(batch: np.ndarray, lengths: np.ndarray) -> int:
    return int(len(batch) * lengths.reshape(len(lengths), -1)[batch].max(0).sum())


@given(
    sides=st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80),
    tokens=st.integers(1, 200),
    examples=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_every_example_is_in_one_batch_within_the_budget(
    sides: list[tuple[int, int]], tokens: int, examples: int, seed: int
) -> None:
    pairs = np.array(sides, np.int64).reshape(-1, 2)
    for lengths in (pairs, pairs[:, 0]):
        plan, again = (plan_of(lengths, seed, tokens, examples) for _ in range(2))
        assert sorted(number for batch in plan for number in batch.tolist()) == [*range(len(pairs))]
        for batch in plan:
            assert len(batch) <= examples
            assert len(batch) == 1 or padded(batch, lengths) <= tokens
        assert all(np.array_equal(one, two) for one, two in zip(plan, again, strict=True))


@pytest.mark.parametrize(("sides", "most"), [(1, 1.25), (2, 1.18)])
def test_batches_have_little_padding_and_differ_between_epochs(sides: int, most: float) -> None:
    """Random batches of this size would have twice the tokens."""
    random = np.random.default_rng(0)
    first = random.geometric(0.07, 5000) + 2
    second = np.maximum(2, np.rint(first * random.normal(1.1, 0.2, 5000)))
    lengths = np.stack([first, second], 1).astype(np.int64)
    lengths = random.integers(5, 100, 2000) if sides == 1 else lengths
    plans = [plan_of(lengths, [1, epoch], 1000 * sides) for epoch in range(2)]
    assert sum(padded(batch, lengths) for batch in plans[0]) < most * lengths.sum()
    assert {tuple(sorted(b)) for b in plans[0]} != {tuple(sorted(b)) for b in plans[1]}
