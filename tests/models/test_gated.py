"""GRANs: pooling and directions."""

from __future__ import annotations

import pytest
import torch

from tests.models.encoders import new_encoder
from tests.models.test_averaging import padded
from tests.models.test_recurrent import TEXTS, states_and_vectors


@pytest.mark.parametrize("variant", range(6))
def test_a_gran_pools_its_gated_vectors(variant: int) -> None:
    """GRAN-3 and 4 keep running sums: their last vector divided by the length."""
    states, vectors = states_and_vectors(new_encoder(f"gran_{variant}"))
    pool = (lambda rows: rows[-1] / len(rows)) if variant in (3, 4) else (lambda rows: rows.mean(0))
    torch.testing.assert_close(vectors, torch.stack([pool(rows) for rows in states]))


def test_with_open_gates_a_gran_is_the_average() -> None:
    """sigmoid(50) is 1 to the last bit."""
    model = new_encoder("gran_1")
    with torch.no_grad():
        model.cells[0].weight_x.zero_(), model.cells[0].weight_h.zero_()
        model.cells[0].bias.fill_(50)
    means = torch.stack([model.embedding.weight[text].mean(0) for text in TEXTS])
    torch.testing.assert_close(states_and_vectors(model)[1], means.detach())


def test_a_bigran_adds_its_directions() -> None:
    both, one = new_encoder("bigran"), new_encoder("gran_1")
    one.embedding = both.embedding
    total = torch.zeros(1, 6)
    for cell, text in ((0, TEXTS[0]), (1, TEXTS[0][::-1])):
        one.cells[0] = both.cells[cell]
        total = total + one(torch.tensor([text])).sentence_embedding
    torch.testing.assert_close(both(*padded([TEXTS[0]])).sentence_embedding, total)
