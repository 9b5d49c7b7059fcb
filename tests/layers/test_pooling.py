import pytest
import torch

from paraphrastic_hf.layers.pooling import last_rows, masked_mean, max_rows, mean_rows, sum_rows
from tests import oracles


@pytest.mark.parametrize("kind", [torch.long, torch.bool])
def test_masked_mean_matches_the_slow_mean(kind):
    """The last row is fully masked and gives the zero vector."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(6, 5, 3, generator=generator, dtype=torch.float64)
    mask = torch.randint(2, (6, 5), generator=generator)
    mask[-1] = 0
    expected = [
        oracles.mean_of_rows(rows.tolist(), kept.nonzero()[:, 0].tolist())
        for rows, kept in zip(states, mask, strict=True)
    ]
    found = masked_mean(states, mask.to(kind))
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_a_masked_nan_affects_neither_result_nor_gradient():
    states = torch.ones(1, 3, 2)
    states[0, 1] = torch.nan
    states.requires_grad_()
    mean = masked_mean(states, torch.tensor([[1, 0, 1]]))
    mean.sum().backward()
    assert mean.tolist() == [[1.0, 1.0]]
    assert states.grad.tolist() == [[[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]]]


ROWS = torch.tensor([[1.0, 5.0], [3.0, 2.0], [-1.0, -2.0], [7.0, 7.0]])
LENGTHS = torch.tensor([2, 0, 1, 1])


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        (sum_rows, [[4, 7], [0, 0], [-1, -2], [7, 7]]),
        (mean_rows, [[2, 3.5], [0, 0], [-1, -2], [7, 7]]),
        (max_rows, [[3, 5], [0, 0], [-1, -2], [7, 7]]),
        (last_rows, [[3, 2], [0, 0], [-1, -2], [7, 7]]),
    ],
)
def test_flat_rows_are_pooled_by_text_by_hand(pool, expected):
    assert pool(ROWS, LENGTHS).tolist() == expected
    assert pool(ROWS[:0], torch.tensor([0, 0])).tolist() == [[0, 0], [0, 0]]
