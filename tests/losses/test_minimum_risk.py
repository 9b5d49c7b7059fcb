import math

import pytest
import torch

from paraphrastic_hf.losses.minimum_risk import expected_costs, list_scores
from paraphrastic_hf.training.minimum_risk.recipe import PROBABILITIES


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_the_gradient_matches_finite_differences(kind):
    random = torch.Generator().manual_seed(1)
    sums = -10 * torch.rand(9, generator=random, dtype=torch.float64)
    lengths = torch.randint(3, 9, (9,), generator=random)
    costs = 100 * torch.rand(9, generator=random, dtype=torch.float64)

    def risk(sums):
        return expected_costs(list_scores(sums, lengths, kind), costs, [4, 0, 2, 3])

    assert torch.autograd.gradcheck(risk, sums.requires_grad_())


def test_equal_costs_or_no_candidates_give_a_gradient_of_exactly_0():
    scores = torch.tensor([0.0, 0.0, -1.1, -2.3], requires_grad=True)
    risk = expected_costs(scores, torch.tensor([1.0, 3.0, 33.3, 33.3]), [0, 2, 2])
    torch.testing.assert_close(risk.detach(), torch.tensor([0, 2, 33.3]))
    risk.sum().backward()
    assert scores.grad[:2].any()
    assert not scores.grad[2:].any()


def test_token_scores_do_not_favor_short_candidates():
    """Two candidates with equal probability per token. By sequence the short one has nearly all."""
    sums, lengths, costs = torch.tensor([-4.0, -8.0]), torch.tensor([4, 8]), torch.tensor([0.0, 1])
    by_sum, by_mean = (
        expected_costs(list_scores(sums, lengths, kind), costs, [2]).item()
        for kind in ("sequence", "token")
    )
    assert by_mean == pytest.approx(0.5)
    assert by_sum == pytest.approx(1 / (1 + math.exp(4)))
