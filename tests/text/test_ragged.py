import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf.text.ragged import Ragged

rows_of_ids = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6)


def lists(ragged: Ragged) -> list[list[int]]:
    return [ragged[i].tolist() for i in range(len(ragged))]


@given(rows_of_ids)
def test_packing_is_invertible(rows):
    packed = Ragged.from_lists(rows)
    assert lists(packed) == rows
    assert packed.ids.dtype == np.int32
    backwards = np.arange(len(rows))[::-1]
    assert packed.lengths(backwards).tolist() == [len(row) for row in reversed(rows)]


@given(st.lists(rows_of_ids, max_size=4))
def test_concatenating_parts_gives_their_rows_in_order(parts):
    packed = Ragged.concatenate(Ragged.from_lists(part) for part in parts)
    assert lists(packed) == [row for part in parts for row in part]


@given(rows_of_ids)
def test_where_keeps_marked_ids(rows):
    packed = Ragged.from_lists(rows)
    assert lists(packed.where(packed.ids != 3)) == [[i for i in row if i != 3] for row in rows]


@given(rows_of_ids, st.integers(1, 8) | st.none(), st.randoms())
def test_select_keeps_order_and_limits_length(rows, max_length, random):
    chosen = [random.randrange(len(rows)) for _ in range(5)] if rows else []
    found = Ragged.from_lists(rows).select(np.array(chosen, np.int64), max_length)
    assert lists(found) == [rows[i][:max_length] for i in chosen]
    assert found.ids.dtype == np.int32


@given(rows_of_ids, st.integers(1, 8) | st.none())
def test_padding_is_zero_and_masked(rows, max_length):
    chosen = np.arange(len(rows))[::-1]
    ids, mask = Ragged.from_lists(rows).padded(chosen, max_length)
    cut = [row[:max_length] for row in reversed(rows)]
    width = max(map(len, cut), default=0)
    assert ids.tolist() == [row + [0] * (width - len(row)) for row in cut]
    assert mask.tolist() == [[1] * len(row) + [0] * (width - len(row)) for row in cut]
