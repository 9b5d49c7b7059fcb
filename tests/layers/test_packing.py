"""Packed order: step after step, longest text first."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from paraphrastic_hf.layers.packing import Packing, padded_from_flat

LENGTHS = [[3, 1, 4, 4, 2], [1], [0, 2, 0, 3], [5, 5]]


def rows(lengths: list[int]) -> torch.Tensor:
    return torch.arange(sum(lengths), dtype=torch.float64).unsqueeze(1)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_packing_matches_torch_and_unpacking_inverts_it(lengths: list[int], backward: bool) -> None:
    """Backward order equals the order of reversed texts."""
    packing = Packing.of(torch.tensor(lengths), backward=backward)
    texts = [text for text in rows(lengths).split(lengths) if len(text)]
    texts = [text.flip(0) for text in texts] if backward else texts
    expected = pack_sequence(texts, enforce_sorted=False)
    packed = packing.pack(rows(lengths))
    assert torch.equal(packed, expected.data)
    assert packing.sizes == expected.batch_sizes.tolist()
    assert torch.equal(packing.unpack(packed), rows(lengths))


def test_no_tokens_give_one_empty_step() -> None:
    packing = Packing.of(torch.tensor([0, 0]))
    assert packing.sizes == [0]
    assert packing.pack(torch.zeros(0, 3)).shape == (0, 3)


def test_flat_vectors_are_padded() -> None:
    kept = torch.tensor([[True, False], [False, False], [True, True]])
    padded = padded_from_flat(torch.tensor([[1.0], [2.0], [3.0]]), kept)
    assert padded[..., 0].tolist() == [[1, 0], [0, 0], [2, 3]]
