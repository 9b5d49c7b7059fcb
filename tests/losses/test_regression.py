"""Regression onto a teacher's vectors."""

from __future__ import annotations

import pytest
import torch

from paraphrastic_hf.losses.regression import cosine_distance, hinge_of_targets


def test_cosine_distance_ignores_length() -> None:
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert cosine_distance(vectors, 3 * vectors).item() == pytest.approx(0, abs=1e-6)
    assert cosine_distance(vectors, -vectors).item() == pytest.approx(2)


def test_a_zero_vector_has_a_finite_gradient() -> None:
    vectors = torch.zeros(2, 4, requires_grad=True)
    cosine_distance(vectors, torch.ones(2, 4)).backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


def test_the_hinge_uses_the_nearest_other_target() -> None:
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


def test_a_batch_of_one_text_has_loss_0_and_a_finite_gradient() -> None:
    vectors = torch.randn(3, 4, requires_grad=True)
    loss = hinge_of_targets(vectors, torch.ones(3, 4), torch.zeros(3), 0.4)
    loss.backward()
    assert loss.item() == 0
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()
