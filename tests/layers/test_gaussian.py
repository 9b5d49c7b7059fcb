import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from paraphrastic_hf.layers.gaussian import (
    Gaussian,
    active_units,
    mutual_information,
    standard_log_density,
)


@pytest.fixture
def posterior():
    generator = torch.Generator().manual_seed(0)
    mean, log_variance = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    return Gaussian(mean, log_variance)


def test_kl_and_densities_match_torch(posterior):
    normal = Normal(posterior.mean, (0.5 * posterior.log_variance).exp())
    standard = Normal(torch.zeros(()).double(), torch.ones(()).double())
    expected = kl_divergence(normal, standard).sum(-1)
    torch.testing.assert_close(posterior.kl().double(), expected, atol=1e-5, rtol=1e-5)  # float32
    points = torch.ones_like(posterior.mean)
    torch.testing.assert_close(posterior.log_density(points), normal.log_prob(points).sum(-1))
    torch.testing.assert_close(standard_log_density(points), standard.log_prob(points).sum(-1))


def test_draws_have_the_right_moments_and_gradients():
    mean = torch.full((200_000, 1), 2.0, requires_grad=True)
    log_variance = torch.full((200_000, 1), math.log(9.0), requires_grad=True)
    torch.manual_seed(0)
    drawn = Gaussian(mean, log_variance).sample()
    assert drawn.mean().item() == pytest.approx(2, abs=0.03)  # four standard errors
    assert drawn.std().item() == pytest.approx(3, abs=0.03)
    drawn.sum().backward()
    assert torch.equal(mean.grad, torch.ones_like(mean))
    assert log_variance.grad.any()


def test_active_units_and_information_by_hand():
    """Information is 0 nats if the posterior collapsed, and ln n if n posteriors differ."""
    assert active_units(torch.tensor([[1.0, 0.0, 0.05], [-1.0, 0.0, -0.05]])) == 1
    torch.manual_seed(0)
    collapsed = Gaussian(torch.zeros(64, 2), torch.zeros(64, 2))
    assert mutual_information(collapsed) == pytest.approx(0, abs=1e-5)
    apart = Gaussian(100 * torch.arange(64.0)[:, None], torch.zeros(64, 1))
    assert mutual_information(apart) == pytest.approx(math.log(64), abs=1e-4)
