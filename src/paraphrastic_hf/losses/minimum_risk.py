"""Minimum risk: the expected cost of a list of candidate translations, mixed with the likelihood
of the reference (thesis, 7.3; Shen et al., 2016; Edunov et al., 2018).

    risk of a list  =  sum over its candidates u of cost(t, u) p(u | x) / sum over u' of p(u' | x)
    loss            =  gamma * likelihood  +  (1 - gamma) * risk

Candidates come from `training/minimum_risk/candidates.py`, costs from `metrics/costs.py`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def list_scores(log_probabilities: Tensor, lengths: Tensor, kind: str) -> Tensor:
    """Score candidate translations, in the shape given. A softmax of a list gives probabilities.

    `sequence` (thesis, 7.3) is the log probability of the candidate. `token` divides it by the
    number of tokens, which makes candidates of different lengths comparable. `released` is the
    exponential of `token`, as in the code of 2019. It makes the distribution nearly uniform.

    Args:
        log_probabilities: Log probability of each candidate, summed over its tokens, any shape, in
            nats, 0 or less.
        lengths: Tokens of each candidate including the end mark, at least 1, in the shape given.
    """
    if kind == "sequence":
        return log_probabilities
    mean = log_probabilities / lengths
    return mean.exp() if kind == "released" else mean


def expected_costs(scores: Tensor, costs: Tensor, counts: Sequence[int]) -> Tensor:
    """Compute the expected cost of each list, (lists,), under softmax(scores) (thesis, 7.3).

    The gradient of a score is the candidate's probability times (cost - expected cost). A list
    without candidates costs 0.

    Args:
        scores: Output of `list_scores`, (candidates,), lists concatenated.
        costs: Finite cost of each candidate, (candidates,), without gradient.
        counts: Number of candidates in each list.

    Example:
        >>> expected_costs(torch.tensor([0.75, 0.25]).log(), torch.tensor([0.0, 1.0]), [2])
        tensor([0.2500])
    """
    found = [scores.new_zeros(())] * len(counts)
    for number, (own, prices) in enumerate(
        zip(scores.split(list(counts)), costs.split(list(counts)), strict=True)
    ):
        if len(own):
            # Subtracting the lowest cost first makes the gradient exactly 0 if all candidates cost
            # the same. Rounding would leave a small one.
            least = prices.min()
            found[number] = least + (own.softmax(0) * (prices - least)).sum()
    return torch.stack(found)
