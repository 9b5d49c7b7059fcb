"""What is special to GRANs: pooling, directions, refusals."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.models.encoders.gated import GatedConfig
from tests.models.encoders import new_encoder
from tests.models.test_averaging import padded
from tests.models.test_recurrent import TEXTS, states_and_vectors


@pytest.mark.parametrize("variant", range(6))
def test_a_gran_is_the_mean_of_its_gated_vectors(variant: int) -> None:
    """GRAN-3 and 4 have running sums: their last vector over the length."""
    states, vectors = states_and_vectors(new_encoder(f"gran_{variant}"))
    pool = (lambda rows: rows[-1] / len(rows)) if variant in (3, 4) else (lambda rows: rows.mean(0))
    torch.testing.assert_close(vectors, torch.stack([pool(rows) for rows in states]))


def test_with_open_gates_a_gran_is_the_average_of_its_words() -> None:
    """sigmoid(50) is 1 to the last bit."""
    model = new_encoder("gran_1")
    with torch.no_grad():
        model.cells[0].weight_x.zero_(), model.cells[0].weight_h.zero_()
        model.cells[0].bias.fill_(50)
    means = torch.stack([model.embedding.weight[text].mean(0) for text in TEXTS])
    torch.testing.assert_close(states_and_vectors(model)[1], means.detach())


def test_the_two_directions_of_a_bigran_are_added() -> None:
    both, one = new_encoder("bigran"), new_encoder("gran_1")
    one.embedding = both.embedding
    total = torch.zeros(1, 6)
    for cell, text in ((0, TEXTS[0]), (1, TEXTS[0][::-1])):
        one.cells[0] = both.cells[cell]
        total = total + one(torch.tensor([text])).sentence_embedding
    torch.testing.assert_close(both(*padded([TEXTS[0]])).sentence_embedding, total)


@pytest.mark.parametrize(
    "settings",
    [
        {"variant": 6},
        {"activation": "relu"},
        {"activation": "linear", "variant": 0},
        {"merge": "concatenate"},
        {"embedding_size": 200},
        {"bidirectional": True, "variant": 3},
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(StrictDataclassError, match=next(iter(settings))):
        GatedConfig(**settings)
