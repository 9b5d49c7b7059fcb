"""Expected cost of a list of candidate translations, mixed with their reference's likelihood
(thesis, 7.3; Shen et al., 2016; Edunov et al., 2018).

    risk of a list  =  sum over its candidates u of cost(t, u) p(u | x) / sum over u' of p(u' | x)
    loss            =  gamma * likelihood  +  (1 - gamma) * risk

Tensors alone: where candidates come from is in `training/minimum_risk/candidates.py`, what they
cost in `metrics/costs.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

PROBABILITIES = ("sequence", "token", "released")


def list_scores(log_probabilities: Tensor, lengths: Tensor, kind: str = "sequence") -> Tensor:
    """Say by what the candidates of a list share their probability: a softmax of these scores.

    `sequence` is thesis 7.3: the logarithm of a candidate's whole probability. `token` is its mean
    over the tokens, by which lists of unequal lengths compare. `released` is the exponential of
    that mean, as the code of 2019 has it, which makes all candidates nearly alike.

    Args:
        log_probabilities: Sum over the tokens of each candidate, any shape, in nats, 0 or less.
        lengths: Tokens of each candidate, shape given above, at least 1; its end is one.
        kind: One of `PROBABILITIES`.

    Returns:
        Scores in the shape given above.

    Raises:
        ValueError: The kind is none of these.
    """
    if kind not in PROBABILITIES:
        raise ValueError(f"kind must be one of {', '.join(PROBABILITIES)}, got {kind!r}")
    if kind == "sequence":
        return log_probabilities
    mean = log_probabilities / lengths.clamp(min=1)
    return mean.exp() if kind == "released" else mean


def expected_cost(scores: Tensor, costs: Tensor, is_candidate: Tensor | None = None) -> Tensor:
    """Compute the expected cost of each list (thesis, 7.3), where softmax(scores) are shares.

    The gradient of a score is its candidate's share times what the candidate costs above the
    expectation; where all candidates of a list cost the same it is exactly 0.

    Args:
        scores: What `list_scores` gives for each candidate, (lists, candidates).
        costs: The cost of each candidate, (lists, candidates), finite; no gradient goes there.
        is_candidate: Which places of the shorter lists are filled, (lists, candidates); all if
            None.

    Returns:
        The expected cost of each list, (lists,); 0 for a list without a candidate.

    Raises:
        ValueError: The shapes differ, or the cost of a candidate is NaN or infinite.

    Example:
        >>> expected_cost(torch.tensor([[0.75, 0.25]]).log(), torch.tensor([[0.0, 1.0]]))
        tensor([0.2500])
    """
    if is_candidate is None:
        is_candidate = torch.ones_like(costs, dtype=torch.bool)
    if scores.shape != costs.shape or costs.shape != is_candidate.shape or costs.ndim != 2:
        raise ValueError(
            "scores, costs and is_candidate must have one shape (lists, candidates), got "
            f"{tuple(scores.shape)}, {tuple(costs.shape)} and {tuple(is_candidate.shape)}"
        )
    bad = torch.nonzero(~costs.isfinite() & is_candidate)
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ValueError(
            f"candidate {place[1]} of list {place[0]} costs {costs[place].item()}; every cost must "
            "be a finite number"
        )
    # what all candidates cost at least is taken out first: then rounding leaves no gradient where
    # they cost the same
    least = costs.masked_fill(~is_candidate, torch.inf).amin(1, keepdim=True)
    least = torch.where(least.isfinite(), least, torch.zeros_like(least)).detach()
    above = (costs.detach() - least).masked_fill(~is_candidate, 0.0)
    lowest = torch.finfo(scores.dtype).min
    shares = scores.masked_fill(~is_candidate, lowest).softmax(1)
    return least[:, 0] + (shares * above).sum(1)


def minimum_risk_parts(likelihood: Tensor, risk: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """Weigh the two terms of the loss; their sum is what is minimized (thesis, 7.3).

    Args:
        likelihood: Smoothed cross-entropy of the reference, a mean over tokens, scalar, in nats.
        risk: Expected cost, a mean over lists, scalar.
        gamma: Share of the likelihood, 0 to 1; the thesis chooses among 0.2, 0.3 and 0.4.

    Returns:
        Both terms with their weights, scalars.

    Raises:
        ValueError: Gamma is not between 0 and 1.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma must be from 0 to 1, got {gamma}")
    return gamma * likelihood, (1 - gamma) * risk
