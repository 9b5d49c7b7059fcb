"""What messages say of counts."""

from __future__ import annotations

import pytest

from paraphrastic_hf.errors import counted


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [
        (0, "row", "0 rows"),
        (1, "row", "1 row"),
        (12_345, "row", "12,345 rows"),
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (2, "LSTM layer", "2 LSTM layers"),
        (2, "reference", "2 references"),
    ],
)
def test_one_thing_is_counted_as_one(count: int, noun: str, said: str) -> None:
    assert counted(count, noun) == said
