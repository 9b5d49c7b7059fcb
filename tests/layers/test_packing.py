import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from paraphrastic_hf.layers.packing import Packing, Padding, padded_from_flat

LENGTHS = [[3, 1, 4, 4, 2], [1], [0, 2, 0, 3], [5, 5], [0, 0]]


def rows(lengths):
    return torch.arange(sum(lengths), dtype=torch.float64).unsqueeze(1)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_packing_matches_torch_and_unpacking_inverts_it(lengths, backward):
    """Backward order equals the order of reversed texts."""
    packing = Packing.of(torch.tensor(lengths), backward=backward)
    texts = [text for text in rows(lengths).split(lengths) if len(text)]
    texts = [text.flip(0) for text in texts] if backward else texts
    packed = packing.pack(rows(lengths))
    if texts:
        expected = pack_sequence(texts, enforce_sorted=False)
        assert torch.equal(packed, expected.data)
        assert packing.sizes == expected.batch_sizes.tolist()
    else:
        assert packing.sizes == [0]
    assert torch.equal(packing.unpack(packed), rows(lengths))


@pytest.mark.parametrize("lengths", [[2, 0, 3], [3, 3], [1], [0, 0], []])
@pytest.mark.parametrize("more", [0, 2])
def test_padding_and_flattening_are_inverse(lengths, more):
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
    kept = torch.tensor(is_token, dtype=torch.bool).reshape(len(lengths), longest)
    assert torch.equal(padded_from_flat(rows, kept), padded)
    mask = padding.mask
    assert all(map(all, is_token)) if mask is None else mask.tolist() == is_token
    padding.flat(padded).square().sum().backward()
    torch.testing.assert_close(rows.grad, 2 * rows.detach(), rtol=0, atol=0)
