"""The pull toward the initial table, on the rows of a batch."""

from __future__ import annotations

import torch

from paraphrastic_hf.losses.regularization import distance_to_start


def test_by_hand() -> None:
    """Rows 0 and 2 moved by (1, 0) and (0, 2): 1 + 4. Row 1 moved too, but is not in the batch."""
    start = torch.zeros(3, 2)
    table = torch.tensor([[1.0, 0.0], [9.0, 9.0], [0.0, 2.0]])
    assert distance_to_start(table, start, torch.tensor([[2, 0], [0, 0]])).item() == 5


def test_a_repeated_id_counts_once() -> None:
    start, table = torch.zeros(3, 2), torch.ones(3, 2)
    once = distance_to_start(table, start, torch.tensor([1, 2]))
    assert distance_to_start(table, start, torch.tensor([1, 2, 1, 1, 2])) == once


def test_the_gradient_is_twice_the_way_moved_on_used_rows_and_0_elsewhere() -> None:
    generator = torch.Generator().manual_seed(0)
    start, table = torch.randn(2, 5, 3, generator=generator)
    table.requires_grad_()
    distance_to_start(table, start, torch.tensor([3, 1, 3])).backward()
    expected = torch.zeros(5, 3)
    expected[[1, 3]] = 2 * (table.detach() - start)[[1, 3]]
    torch.testing.assert_close(table.grad.to_dense(), expected)


def test_a_table_that_has_not_moved_costs_nothing() -> None:
    table = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert distance_to_start(table, table.clone(), torch.arange(5)).item() == 0
