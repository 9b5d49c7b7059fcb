import pytest
import torch
from torch.nn import functional as F

from paraphrastic_hf.losses import likelihood
from paraphrastic_hf.losses.likelihood import log_likelihoods


@pytest.mark.parametrize("block", [1, 40, 100, 2**18])
def test_values_and_gradients_match_torch(block, monkeypatch):
    """Blocks of one token, of two with one left over, and of all."""
    monkeypatch.setattr(likelihood, "BLOCK", block)
    torch.manual_seed(0)
    scores = (30 * torch.randn(7, 20)).requires_grad_()
    targets, weights = torch.randint(20, (7,)), torch.randn(7)
    found = log_likelihoods(scores, targets)
    expected = -F.cross_entropy(scores, targets, reduction="none")
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-6)
    (ours,) = torch.autograd.grad((found * weights).sum(), scores)
    (theirs,) = torch.autograd.grad((expected * weights).sum(), scores)
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-6)


def test_a_second_backward_pass_is_refused():
    """The first one overwrote the probabilities."""
    for tokens in (2, 0):
        scores = torch.randn(tokens, 3, requires_grad=True)
        total = log_likelihoods(scores, torch.zeros(tokens, dtype=torch.long)).sum()
        total.backward(retain_graph=True)
        with pytest.raises(RuntimeError):
            total.backward()
