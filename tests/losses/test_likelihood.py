import pytest
import torch
from torch.nn import functional as F

from paraphrastic_hf.losses import likelihood
from paraphrastic_hf.losses.likelihood import cross_entropy_parts, log_likelihoods


@pytest.mark.parametrize(("block", "tokens"), [(1, 7), (40, 7), (100, 7), (2**18, 7), (40, 0)])
def test_values_and_gradients_match_torch(block, tokens, monkeypatch):
    """Blocks of one token, of two with one left over, and of all. A batch may be empty."""
    monkeypatch.setattr(likelihood, "BLOCK", block)
    torch.manual_seed(0)
    scores = (30 * torch.randn(tokens, 20)).requires_grad_()
    targets, weights = torch.randint(20, (tokens,)), torch.randn(tokens)
    found = log_likelihoods(scores, targets)
    expected = -F.cross_entropy(scores, targets, reduction="none")
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    (ours,) = torch.autograd.grad((found * weights).sum(), scores)
    (theirs,) = torch.autograd.grad((expected * weights).sum(), scores)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


def test_a_second_backward_pass_is_refused():
    """The first one overwrote the probabilities."""
    scores = torch.randn(2, 3, requires_grad=True)
    total = log_likelihoods(scores, torch.zeros(2, dtype=torch.long)).sum()
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError):
        total.backward()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_both_parts_match_torch(share):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, 5, generator=generator, requires_grad=True)
    targets = torch.randint(5, (7,), generator=generator)
    right, everyone = cross_entropy_parts(logits, targets, share)
    total = right if everyone is None else right + everyone
    torch.testing.assert_close(right, (1 - share) * F.cross_entropy(logits, targets))
    expected = F.cross_entropy(logits, targets, label_smoothing=share)
    torch.testing.assert_close(total, expected)
    (found,) = torch.autograd.grad(total, logits)
    torch.testing.assert_close(found, torch.autograd.grad(expected, logits)[0])


@pytest.mark.parametrize("block", [1, 11, 500_000])
def test_block_size_and_bfloat16_do_not_change_the_result(block, monkeypatch):
    """Computed in float32. In bfloat16 only the gradient is rounded."""
    monkeypatch.setattr(likelihood, "BLOCK", block)
    generator = torch.Generator().manual_seed(0)
    given = (4 * torch.randn(7, 5, generator=generator)).bfloat16()
    given[0, 2] = 12  # a nearly certain target, with a tiny gradient
    targets = torch.tensor([2, 0, 1, 4, 3, 0, 2])
    expected = F.cross_entropy(
        exact := given.float().requires_grad_(), targets, label_smoothing=0.001
    )
    (wanted,) = torch.autograd.grad(expected, exact)
    for kind, digits in ((torch.bfloat16, 0.005), (torch.float32, 1e-5)):
        logits = given.to(kind).requires_grad_()
        right, everyone = cross_entropy_parts(logits, targets, 0.001)
        torch.testing.assert_close(right + everyone, expected)
        (found,) = torch.autograd.grad(right + everyone, logits)
        torch.testing.assert_close(found.float(), wanted, rtol=digits, atol=1e-6)
