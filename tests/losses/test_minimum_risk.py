import math

import pytest
import torch

from paraphrastic_hf.losses.minimum_risk import PROBABILITIES, expected_cost, list_scores


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_the_gradient_matches_finite_differences(kind):
    random = torch.Generator().manual_seed(1)
    sums = -10 * torch.rand(3, 4, generator=random, dtype=torch.float64)
    lengths = torch.randint(3, 9, (3, 4), generator=random)
    costs = 100 * torch.rand(3, 4, generator=random, dtype=torch.float64)
    is_candidate = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 1]]).bool()

    def risk(sums):
        return expected_cost(list_scores(sums, lengths, kind), costs, is_candidate)

    assert torch.autograd.gradcheck(risk, sums.requires_grad_())
    unfilled = torch.autograd.grad(risk(sums).sum(), sums)[0][~is_candidate]
    assert (unfilled == 0).all()


def test_equal_costs_or_no_candidates_give_a_gradient_of_exactly_0():
    scores = torch.tensor([[0.0, 0.0], [0.0, 0.0], [-1.1, -2.3]], requires_grad=True)
    is_candidate = torch.tensor([[False, False], [True, True], [True, True]])
    costs = torch.tensor([[math.nan, 7.0], [1.0, 3.0], [33.3, 33.3]])
    risk = expected_cost(scores, costs, is_candidate)
    torch.testing.assert_close(risk.detach(), torch.tensor([0, 2, 33.3]))
    risk.sum().backward()
    assert not scores.grad[::2].any()


def test_invalid_costs_shapes_and_choices_are_refused():
    two = torch.zeros(2, 2)
    costs = [torch.tensor([[1.0, 2.0], [3.0, bad]]) for bad in (math.nan, math.inf, -math.inf)]
    for call, arguments in (
        *((expected_cost, (two, cost)) for cost in (*costs, torch.zeros(2, 3))),
        (list_scores, (torch.zeros(1), torch.ones(1), "sentence")),
    ):
        with pytest.raises(ValueError, match=r"candidate|2, 2|kind"):
            call(*arguments)


def test_token_scores_do_not_favor_short_candidates():
    """Two candidates with equal probability per token. By sequence the short one has nearly all."""
    sums, lengths = torch.tensor([[-4.0, -8.0]]), torch.tensor([[4, 8]])
    costs = torch.tensor([[0.0, 1.0]])
    by_sum = expected_cost(list_scores(sums, lengths, "sequence"), costs)
    by_mean = expected_cost(list_scores(sums, lengths, "token"), costs)
    assert by_mean.item() == pytest.approx(0.5)
    assert by_sum.item() == pytest.approx(1 / (1 + math.exp(4)))
