"""The average with a number a word."""

from __future__ import annotations

import torch

from tests.models.encoders import new_encoder
from tests.models.test_averaging import embed, padded


def test_it_is_the_average_of_rows_times_their_weights() -> None:
    model = new_encoder("weighted")
    with torch.no_grad():
        model.importance.weight.uniform_(0.1, 2)
    table, weight = model.embedding.weight, model.importance.weight
    found = embed(model, *padded([[3, 7, 7], [5]]))
    expected = (weight[3] * table[3] + 2 * weight[7] * table[7]) / 3
    torch.testing.assert_close(found, torch.stack([expected, weight[5] * table[5]]))


def test_it_starts_as_the_average() -> None:
    model, average = new_encoder("weighted"), new_encoder("averaging")
    batch = padded([[3, 7, 7, 2], [], [5]])
    average.load_state_dict({"embedding.weight": model.embedding.weight})
    torch.testing.assert_close(embed(model, *batch), embed(average, *batch))
