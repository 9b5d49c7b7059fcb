"""The compiled table on its own: words cut and found, rows averaged, and no input that crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import mean_of_rows

words_module = pytest.importorskip("paraphrastic_hf.encoding._words")
WordTable = words_module.WordTable

ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)
NO_IDS, NO_ENDS = np.empty(0, np.int32), np.empty(0, np.int64)


def i4(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def i8(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.fixture
def table() -> WordTable:
    """`a` is row 0, `b` rows 1 and 2, `c` nothing."""
    known = WordTable()
    known.add(["a", "b", "c"], i4(1, 2, 0), i4(0, 1, 2))
    return known


def scanned(table: WordTable, texts: list[str]) -> list[list[str | int]]:
    """The words of each text: a number, or the word itself if it is missing."""
    numbers, ends, missing, *_ = table.scan(texts, 0, len(texts))
    found = [n if n >= 0 else missing[-1 - n] for n in np.frombuffer(numbers, np.int32).tolist()]
    cuts = [0, *np.frombuffer(ends, np.int64).tolist()]
    return [found[a:b] for a, b in pairwise(cuts)]


def test_known_words_are_numbered_and_missing_ones_given_back_once(table: WordTable) -> None:
    """By hand: `a` is word 0 and `b` word 1; `x` and `y` are missing."""
    words, ends, missing, *_ = table.scan(["b x a", "", "y x"], 0, 3)
    assert np.frombuffer(words, np.int32).tolist() == [1, -1, 0, -2, -1]
    assert np.frombuffer(ends, np.int64).tolist() == [3, 3, 5]
    assert missing == ["x", "y"]


@pytest.mark.parametrize("texts", [[], [""], ["", " \t\0\x7f", "\n"]])
def test_texts_without_words_scan_to_empty_bytes(texts: list[str]) -> None:
    words, ends, missing, *_ = WordTable().scan(texts, 0, len(texts))
    assert (words, ends, missing) == (b"", bytes(8 * len(texts)), [])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_words_are_cut_at_ascii_spaces_and_control_characters(texts: list[str]) -> None:
    spaces = dict.fromkeys((*range(33), 127), " ")
    expected = [text.translate(spaces).split(" ") for text in [*texts, "a"]]
    assert scanned(WordTable(lowercase=False), [*texts, "a"]) == [
        [word for word in words if word] for words in expected
    ]


def test_only_words_of_ascii_alone_are_lowered() -> None:
    assert scanned(WordTable(), ["THE Éa [@Z`{"]) == [["the", "Éa", "[@z`{"]]
    assert scanned(WordTable(lowercase=False), ["THE Éa"]) == [["THE", "Éa"]]


def test_part_of_a_list_is_scanned_as_python_slices_it(table: WordTable) -> None:
    texts = ["a", "b", "c"]
    for start, stop in [(0, 2), (2, 3), (1, 1), (3, 1), (-2, 9), (5, 8), (0, sys.maxsize)]:
        _, ends, *_ = table.scan(["a", *texts], start, stop)
        assert len(ends) == 8 * len(["a", *texts][start:stop])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=1)))
def test_every_added_word_is_found_again(words: list[str]) -> None:
    known = WordTable(lowercase=False)
    distinct = list(dict.fromkeys(words))
    known.add(words, np.zeros(len(words), np.int32), NO_IDS)
    known.add(words, np.zeros(len(words), np.int32), NO_IDS)  # passed over
    assert len(known) == len(distinct)
    assert scanned(known, [*distinct, "new"])[:-1] == [[i] for i in range(len(distinct))]


def test_fifty_thousand_words_are_kept_apart() -> None:
    known = WordTable()
    words = [f"w{i}" for i in range(50_000)]
    known.add(words, np.ones(50_000, np.int32), np.arange(50_000, dtype=np.int32))
    numbers, _, missing, *_ = known.scan([" ".join(words)], 0, 1)
    assert missing == []
    np.testing.assert_array_equal(np.frombuffer(numbers, np.int32), np.arange(50_000))


def test_a_mean_by_hand(table: WordTable) -> None:
    """`b x` is rows 1, 2 and, for the missing x, 4 and 4: (4 + 8 + 16 + 16) / 4 = 11 and so on."""
    out = np.full((3, 4), np.nan, np.float32)
    table.mean(i4(1, -1, 2), i8(2, 2, 3), i8(2), i4(4, 4), ROWS, out, False)
    np.testing.assert_array_equal(out, [[11, 12, 13, 14], [0, 0, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("count", [1, 2, 3, 9, 10, 1023, 1024, 1025, 2048, 5000])
def test_a_mean_of_many_rows_equals_the_oracle(count: int) -> None:
    random = np.random.default_rng(count)
    rows = random.normal(size=(30, 5)).astype(np.float32)
    ids = random.integers(30, size=count).astype(np.int32)
    out = np.empty((1, 5), np.float32)
    WordTable().mean(i4(-1), i8(1), i8(count), ids, rows, out, False)
    # one rounding of a number below 4, and of sums of at most 1,024 rows
    np.testing.assert_allclose(out[0], mean_of_rows(rows.tolist(), ids.tolist()), atol=1e-6)


def test_no_texts_write_nothing(table: WordTable) -> None:
    table.mean(b"", b"", NO_ENDS, NO_IDS, ROWS, np.empty((0, 4), np.float32), True)


GIVEN = {
    "words": i4(0, 1, -1),
    "ends": i8(1, 3),
    "missing_ends": i8(1),
    "missing_ids": i4(3),
    "table": ROWS,
    "out": np.zeros((2, 4), np.float32),
}
WRONG = {
    "a word number too high": {"words": i4(0, 3, -1)},
    "a missing word too far": {"words": i4(0, 1, -2)},
    "the lowest number": {"words": i4(0, 1, -(2**31))},
    "fewer words than the last end": {"words": i4(0, 1)},
    "words of 8 bytes": {"words": i8(0, 1, -1)},
    "words with a step": {"words": i4(0, 0, 1, 1, -1, -1)[::2]},
    "words as None": {"words": None},
    "words as a list": {"words": [0, 1, -1]},
    "ends of 4 bytes": {"ends": i4(1, 3)},
    "last end too high": {"ends": i8(1, 4)},
    "last end too low": {"ends": i8(1, 2)},
    "last end negative": {"ends": i8(1, -3)},
    "no ends for words": {"ends": NO_ENDS},
    "missing ends too high": {"missing_ends": i8(2)},
    "missing ends negative": {"missing_ends": i8(-1)},
    "missing ends decreasing": {"missing_ends": i8(1, 0)},
    "missing id too high": {"missing_ids": i4(5)},
    "missing id negative": {"missing_ids": i4(-1)},
    "missing ids of 8 bytes": {"missing_ids": i8(3)},
    "table with too few rows": {"table": ROWS[:2]},
    "table of 8 bytes": {"table": ROWS.astype(np.float64)},
    "table of half precision": {"table": ROWS.astype(np.float16)},
    "table of integers": {"table": ROWS.astype(np.int32)},
    "table in another order": {"table": np.asfortranarray(ROWS)},
    "empty table": {"table": ROWS[:0]},
    "out that cannot be written": {"out": bytes(32)},
    "out of too few numbers": {"out": np.zeros(7, np.float32)},
    "out without dimensions": {"out": np.zeros((2, 0), np.float32)},
    "out of another width": {"out": np.zeros((2, 2), np.float32)},
    "out of too many rows": {"out": np.zeros((4, 4), np.float32)},
    "out of 8 bytes": {"out": np.zeros((2, 4))},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_belong_together_is_refused(name: str, table: WordTable) -> None:
    error = None
    try:
        table.mean(*(GIVEN | WRONG[name]).values(), False)
    except (ValueError, TypeError, BufferError) as caught:
        error = caught
    assert error is not None
    table.mean(*GIVEN.values(), False)  # and the table still works


@pytest.mark.parametrize("ends", [[3, 2], [500_000_000, 2], [-1, 2], [2, -1, 2]])
def test_ends_that_decrease_are_refused(ends: list[int]) -> None:
    """In a process of its own, which would die of reading what it should not."""
    code = f"""
