"""L2 penalties: toward the initial table on the rows of a batch, and on the rest."""

import pytest
import torch

from paraphrastic_hf.training.engine.penalty import Penalty, distance_to_start
from tests.models.encoders import VOCAB, new_encoder


def test_the_gradient_is_twice_the_distance_on_used_rows_and_0_elsewhere():
    generator = torch.Generator().manual_seed(0)
    start, table = torch.randn(2, 5, 3, generator=generator)
    table.requires_grad_()
    distance = distance_to_start(table, start, torch.tensor([3, 1, 3]))
    torch.testing.assert_close(distance, (table - start)[[1, 3]].square().sum())
    distance.backward()
    expected = torch.zeros(5, 3)
    expected[[1, 3]] = 2 * (table.detach() - start)[[1, 3]]
    torch.testing.assert_close(table.grad.to_dense(), expected)


IDS = torch.tensor([[3, 5], [5, 3]])


def moved(name, away, **lambdas):
    """Return the penalty of an encoder whose parameters all moved by `away`, and the old values."""
    model = new_encoder(name)
    penalty = Penalty(model, **{"lambda_w": 0, "lambda_c": 0, "lambda_all": 0} | lambdas)
    started = [parameter.detach().clone() for parameter, _ in model.composition()]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(away)
    return penalty, started


@pytest.mark.parametrize(
    ("name", "ids"), [("lstm_avg", IDS), ("word_plus_lstm", torch.tensor([[3, VOCAB + 7]]))]
)
def test_lambda_w_penalizes_the_distance_of_used_rows(name, ids):
    """Two rows of 6 numbers, here of one table or two, each 0.5 away: 12 x 0.25 = 3, times 0.1."""
    penalty, _ = moved(name, 0.5, lambda_w=0.1)
    torch.testing.assert_close(penalty(ids), torch.tensor(0.3))


def test_lambda_c_penalizes_all_but_tables():
    penalty, started = moved("lstm_avg", 0.5, lambda_c=0.1)
    expected = 0.1 * sum((start + 0.5).square().sum() for start in started)
    torch.testing.assert_close(penalty(IDS), expected)
    # toward the initial values: two matrices of 36 numbers and a bias of 6, each 0.5 away
    penalty, _ = moved("identity_rnn", 0.5, lambda_c=1)
    torch.testing.assert_close(penalty(IDS), torch.tensor(78 * 0.25))
    inactive, _ = moved("lstm_avg", 0.5)
    assert not inactive.is_active
    assert inactive(IDS).item() == 0


def test_lambda_all_penalizes_used_rows_and_the_rest():
    penalty, _ = moved("charagram", 0.5, lambda_all=0.1)
    model = penalty.model
    used = model.embedding.weight[[3, 5]].square().sum() + model.bias.square().sum()
    torch.testing.assert_close(penalty(IDS), 0.1 * used)
