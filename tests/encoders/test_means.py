"""The slow path of averaging models."""

from __future__ import annotations

import numpy as np
import pytest

from paraphrastic_hf.encoders import means
from paraphrastic_hf.encoders.means import mean_rows
from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.encoders.storage.packing import packed, unpacked
from paraphrastic_hf.text.ragged import Ragged


def by_hand(table: np.ndarray, texts: list[list[int]]) -> np.ndarray:
    wide = table.astype(np.float64)
    return np.array([wide[ids].sum(0) / max(1, len(ids)) for ids in texts])


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8", "int4"])
@pytest.mark.parametrize("most", [16_384, 1, 5])
def test_means_do_not_depend_on_the_block_size(
    most: int, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(means, "TOKENS_AT_A_TIME", most)
    random = np.random.default_rng(1)
    table = packed(random.standard_normal((20, 6)).astype(np.float32), precision)
    texts = [random.integers(0, 20, n).tolist() for n in (0, 3, 0, 0, 11, 1, 2, 0, 30, 1, 0)]
    found = mean_rows(Table(table), Ragged.from_lists(texts))
    assert found.dtype == np.float32
    assert mean_rows(Table(table), Ragged.from_lists([])).shape == (0, 6)
    assert mean_rows(Table(table), Ragged.from_lists([[], []])).tolist() == [[0] * 6] * 2
    # a piece is summed in float64, and up to 30 pieces in float32
    np.testing.assert_allclose(found, by_hand(unpacked(table), texts), rtol=1e-5, atol=1e-6)


def test_a_text_of_a_million_tokens_has_the_mean_of_its_rows() -> None:
    table = np.array([[1.0, 1e-3], [3.0, 1e3]], np.float32)
    ids = np.tile(np.array([0, 1], np.int32), 500_000)
    found = mean_rows(Table(table), Ragged(ids, np.array([0, len(ids)])))
    np.testing.assert_allclose(found, [[2.0, (1e-3 + 1e3) / 2]], rtol=1e-6)
