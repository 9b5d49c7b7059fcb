import math

import numpy as np
import pytest
import torch

from paraphrastic_hf.metrics.semantic import PENALTIES, length_penalty, sim, simile
from tests.oracles import cosine

HYPOTHESES, REFERENCES = np.array([4, 2, 6, 0, 4, 0]), np.array([4, 4, 4, 4, 0, 0])
BY_HAND = {  # LP of 7.2.1: 1 - 4/2 = -1, 1 - 6/4 = -1/2, and 0 if only one side is empty
    "both": [1.0, math.exp(-1), math.exp(-0.5), 0.0, 0.0, 1.0],
    "brevity": [1.0, math.exp(-1), 1.0, 0.0, 1.0, 1.0],
    "excess": [1.0, 1.0, math.exp(-0.5), 1.0, 0.0, 1.0],
    "none": [1.0] * 6,
}


def random_vectors(seed: int, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return tuple(generator.normal(size=(50, 7)).astype(dtype) for _ in range(2))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sim_equals_a_slow_loop_in_numpy_and_torch(dtype):
    first, second = random_vectors(1, dtype)
    slow = [cosine(a.tolist(), b.tolist()) for a, b in zip(first, second, strict=True)]
    fast = sim(first, second)
    assert fast.dtype == np.float64
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-14)  # both in double precision
    tensors = sim(torch.from_numpy(first), torch.from_numpy(second))
    assert isinstance(tensors, torch.Tensor)
    np.testing.assert_allclose(tensors.numpy(), fast, rtol=0, atol=1e-15)


def test_sim_is_symmetric_and_scale_invariant():
    first, second = random_vectors(3)
    np.testing.assert_array_equal(sim(first, second), sim(second, first))
    np.testing.assert_array_equal(sim(first * 4, second / 8), sim(first, second))
    assert sim(first[:0], second[:0]).shape == (0,)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_zero_denormal_and_huge_vectors_have_a_finite_sim(kind):
    """Pairs: zero and zero, zero and nonzero, smallest float32, largest, smallest and largest."""
    tiny, huge = np.float32(1e-45), np.finfo(np.float32).max
    first = np.array([[0, 0], [0, 0], [tiny, 0], [huge, huge], [tiny, tiny]], np.float32)
    second = np.array([[0, 0], [1, 2], [tiny, 0], [huge, huge], [huge, huge]], np.float32)
    if kind == "torch":
        values = sim(torch.from_numpy(first), torch.from_numpy(second)).numpy()
    else:
        values = sim(first, second)
    np.testing.assert_allclose(values, [0, 0, 1, 1, 1], rtol=1e-12)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_extreme_doubles_have_their_cosine(scale):
    first, second = np.array([[3.0, 4.0]]) * scale, np.array([[4.0, 3.0]]) * scale
    np.testing.assert_allclose(sim(first, second), [0.96], rtol=1e-12)


@pytest.mark.parametrize("kind", PENALTIES)
def test_every_penalty_by_hand(kind):
    penalty = length_penalty(HYPOTHESES, REFERENCES, kind)
    np.testing.assert_allclose(penalty, BY_HAND[kind], rtol=1e-15)
    tensors = [torch.from_numpy(each) for each in (HYPOTHESES, REFERENCES)]
    penalty = length_penalty(*tensors, kind)
    assert isinstance(penalty, torch.Tensor)
    # torch computes exp of integers in single precision.
    np.testing.assert_allclose(penalty.numpy(), BY_HAND[kind], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64, np.float32])
def test_lengths_may_be_of_any_number_type(dtype):
    penalty = length_penalty(HYPOTHESES.astype(dtype), REFERENCES.astype(dtype))
    np.testing.assert_allclose(penalty, BY_HAND["both"], rtol=1e-6)


def test_simile_by_hand():
    """LP = exp(-1), SIM = 0.8: exp(-1/4) x 0.8. With alpha 0 it is SIM, even for penalty 0."""
    sims, penalties = np.array([0.8, -0.2]), np.array([math.exp(-1), 0.0])
    np.testing.assert_allclose(simile(sims, penalties), [0.8 * math.exp(-0.25), 0], rtol=1e-15)
    np.testing.assert_array_equal(simile(sims, penalties, 0), sims)


def test_unequal_shapes_are_refused():
    with pytest.raises(ValueError, match="2, 3"):
        sim(np.zeros((2, 3)), np.zeros((1, 3)))
