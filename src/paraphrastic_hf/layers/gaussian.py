"""Gaussian latent variables with diagonal covariance (thesis, 5.5).

A posterior is a mean and the logarithm of a variance, both (batch, latent). The prior is N(0, I).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

ACTIVE_VARIANCE = 0.01  # inactive below this variance of the posterior mean (Burda et al., 2016)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian posteriors of one latent variable for a batch of sentences."""

    mean: Tensor  # (batch, latent)
    log_variance: Tensor  # (batch, latent), natural logarithm

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw z = mean + deviation * noise, (batch, latent), with gradients."""
        noise = torch.empty_like(self.mean).normal_(generator=generator)
        return self.mean + (0.5 * self.log_variance).exp() * noise

    def kl(self) -> Tensor:
        """Compute KL(posterior || N(0, I)) = 1/2 sum(mean^2 + var - 1 - ln var), (batch,)."""
        mean, log_variance = self.mean.float(), self.log_variance.float()
        return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1)

    def log_density(self, values: Tensor) -> Tensor:
        """Return the log density, (..., batch) nats, at points (..., batch, latent)."""
        squares = (values - self.mean).square() * (-self.log_variance).exp()
        return -0.5 * (squares + self.log_variance + math.log(2 * math.pi)).sum(-1)


def standard_log_density(values: Tensor) -> Tensor:
    """Return the log density of the prior N(0, I), (...,) nats, at points (..., latent)."""
    return -0.5 * (values.square() + math.log(2 * math.pi)).sum(-1)


def active_units(means: Tensor) -> int:
    """Count the latent dimensions whose posterior mean varies over a corpus (variance above 0.01).

    A count near 0 indicates posterior collapse (thesis, 5.9.2). `means` is (sentences, latent), of
    at least two sentences.
    """
    return int((means.float().var(0, unbiased=False) > ACTIVE_VARIANCE).sum())


def mutual_information(posteriors: Gaussian, generator: torch.Generator | None = None) -> float:
    """Estimate the mutual information between a latent variable and the sentence, in nats.

    The estimate is E[KL(q(z|x) || p(z))] - KL(q(z) || p(z)), with one draw per sentence. q(z) is
    the mixture of all given posteriors (Hoffman and Johnson, 2016; thesis, 5.9.2). A few hundred
    sentences suffice. The maximum is ln(number of sentences).
    """
    drawn = posteriors.sample(generator)
    pairwise = torch.stack(  # log density of each draw under each posterior, (draws, posteriors)
        [posteriors.log_density(draw.expand_as(drawn)) for draw in drawn]
    )
    own = pairwise.diagonal()
    mixture = pairwise.logsumexp(1) - math.log(len(drawn))
    return float((own - mixture).mean())
