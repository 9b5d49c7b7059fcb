"""Row-sparse gradients equal dense ones and hold each used row once."""

import pytest
import torch
from torch.nn import functional as F

from paraphrastic_hf.layers.embedding import bag_rows, lookup, weighted_bag

IDS = torch.tensor([4, 1, 4, 4, 0, 2, 1])
LENGTHS = torch.tensor([3, 0, 1, 3])  # texts 4 1 4, nothing, 4, and 0 2 1


def random_table():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(6, 3, generator=generator, dtype=torch.float64).requires_grad_()


def random_weights():
    return torch.rand(7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def used(layer, table, is_dense=False):
    """The rows or their weighted sums. `is_dense` uses torch's own lookup with a dense gradient."""
    if layer == "lookup":
        return F.embedding(IDS, table) if is_dense else lookup(table, IDS)
    if not is_dense:
        return weighted_bag(table, IDS, LENGTHS, random_weights())
    rows = F.embedding(IDS, table) * random_weights()[:, None]
    return torch.stack([part.sum(0) for part in rows.split(LENGTHS.tolist())])


@pytest.mark.parametrize("layer", ["bag", "lookup"])
def test_rows_sums_and_gradients_match_torch(layer):
    """In float64, where the two orders of adding differ only by rounding."""
    sparse, dense = random_table(), random_table()
    found, expected = used(layer, sparse), used(layer, dense, is_dense=True)
    torch.testing.assert_close(found, expected)
    upstream = torch.randn(found.shape, generator=torch.Generator().manual_seed(2)).double()
    found.backward(upstream)
    expected.backward(upstream)
    assert sparse.grad._indices().tolist() == [[0, 1, 2, 4]]  # as written, before any coalescing
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad)
    lookup(sparse, IDS[:2]).sum().backward()  # a second use
    F.embedding(IDS[:2], dense).sum().backward()
    torch.testing.assert_close(sparse.grad.to_dense(), dense.grad)


@pytest.mark.parametrize("layer", ["bag", "lookup"])
def test_a_noncontiguous_gradient_is_read_correctly(layer):
    """Autograd passes expanded and transposed gradients too."""
    upstream = torch.arange(12.0 if layer == "bag" else 21.0, dtype=torch.float64).reshape(3, -1)
    found = []
    for grad in (upstream.T, upstream.T.contiguous()):
        table = random_table()
        used(layer, table).backward(grad)
        found.append(table.grad.to_dense())
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("texts", [0, 3])
def test_without_ids_vectors_and_gradients_are_zero(texts):
    table, none = random_table(), torch.zeros(0, dtype=torch.long)
    sums = weighted_bag(table, none, torch.zeros(texts, dtype=torch.long), torch.zeros(0))
    assert sums.tolist() == [[0.0] * 3] * texts
    sums.sum().backward()
    assert table.grad.to_dense().abs().max() == 0


def test_bag_rows_sums_rows_with_the_correct_gradient():
    table = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    table.requires_grad_()
    ids = torch.tensor([[0, 2], [2, 2], [4, 0], [1, 2]])
    torch.testing.assert_close(bag_rows(table, ids), table[ids].sum(1))
    assert torch.autograd.gradcheck(lambda rows: bag_rows(rows, ids), (table,))
