"""What an epoch sees of each source."""

from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.training.corpus import seen_in_epoch, size_of_epoch


@pytest.mark.parametrize("weights", [[1, 1, 1], [0, 2, 0.5], [2.25, 0.1, 1 / 3], [0, 0, 0]])
def test_every_epoch_has_the_size_that_is_told(weights: list[float]) -> None:
    source = np.repeat([0, 1], [7, 5]).astype(np.int32)  # nothing of the third
    for epoch in range(3):
        seen = seen_in_epoch(source, weights, np.random.default_rng(epoch))
        assert len(seen) == size_of_epoch(source, weights)
        for number, weight in enumerate(weights):
            times = np.bincount(seen, minlength=12)[source == number]
            assert all(int(weight) <= count <= int(weight) + 1 for count in times)
