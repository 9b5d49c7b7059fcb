"""Regression onto a teacher's vectors."""

from __future__ import annotations

import pytest
import torch

from paraphrastic_hf.losses.regression import cosine_distance


def test_only_the_direction_counts() -> None:
    vectors = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert cosine_distance(vectors, 3 * vectors).item() == pytest.approx(0, abs=1e-6)
    assert cosine_distance(vectors, -vectors).item() == pytest.approx(2)


def test_a_vector_without_length_has_a_finite_gradient() -> None:
    vectors = torch.zeros(2, 4, requires_grad=True)
    cosine_distance(vectors, torch.ones(2, 4)).backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()
