"""Attention and transformer blocks against a slow loop; causality, caches and padding."""

import pytest
import torch
from torch.nn import functional as F
from transformers import DynamicCache

from paraphrastic_hf.layers.attention import Attention, attend
from paraphrastic_hf.layers.transformer import TransformerBlock, sinusoidal_positions

DIM, HEADS = 8, 2


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return Attention(DIM, HEADS).double()


@pytest.fixture
def states():
    return torch.randn(3, 5, DIM, generator=seeded(), dtype=torch.float64)


def slow(attention, states, memory, visible):
    """Attention head by head and state by state. `visible` is (batch, seq, keys)."""
    size = DIM // HEADS
    queries = attention.query(states)
    keys, values = attention.key_value(memory).split(DIM, -1)
    gathered = torch.zeros_like(states)
    for b in range(len(states)):
        for i in range(states.shape[1]):
            for head in range(HEADS):
                part = slice(head * size, (head + 1) * size)
                scores = keys[b, :, part] @ queries[b, i, part] / size**0.5
                seen = visible[b, i]
                weights = torch.softmax(scores[seen], 0)
                gathered[b, i, part] = weights @ values[b, seen, part]
    return attention.output(gathered)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_matches_the_slow_loop(is_causal, attention, states):
    """Includes left padding, as in generation. A state that attends to nothing spoils no other."""
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 1, 1]]).bool()
    seen = torch.ones(3, 5, 5, dtype=torch.bool)
    seen = seen.tril() if is_causal else seen
    found = attention(states, is_causal=is_causal)
    torch.testing.assert_close(found, slow(attention, states, states, seen))
    found = attention(states, mask=mask, is_causal=is_causal)
    assert found.isfinite().all()
    seen = seen & mask[:, None] | torch.eye(5, dtype=torch.bool)
    expected = slow(attention, states, states, seen)
    torch.testing.assert_close(found[mask], expected[mask])


@pytest.mark.parametrize("steps", [[5], [3, 2], [1, 1, 1, 1, 1], [2, 1, 2]])
def test_a_cache_does_not_change_the_result(steps, attention, states):
    cache, parts, at = DynamicCache(), [], 0
    for step in steps:
        parts.append(attention(states[:, at : at + step], is_causal=True, cache=cache))
        at += step
    torch.testing.assert_close(torch.cat(parts, 1), attention(states, is_causal=True))


@pytest.mark.parametrize("is_autocast", [False, True])
@pytest.mark.parametrize("case", ["everywhere", "mask", "causal"])
def test_training_in_bfloat16_matches_float32(case, is_autocast, monkeypatch):
    """Eight binary digits: within 2 %. A query without keys gets zeros."""
    parts = torch.randn(3, 2, HEADS, 6, DIM, generator=seeded()).bfloat16()
    mask = torch.rand(2, 1, 6, 6, generator=seeded(1)) > 0.4
    mask[0, 0, 2] = False
    given = {"everywhere": {}, "mask": {"mask": mask}, "causal": {"is_causal": True}}[case]

    def gathered_and_gradients(kind):
        copies = [part.to(kind).requires_grad_() for part in parts]
        gathered = attend(*copies, **given)
        return [gathered, *torch.autograd.grad(gathered, copies, parts[0].to(gathered.dtype))]

    exact = gathered_and_gradients(torch.float32)
    monkeypatch.delattr(F, "scaled_dot_product_attention")  # the fused kernel must not be used
    with torch.autocast("cpu", torch.bfloat16, enabled=is_autocast):
        found = gathered_and_gradients(torch.float32 if is_autocast else torch.bfloat16)
    assert found[0].dtype == torch.bfloat16
    for short, long in zip(found, exact, strict=True):
        torch.testing.assert_close(short.float(), long, atol=0.02, rtol=0.02)
    if case == "mask":
        assert not found[0][0, :, 2].any()


def test_a_numeric_mask_is_added_in_bfloat16_too():
    parts = torch.randn(3, 2, HEADS, 6, DIM, generator=seeded()).bfloat16()
    hidden = torch.zeros(2, 1, 6, 6)
    hidden[..., 4:] = -torch.inf
    found = attend(*parts.clone().requires_grad_(), mask=hidden.bfloat16())
    torch.testing.assert_close(
        found.float(), attend(*parts.float(), mask=hidden), atol=0.02, rtol=0
    )


def test_positions_by_hand():
    """Waves of frequency 1 and 1/10,000: position 2 is sin 2, sin 0.0002, cos 2, cos 0.0002."""
    found = sinusoidal_positions(torch.tensor([[0, 2]]), 4)
    angles = torch.tensor([2, 2e-4])
    expected = torch.stack([torch.tensor([0.0, 0, 1, 1]), torch.cat([angles.sin(), angles.cos()])])
    torch.testing.assert_close(found, expected[None])
    with pytest.raises(ValueError, match="dim"):
        Attention(8, 3)


@pytest.mark.parametrize("norm_first", [True, False])
def test_padding_does_not_change_a_block(norm_first):
    torch.manual_seed(0)
    block = TransformerBlock(DIM, HEADS, 16, dropout=0.5, norm_first=norm_first).eval()
    states = torch.randn(2, 6, DIM, generator=seeded())
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]]).bool()
    padded = block(states, mask=mask)[0, :4]
    if not norm_first:
        torch.testing.assert_close(padded.mean(-1), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(padded, block(states[:1, :4])[0], atol=1e-6, rtol=1e-5)
