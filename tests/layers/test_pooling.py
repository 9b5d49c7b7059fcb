import pytest
import torch

from paraphrastic_hf.layers.pooling import last_rows, max_rows, mean_rows, sum_rows

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