import numpy as np
from paraphrastic_hf.encoding._words import WordTable
table = WordTable()
table.add(["a", "b"], np.array([1, 1], np.int32), np.array([0, 1], np.int32))
words, ends = np.array([0, 1], np.int32), np.array({ends})
rows, out = np.ones((2, 4), np.float32), np.zeros((len(ends), 4), np.float32)
try:
    table.mean(words, ends, ends[:0], words[:0], rows, out, False)
except ValueError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused\n", f"exit {done.returncode}: {done.stderr}"


@pytest.mark.parametrize(
    ("words", "counts", "ids"),
    [
        (["x"], i4(2), i4(1)),
        (["x"], i4(-1), i4(1)),
        (["x", "y"], i4(1, -1), i4(1)),
        (["x"], i4(1, 1), i4(1, 1)),
        (["x"], NO_IDS, NO_IDS),
        (["x"], i4(2**31 - 1), i4(1)),
        (["x"], i8(1), i4(1)),
        (["x"], i4(1), i8(1)),
        (["x"], [1], [1]),
        (("x",), i4(1), i4(1)),
        (["x", 3], i4(1, 1), i4(1, 1)),
        (["x", None], i4(1, 1), i4(1, 1)),
        (["x", "\ud800"], i4(1, 1), i4(1, 1)),
        (["x"], i4(1), i4(1, 1)),
    ],
)
def test_wrong_counts_are_refused(words: list[str], counts: object, ids: object) -> None:
    known = WordTable()
    with pytest.raises((ValueError, TypeError)):
        known.add(words, counts, ids)
    known.add(["x"], i4(1), i4(3))  # it may have been added before the wrong one was met
    assert len(known) == 1


