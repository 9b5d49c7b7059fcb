"""Padding moves flat tokens into a padded tensor and back."""

from __future__ import annotations

import pytest
import torch

from paraphrastic_hf.layers.packing import Padding


@pytest.mark.parametrize("lengths", [[2, 0, 3], [3, 3], [1], [0, 0], []])
@pytest.mark.parametrize("more", [0, 2])
def test_padding_and_flattening_are_inverse(lengths: list[int], more: int) -> None:
    longest = max(lengths, default=0) + more
    padding = Padding.of(torch.tensor(lengths, dtype=torch.int64), None, longest if more else None)
    rows = torch.randn(sum(lengths), 4, requires_grad=True)
    padded = padding.pad(rows)
    expected = torch.zeros(len(lengths), longest, 4)
    for number, own in enumerate(rows.detach().split(lengths) if lengths else ()):
        expected[number, : len(own)] = own
    torch.testing.assert_close(padded.detach(), expected, rtol=0, atol=0)
    assert torch.equal(padding.flat(padded), rows)
    text = [number for number, length in enumerate(lengths) for _ in range(length)]
    assert padding.text.tolist() == text
    is_token = [[place < length for place in range(longest)] for length in lengths]
    mask = padding.mask
    assert all(map(all, is_token)) if mask is None else mask.tolist() == is_token
    padding.flat(padded).square().sum().backward()
    torch.testing.assert_close(rows.grad, 2 * rows.detach(), rtol=0, atol=0)


def test_padded_positions_have_no_gradient() -> None:
    padded = torch.randn(2, 3, 4, requires_grad=True)
    Padding.of(torch.tensor([1, 3])).flat(padded).sum().backward()
    assert padded.grad is not None
    assert padded.grad.sum(-1).tolist() == [[4, 0, 0], [4, 4, 4]]
