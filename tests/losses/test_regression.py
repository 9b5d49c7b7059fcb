"""Regression onto a teacher's vectors, and targets of relatedness scores.

`tests/models/test_supervised.py` checks the loss of relatedness.
"""

import math

import pytest
import torch

from paraphrastic_hf.losses.regression import (
    cosine_distance,
    hinge_of_targets,
    score_distribution,
)
from tests.oracles import sparse_target


def test_cosine_distance_ignores_length():
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert cosine_distance(vectors, 3 * vectors).item() == pytest.approx(0, abs=1e-6)
    assert cosine_distance(vectors, -vectors).item() == pytest.approx(2)
    zeros = torch.zeros(2, 4, requires_grad=True)
    cosine_distance(zeros, torch.ones(2, 4)).backward()
    assert torch.isfinite(zeros.grad).all()


def test_the_hinge_uses_the_nearest_other_target():
    random = torch.Generator().manual_seed(1)
    vectors, targets = (torch.randn(6, 4, generator=random) for _ in range(2))
    texts, margin = torch.tensor([0, 1, 2, 1, 3, 0]), 0.4
    expected = []
    for i in range(6):
        cosine = [torch.cosine_similarity(vectors[i], other, dim=0).item() for other in targets]
        others = [cosine[j] for j in range(6) if texts[j] != texts[i]]
        expected.append(max(0.0, margin - cosine[i] + max(others)))
    found = hinge_of_targets(vectors, targets, texts, margin)
    assert found.item() == pytest.approx(sum(expected) / 6, abs=1e-6)


def test_a_batch_of_one_text_has_loss_0_and_a_finite_gradient():
    vectors = torch.randn(3, 4, requires_grad=True)
    loss = hinge_of_targets(vectors, torch.ones(3, 4), torch.zeros(3), 0.4)
    loss.backward()
    assert loss.item() == 0
    assert torch.isfinite(vectors.grad).all()


SCORES = [1.0, 1.25, 2.0, 3.6, 4.999, 5.0]


@pytest.mark.parametrize(("lowest", "highest"), [(1, 5), (0, 5), (-2, 7)])
def test_the_target_matches_the_paper_and_has_the_score_as_mean(lowest, highest):
    scores = torch.tensor([*SCORES, float(lowest), float(highest)], dtype=torch.float64)
    found = score_distribution(scores, lowest, highest)
    expected = [sparse_target(score, lowest, highest) for score in scores.tolist()]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    numbers = torch.arange(lowest, highest + 1, dtype=torch.float64)
    torch.testing.assert_close(found @ numbers, scores)


@pytest.mark.parametrize("score", [0.9, 5.1, math.nan])
def test_a_score_out_of_range_is_refused(score):
    with pytest.raises(ValueError, match="1 to 5"):
        score_distribution(torch.tensor([3.0, score]), 1, 5)