def test_an_id_outside_the_rows_is_refused_when_it_is_used() -> None:
    for bad in (-1, 5, 2**31 - 1):
        known = WordTable()
        known.add(["x"], i4(1), i4(bad))
        with pytest.raises(ValueError, match="out of range"):
            known.mean(i4(0), i8(1), NO_ENDS, NO_IDS, ROWS, np.empty((1, 4), np.float32), False)


@pytest.mark.parametrize("given", [5, None, {"a"}, (text for text in "ab"), {"a": 1}, b"ab", [b""]])
def test_what_is_no_list_of_strings_is_refused(given: object, table: WordTable) -> None:
    with pytest.raises((TypeError, KeyError)):
        table.scan(given, 0, 1)


def test_positions_that_are_no_numbers_are_refused(table: WordTable) -> None:
    for wrong in [("0", 1), (0, None), (0, 2**70), (0.5, 1)]:
        with pytest.raises((TypeError, OverflowError)):
            table.scan(["a"], *wrong)


class SlicesToANumber:
    def __getitem__(self, item: object) -> int:
        return 5


def test_a_slice_without_a_length_is_a_type_error(table: WordTable) -> None:
    with pytest.raises(TypeError):
        table.scan(SlicesToANumber(), 0, 1)


def calls() -> list[Callable[[], object]]:
    """Right and wrong calls, with what they take in their closures."""
    texts = [f"word{i} Ünder x{i % 7}" * 40 for i in range(100)]
    known = WordTable()
    known.add(["a"], i4(1), i4(0))

    def right() -> None:
        table = WordTable()
        words, ends, missing, *_ = table.scan(texts, 0, 100)
        ids = np.zeros(len(missing), np.int32)
        out = np.empty((100, 4), np.float32)
        table.mean(words, ends, np.arange(1, len(ids) + 1), ids, ROWS, out, True)
        table.add(missing, ids, ids[:0])

    def wrong(function: Callable[..., object], *arguments: object) -> Callable[[], None]:
        def call() -> None:
            with pytest.raises((ValueError, TypeError, BufferError)):
                function(*arguments)

        return call

    return [
        right,
        wrong(known.scan, [*texts, None], 0, 101),
        wrong(known.scan, [*texts, "\ud800"], 0, 101),
        wrong(known.add, ["y" * 5000], i4(-1), i4(1)),
        wrong(known.add, [3], i4(1), i4(1)),
        wrong(known.mean, *(GIVEN | {"words": i4(0, 9, 9)}).values(), False),
        wrong(known.mean, *(GIVEN | {"out": bytes(32)}).values(), False),
        wrong(known.mean, *(GIVEN | {"ends": i8(3, 7)}).values(), False),
    ]


def resident_bytes() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_memory_does_not_grow_over_two_thousand_calls() -> None:
    for call in calls():
        for _ in range(30):
            call()
    before = resident_bytes()
    for call in calls():
        for _ in range(250):
            call()
    # one list of 100 texts with its words takes 100 KiB: kept 250 times, 25 MiB
    assert resident_bytes() - before < 8 * 2**20


def test_calls_keep_no_reference_to_what_they_were_given(table: WordTable) -> None:
    texts = ["a Ünder " + "x" * 30, "b"]
    out = np.zeros((2, 4), np.float32)
    known = WordTable()
    known.add(["a", "b", "c"], i4(1, 2, 0), i4(0, 1, 2))
    counts, ids = i4(1), i4(2)
    held = [*GIVEN.values(), texts, *texts, out, counts, ids]
    before = [sys.getrefcount(thing) for thing in held]
    for _ in range(50):
        table.scan(texts, 0, 2)
        table.mean(*(GIVEN | {"out": out}).values(), True)
        table.add(texts[1:], counts, ids)
        for wrong in ([texts, None], ["\ud800"], 5):
            with pytest.raises((TypeError, ValueError)):
                table.scan(wrong, 0, 2)
        for name in WRONG:
            with pytest.raises((TypeError, ValueError, BufferError)):
                known.mean(*(GIVEN | WRONG[name]).values(), False)
    assert [sys.getrefcount(thing) for thing in held] == before


def test_the_type_lives_as_long_as_its_tables() -> None:
    before = sys.getrefcount(WordTable)
    tables = [WordTable() for _ in range(100)]
    assert sys.getrefcount(WordTable) == before + len(tables)
    del tables
    assert sys.getrefcount(WordTable) == before
