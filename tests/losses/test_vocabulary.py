import numpy as np
import pytest
import torch

from paraphrastic_hf.losses.likelihood import cross_entropy_parts
from paraphrastic_hf.losses.vocabulary import draw_candidates

TARGETS = np.array([[3, 5], [5, 9]])


def test_candidates_hold_the_batch_and_weights_sum_to_the_vocabulary():
    found = draw_candidates(TARGETS, 100, 10, np.random.default_rng(0))
    ids = found.ids.tolist()
    assert ids == sorted(set(ids))
    assert {3, 5, 9} <= set(ids)
    assert len(ids) == 13
    assert found.weights.sum().item() == pytest.approx(100)
    assert found.weights[found.columns(torch.tensor([3, 5, 9]))].tolist() == [1, 1, 1]
    every = draw_candidates(TARGETS, 20, 1000, np.random.default_rng(0))
    assert (every.ids.tolist(), every.weights.tolist()) == (list(range(20)), [1.0] * 20)


def test_the_estimated_sum_is_unbiased():
    scores = torch.randn(200, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    random = np.random.default_rng(2)
    estimates = []
    for _ in range(3000):
        found = draw_candidates(TARGETS, 200, 20, random)
        estimates.append(float((found.weights * scores[found.ids].exp()).sum()))
    truth = float(scores.exp().sum())
    error = np.std(estimates) / len(estimates) ** 0.5
    assert abs(np.mean(estimates) - truth) < 4 * error


def test_the_weighted_gradient_matches_the_equation():
    torch.manual_seed(0)
    logits = torch.randn(5, 7, dtype=torch.float32, requires_grad=True)
    targets, weights = torch.tensor([0, 1, 2, 3, 6]), torch.rand(7) * 3 + 1
    right, everyone = cross_entropy_parts(logits, targets, 0.1, weights)
    (gradient,) = torch.autograd.grad(right + everyone, logits)
    log_total = (logits.exp() * weights).sum(1).log()
    plain = 0.9 * (log_total - logits[torch.arange(5), targets]).mean()
    plain = plain + 0.1 * (log_total - (logits * weights).sum(1) / weights.sum()).mean()
    (expected,) = torch.autograd.grad(plain, logits)
    torch.testing.assert_close(right + everyone, plain)
    torch.testing.assert_close(gradient, expected)
