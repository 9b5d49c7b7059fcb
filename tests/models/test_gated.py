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


@pytest.mark.parametrize("variant", [0, 1, 2, 5])
def test_a_gran_is_the_mean_of_its_gated_vectors(variant: int) -> None:
    states, vectors = states_and_vectors(new_encoder(f"gran_{variant}"))
    torch.testing.assert_close(vectors, torch.stack([rows.mean(0) for rows in states]))


@pytest.mark.parametrize("variant", [3, 4])
def test_gran_3_and_4_are_their_last_vector_over_the_length(variant: int) -> None:
    states, vectors = states_and_vectors(new_encoder(f"gran_{variant}"))
    torch.testing.assert_close(vectors, torch.stack([rows[-1] / len(rows) for rows in states]))


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
    ("settings", "message"),
    [
        ({"variant": 6}, "variant must be 1 to 5.*or 0 for no gate, got 6"),
        ({"activation": "relu"}, "'relu'.*variant is 1: leave it out, or set variant to 0"),
        ({"variant": 0, "activation": "linear"}, "activation must be tanh or relu, got 'linear'"),
        ({"merge": "concatenate"}, "merge must be add or tanh, got 'concatenate'"),
        ({"embedding_size": 200}, "hidden_size is 300 and embedding_size 200; make them equal"),
        ({"bidirectional": True, "variant": 3}, "set bidirectional to false, or variant to"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused_with_the_way_out(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(StrictDataclassError, match=message):
        GatedConfig(**settings)
