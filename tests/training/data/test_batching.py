"""Steps of about equally many tokens, in batches of similar lengths."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.training.data.batching import batches_by_length, plan_steps

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), max_size=80)


def padded(batch: np.ndarray, lengths: np.ndarray) -> int:
    return int(len(batch) * lengths.reshape(len(lengths), -1)[batch].max(0).sum())


def made_lengths(pairs: int) -> np.ndarray:
    random = np.random.default_rng(0)
    first = random.geometric(0.07, pairs) + 2
    second = np.maximum(2, np.rint(first * random.normal(1.1, 0.2, pairs)))
    return np.stack([first, second], 1).astype(np.int64)


@given(LENGTHS, st.integers(1, 200), st.integers(1, 20), st.integers(1, 3), st.integers(0, 99))
def test_every_example_is_in_one_batch_within_the_limits(sides, tokens, examples, accumulate, seed):
    pairs = np.array(sides, np.int64).reshape(-1, 2)
    order = np.random.default_rng(seed).permutation(len(pairs))
    for lengths, group in ((pairs, None), (pairs[:, 0], None), (pairs, pairs[:, 0] % 3)):
        limits = {"batch_tokens": tokens, "batch_size": examples, "accumulate": accumulate}
        plan: list[Any] = plan_steps(order, lengths, **limits, group=group)
        place, total = 0, lengths if lengths.ndim == 1 else lengths.sum(1)
        for step in plan:
            count = sum(map(len, step))
            own, place = order[place : place + count], place + count
            assert sorted(np.concatenate(step)) == sorted(own)
            assert count == 1 or total[own].sum() <= accumulate * tokens
            assert count <= accumulate * examples
            for batch in step:
                assert len(batch) <= examples
                assert len(batch) == 1 or padded(batch, lengths) <= tokens
                assert group is None or len(set(group[batch])) == 1
        assert place == len(order)


def test_a_step_mixes_lengths_and_groups():
    lengths = made_lengths(5000)
    group = np.random.default_rng(1).integers(4, size=5000)
    order = np.random.default_rng(2).permutation(5000)
    plan = plan_steps(order, lengths, batch_tokens=2048, batch_size=999, accumulate=2, group=group)
    steps = [np.concatenate(step) for step in plan[:-1]]  # the last step can be small
    spread = np.mean([lengths[step, 0].std() for step in steps])
    assert spread > 0.9 * lengths[:, 0].std()
    assert all(len(set(group[step])) == 4 for step in steps)


def test_batches_by_length_have_little_padding():
    lengths = made_lengths(5000)
    for sides in (lengths, lengths[:, 0]):
        plan = batches_by_length(sides, max_tokens=1000 * sides.ndim, max_examples=500)
        assert sum(padded(batch, sides) for batch in plan) < 1.18 * sides.sum()
