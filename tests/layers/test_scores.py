"""Score distributions, their divergence and their mean, against plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from paraphrastic_hf.losses.regression import divergence, expected_score, score_distribution
from tests.oracles import relatedness_loss, sparse_target

SCORES = [1.0, 1.25, 2.0, 3.6, 4.999, 5.0]


@pytest.mark.parametrize(("lowest", "highest"), [(1, 5), (0, 5), (-2, 7)])
def test_the_target_matches_the_paper_and_has_the_score_as_mean(lowest: int, highest: int) -> None:
    scores = torch.tensor([*SCORES, float(lowest), float(highest)], dtype=torch.float64)
    found = score_distribution(scores, lowest, highest)
    expected = [sparse_target(score, lowest, highest) for score in scores.tolist()]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))
    numbers = torch.arange(lowest, highest + 1, dtype=torch.float64)
    torch.testing.assert_close(found @ numbers, scores)


@pytest.mark.parametrize("score", [0.9, 5.1, math.nan])
def test_a_score_out_of_range_is_refused(score: float) -> None:
    with pytest.raises(ValueError, match="from 1 to 5"):
        score_distribution(torch.tensor([3.0, score]), 1, 5)


def test_divergence_and_mean_match_the_paper() -> None:
    logits = torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    target = score_distribution(torch.tensor(SCORES, dtype=torch.float64), 1, 5)
    loss, means = relatedness_loss(logits.tolist(), SCORES, 1, 5)
    assert divergence(target, logits).item() == pytest.approx(loss, rel=1e-12)
    torch.testing.assert_close(
        expected_score(logits, 1), torch.tensor(means, dtype=torch.float64), rtol=1e-12, atol=0
    )
