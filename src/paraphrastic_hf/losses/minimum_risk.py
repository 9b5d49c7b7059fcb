"""Minimum risk: the expected cost of a list of candidate translations, mixed with the likelihood
of the reference (thesis, 7.3; Shen et al., 2016; Edunov et al., 2018).

    risk of a list  =  sum over its candidates u of cost(t, u) p(u | x) / sum over u' of p(u' | x)
    loss            =  gamma * likelihood  +  (1 - gamma) * risk

Candidates come from `training/minimum_risk/candidates.py`, costs from `metrics/costs.py`.
"""

import torch
from torch import Tensor

PROBABILITIES = ("sequence", "token", "released")


def list_scores(log_probabilities: Tensor, lengths: Tensor, kind: str = "sequence") -> Tensor:
    """Score candidate translations, in the shape given. A softmax of a list gives probabilities.

    `sequence` (thesis, 7.3) is the log probability of the candidate. `token` divides it by the
    number of tokens, which makes candidates of different lengths comparable. `released` is the
    exponential of `token`, as in the code of 2019. It makes the distribution nearly uniform.

    Args:
        log_probabilities: Log probability of each candidate, summed over its tokens, any shape, in
            nats, 0 or less.
        lengths: Tokens of each candidate including the end mark, at least 1, in the shape given.
        kind: One of `PROBABILITIES`.
    """
    if kind not in PROBABILITIES:
        raise ValueError(f"kind must be one of {', '.join(PROBABILITIES)}, got {kind!r}")
    if kind == "sequence":
        return log_probabilities
    mean = log_probabilities / lengths.clamp(min=1)
    return mean.exp() if kind == "released" else mean


def expected_cost(scores: Tensor, costs: Tensor, is_candidate: Tensor | None = None) -> Tensor:
    """Compute the expected cost of each list, (lists,), under softmax(scores) (thesis, 7.3).

    The gradient of a score is the candidate's probability times (cost - expected cost). A list
    without candidates costs 0.

    Args:
        scores: Output of `list_scores`, (lists, candidates).
        costs: Cost of each candidate, (lists, candidates), finite, without gradient.
        is_candidate: False for padding of shorter lists, (lists, candidates). None for no padding.

    Raises:
        ValueError: If the shapes differ, or the cost of a candidate is NaN or infinite.

    Example:
        >>> expected_cost(torch.tensor([[0.75, 0.25]]).log(), torch.tensor([[0.0, 1.0]]))
        tensor([0.2500])
    """
    if is_candidate is None:
        is_candidate = torch.ones_like(costs, dtype=torch.bool)
    if scores.shape != costs.shape or costs.shape != is_candidate.shape or costs.ndim != 2:
        raise ValueError(
            "scores, costs and is_candidate must have the same shape (lists, candidates), got "
            f"{tuple(scores.shape)}, {tuple(costs.shape)} and {tuple(is_candidate.shape)}"
        )
    bad = torch.nonzero(~costs.isfinite() & is_candidate)
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ValueError(
            f"costs must be finite, got {costs[place].item()} for candidate {place[1]}"
        )
    # Subtracting the lowest cost first makes the gradient exactly 0 if all candidates cost the
    # same. Rounding would leave a small one.
    least = costs.masked_fill(~is_candidate, torch.inf).amin(1, keepdim=True)
    least = torch.where(least.isfinite(), least, torch.zeros_like(least)).detach()
    above = (costs.detach() - least).masked_fill(~is_candidate, 0.0)
    lowest = torch.finfo(scores.dtype).min
    shares = scores.masked_fill(~is_candidate, lowest).softmax(1)
    return least[:, 0] + (shares * above).sum(1)
