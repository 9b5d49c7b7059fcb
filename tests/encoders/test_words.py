"""The compiled word table: words, averages, segmentation, and invalid input."""

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from paraphrastic_hf.text.normalize import SPACE_MARK
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.oracles import mean_of_rows

words_module = pytest.importorskip("paraphrastic_hf.encoders.static._words")
WordTable, average = words_module.WordTable, words_module.average

ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)
NO_IDS = np.empty(0, np.int32)


def i4(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def i8(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.fixture
def table():
    """`a` is row 0, `b` rows 1 and 2, `c` nothing."""
    known = WordTable()
    known.add(["a", "b", "c"], i4(1, 2, 0), i4(0, 1, 2))
    return known


def missing(table: WordTable, *texts: str) -> list[str]:
    """Words of texts that a table lacks, in order."""
    block = table.block()
    out = np.empty((len(texts), 4), np.float32)
    block.mean(list(texts), 0, len(texts), ROWS, out, False)
    assert list(block.words()) == block.asked()
    return block.asked()


def test_missing_words_are_listed_once(table):
    assert missing(table, "b x a", "", "y x", "x", "c") == ["x", "y"]
    assert missing(WordTable(), "", " \t\0\x7f", "\n") == []
    assert missing(WordTable()) == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_words_are_split_at_ascii_spaces_and_control_characters(texts):
    spaces = dict.fromkeys((*range(33), 127), " ")
    words = [word for text in texts for word in text.translate(spaces).split(" ") if word]
    assert missing(WordTable(lowercase=False), *texts) == list(dict.fromkeys(words))


@pytest.mark.parametrize("length", [*range(1, 35), 1000])
def test_words_of_every_length_are_distinguished(length):
    """By last letter, length, and the place of a letter."""
    words = ["x" * length, "x" * (length - 1) + "y", "x" * (length + 1), "y" + "x" * length]
    known = WordTable()
    known.add(words, i4(1, 1, 1, 1), i4(0, 1, 2, 3))
    out = np.empty((8, 5), np.float32)
    texts = [f"{left}{word}{right}" for word in words for left, right in [("", ""), ("\t ", " ")]]
    known.block().mean(texts, 0, 8, np.eye(5, dtype=np.float32), out, False)
    np.testing.assert_array_equal(out, np.eye(4, 5).repeat(2, 0))


def test_only_ascii_words_are_lower_cased():
    assert missing(WordTable(), "THE Éa [@Z`{") == ["the", "Éa", "[@z`{"]
    assert missing(WordTable(), "THE [@Z`{ ABCDEFGHIJ") == ["the", "[@z`{", "abcdefghij"]
    assert missing(WordTable(lowercase=False), "THE Éa") == ["THE", "Éa"]


def test_a_range_of_a_list_is_encoded(table):
    out = np.full((3, 4), 7, np.float32)
    table.block().mean(["x", "a", "x"], 1, 2, ROWS, out, False)
    np.testing.assert_array_equal(out, [[7] * 4, ROWS[0], [7] * 4])
    for start, stop in [(-1, 2), (2, 1), (0, 4), (4, 4), (0, sys.maxsize)]:
        with pytest.raises(ValueError, match="start"):
            table.block().mean(["a"] * 3, start, stop, ROWS, out, False)


@pytest.mark.parametrize(
    ("offsets", "start", "stop"),
    [
        *(([0, 1, 2], *bounds) for bounds in [(-1, 2), (2, 1), (0, 3), (0, sys.maxsize)]),
        *((wrong, 0, 2) for wrong in [[-1, 0, 1], [0, 2, 1], [0, 1, 4], [0, 2**62, 2**62]]),
    ],
)
def test_texts_outside_their_bytes_are_refused(table, offsets, start, stop):
    out = np.full((2, 4), 7, np.float32)
    with pytest.raises(ValueError, match="range"):
        table.block().mean_arrow(i8(*offsets), b"a b", start, stop, ROWS, out, False)


def test_waiting_texts_must_be_in_the_answered_ones(table):
    block, out = table.block(), np.zeros((2, 4), np.float32)
    block.mean_arrow(i8(0, 1, 3), b"axy", 0, 2, ROWS, out, False)
    with pytest.raises(ValueError, match="range"):
        block.answer_arrow(i8(0, 1), b"a", i4(1), i4(0), ROWS, out[:1], False)
    block.mean_arrow(i8(0, 1, 3), b"axy", 0, 2, ROWS, out, False)
    block.answer_arrow(i8(0, 1, 3), b"axy", i4(), i4(), ROWS, out, False)
    np.testing.assert_array_equal(out, ROWS[[0, 0]])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), min_size=1)))
def test_every_added_word_is_found_again(words):
    known = WordTable(lowercase=False)
    known.add(words, np.zeros(len(words), np.int32), NO_IDS)
    known.add(words, np.zeros(len(words), np.int32), NO_IDS)  # skipped
    assert len(known) == len(set(words))
    assert missing(known, *words, "new one") == [w for w in ("new", "one") if w not in words]


def test_a_mean_by_hand(table):
    """`b x` is rows 1, 2 and, for the missing x, 4 and 4: (4 + 8 + 16 + 16) / 4 = 11 and so on."""
    out = np.full((3, 4), np.nan, np.float32)
    block, texts = table.block(), ["b x", "", "c"]
    block.mean(texts, 0, 3, ROWS, out, False)
    assert block.asked() == ["x"]
    block.answer(i4(2), i4(4, 4), texts, ROWS, out, False)
    np.testing.assert_array_equal(out, [[11, 12, 13, 14], [0, 0, 0, 0], [0, 0, 0, 0]])
    assert block.words() == {"x": [4, 4]}
    assert block.asked() == []


def test_a_block_learns_short_words_up_to_the_limit(table):
    block = table.block()
    texts = ["x éééé 12345 x", "asked later"]
    out = np.zeros((2, 4), np.float32)
    block.mean(texts, 0, 1, ROWS, out, False)
    block.answer(i4(1, 1, 1), i4(1, 2, 3), texts, ROWS, out, False)
    block.mean(texts, 1, 2, ROWS, out, False)  # without an answer
    block.learn(4, 100)
    assert len(table) == 5
    assert len(block) == 0
    assert missing(table, *texts) == ["12345", "asked", "later"]
    block.mean(texts, 0, 1, ROWS, out, False)
    block.answer(i4(1), i4(3), texts, ROWS, out, False)
    block.learn(5, 5)
    assert len(table) == 5


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9, 31, 32, 33, 1023, 1024, 1025, 5000])
def test_a_mean_of_many_rows_equals_the_oracle(count):
    random = np.random.default_rng(count)
    rows = random.normal(size=(30, 5)).astype(np.float32)
    ids = random.integers(30, size=count).astype(np.int32)
    out = np.empty((1, 5), np.float32)
    average(ids, i8(count), rows, out, False)
    # one rounding of a number below 4, and of sums of at most 32 rows
    np.testing.assert_allclose(out[0], mean_of_rows(rows.tolist(), ids.tolist()), atol=1e-6)


GIVEN = {"ids": i4(0, 1, 4), "ends": i8(1, 3), "table": ROWS, "out": np.zeros((2, 4), np.float32)}
WRONG = {
    "an id too high": {"ids": i4(0, 5, 1)},
    "the lowest id": {"ids": i4(0, 1, -(2**31))},
    "ids of 8 bytes": {"ids": i8(0, 1, 1)},
    "ids with a step": {"ids": i4(0, 0, 1, 1, 1, 1)[::2]},
    "ids as a list": {"ids": [0, 1, 1]},
    "ends of 4 bytes": {"ends": i4(1, 3)},
    "last end too high": {"ends": i8(1, 4)},
    "last end too low": {"ends": i8(1, 2)},
    "first end negative": {"ends": i8(-1, 3)},
    "first end too high": {"ends": i8(500_000_000, 3)},
    "no ends": {"ends": i8()},
    "table with too few rows": {"table": ROWS[:2]},
    "table of 8 bytes": {"table": ROWS.astype(np.float64)},
    "table of half precision": {"table": ROWS.astype(np.float16)},
    "table in another order": {"table": np.asfortranarray(ROWS)},
    "table of one dimension": {"table": ROWS.ravel()},
    "empty table": {"table": ROWS[:0]},
    "out that cannot be written": {"out": bytes(32)},
    "out of too few numbers": {"out": np.zeros(7, np.float32)},
    "out of another width": {"out": np.zeros((2, 2), np.float32)},
    "out of too many rows": {"out": np.zeros((4, 4), np.float32)},
    "out of 8 bytes": {"out": np.zeros((2, 4))},
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_do_not_fit_are_refused(name, table):
    given = GIVEN | WRONG[name]
    with pytest.raises((ValueError, TypeError, BufferError)):
        average(*given.values(), False)
    average(*GIVEN.values(), False)
    if {"table", "out"} & set(WRONG[name]):
        with pytest.raises((ValueError, TypeError, BufferError)):
            table.block().mean(["a", "b"], 0, 2, given["table"], given["out"], False)


@pytest.mark.parametrize(
    ("words", "counts", "ids"),
    [
        (["x"], i4(2), i4(1)),
        (["x", "y"], i4(1, -1), i4(1)),
        (["x"], NO_IDS, NO_IDS),
        (["x"], i4(2**31 - 1), i4(1)),
        (["x"], i4(1), i8(1)),
        (["x"], [1], [1]),
        (("x",), i4(1), i4(1)),
        (["x", 3], i4(1, 1), i4(1, 1)),
        (["x", "\ud800"], i4(1, 1), i4(1, 1)),
        (["x"], i4(1), i4(1, 1)),
    ],
)
def test_wrong_counts_are_refused(words, counts, ids):
    known = WordTable()
    with pytest.raises((ValueError, TypeError)):
        known.add(words, counts, ids)
    known.add(["x"], i4(1), i4(3))  # "x" may already be there
    assert len(known) == 1


@pytest.mark.parametrize(
    ("counts", "ids"),
    [(i4(2), i4(1)), (i4(-1), i4(1)), (NO_IDS, NO_IDS), (i8(1), i4(1)), ([1], [1])],
)
def test_a_wrong_answer_is_refused(counts, ids):
    block, out = WordTable().block(), np.zeros((1, 4), np.float32)
    block.mean(["x"], 0, 1, ROWS, out, False)
    for texts in (["x"], ("x",), []):
        with pytest.raises((ValueError, TypeError)):
            block.answer(counts, ids, texts, ROWS, out, False)
    block.answer(i4(1), i4(3), ["x"], ROWS, out, False)
    np.testing.assert_array_equal(out[0], ROWS[3])


def test_texts_that_changed_before_the_answer_write_nothing():
    wrong = pytest.raises((TypeError, IndexError, ValueError))
    for texts, result in ((["y"], nullcontext()), ([None], wrong), ([], wrong)):
        block, out = WordTable().block(), np.zeros((1, 4), np.float32)
        block.mean(["x"], 0, 1, ROWS, out, False)
        with result:
            block.answer(i4(1), i4(3), texts, ROWS, out, False)
        assert not out.any()


@pytest.mark.parametrize(
    ("given", "place"),
    [
        *((given, (0, 1)) for given in (5, None, {"a"}, iter("ab"), ("a",), b"ab", [b""])),
        *((["a"], place) for place in (("0", 1), (0, None), (0, 2**70), (0.5, 1))),
    ],
)
def test_other_types_and_ids_out_of_range_are_refused(given, place, table):
    out = np.empty((1, 4), np.float32)
    with pytest.raises((TypeError, OverflowError)):
        table.block().mean(given, *place, ROWS, out, False)
    with pytest.raises(TypeError):
        type(table.block())()  # only a table makes blocks
    for bad in (-1, 5, 2**31 - 1):
        known = WordTable()
        known.add(["x"], i4(1), i4(bad))
        with pytest.raises((ValueError, IndexError)):
            known.block().mean(["x"], 0, 1, ROWS, out, False)


def use(table: WordTable, texts: list[str]) -> None:
    """Make valid and invalid calls."""
    size = len(texts)
    out, wide = np.zeros((size, 4), np.float32), np.zeros((size + 1, 4), np.float32)
    known = WordTable()
    known.add(texts[:1], i4(1), i4(2))
    for block in (table.block(), known.block()):
        block.mean(texts, 0, size, ROWS, out, True)
        words = len(block.asked())
        counts, ids = np.full(words, 6, np.int32), np.ones(6 * words, np.int32)
        block.answer(counts, ids, texts, ROWS, out, True)
        block.words()
    block.learn(50, 1000)
    unanswered = WordTable().block()
    unanswered.mean(texts, 0, size, ROWS, out, True)
    invalid = [
        (block.mean, (5, 0, size, ROWS, out, True)),
        (block.mean, ([*texts, None], 0, size + 1, ROWS, wide, True)),
        (block.mean, (["\ud800", *texts], 0, size + 1, ROWS, wide, True)),
        (unanswered.answer, (i4(1), i4(1), texts, ROWS, out, True)),
        (known.add, (["y" * 5000], i4(-1), i4(1))),
        (known.add, ([3], i4(1), i4(1))),
        (known.cut_with, (["a" * 5000, "\ud800"], np.zeros(2, np.float32), True)),
        *((average, (*(GIVEN | WRONG[name]).values(), False)) for name in WRONG),
    ]
    for function, arguments in invalid:
        with pytest.raises((TypeError, ValueError, BufferError)):
            function(*arguments)


def test_calls_keep_no_references(table):
    texts = ["a Ünder " + "x" * 30, "b"]
    held = [*GIVEN.values(), table, texts, *texts]
    before = [sys.getrefcount(thing) for thing in held]
    for _ in range(50):
        use(table, texts)
    assert [sys.getrefcount(thing) for thing in held] == before


def resident_bytes() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_memory_does_not_grow_over_thousands_of_calls():
    texts = [f"word{i} Ünder x{i % 7}" * 40 for i in range(100)]
    for calls in (30, 250):
        before = resident_bytes()
        for _ in range(calls):
            use(WordTable(), texts)
    # a leak of one list of 100 texts per call would take 25 MiB
    assert resident_bytes() - before < 8 * 2**20


def cut(model: tuple[list[str], np.ndarray, bool], words: list[str]) -> list[list[int]]:
    """Ids of words as the table segments them."""
    known = WordTable(lowercase=False)
    known.cut_with(*model)
    found = read(known, " ".join(words))
    assert list(found) == words
    return [ids or [] for ids in found.values()]


def read(known: WordTable, text: str) -> dict[str, list[int] | None]:
    """Words that a table lacks, with their ids."""
    block = known.block()
    rows, out = np.zeros((100_000, 1), np.float32), np.empty((1, 1), np.float32)
    block.mean([text], 0, 1, rows, out, False)
    return block.words()


SCORES: dict[str, Callable[[str, float], float]] = {
    "as trained": lambda piece, score: score,
    "all equal": lambda piece, score: -1.0,
    "every path equal": lambda piece, score: -float(len(piece)),
    "long pieces never": lambda piece, score: -float(len(piece) ** 2),
    "unknown beside free pieces": lambda piece, score: 0.0,
    "few values": lambda piece, score: -float(len(piece) % 3),
}


@pytest.mark.parametrize("keep_unknown", [False, True])
@pytest.mark.parametrize("scores", SCORES)
def test_ascii_words_are_segmented_like_sentencepiece(scores, keep_unknown, subword):
    proto = ModelProto.FromString(subword._model)
    for piece in proto.pieces:
        piece.score = SCORES[scores](piece.piece, piece.score)
    tokenizer = SubwordTokenizer(proto.SerializeToString(), keep_unknown=keep_unknown)
    random = np.random.default_rng(0)
    known = [piece.strip(SPACE_MARK) for piece in tokenizer.tokens()[2:] if piece.isascii()]
    parts = [*filter(None, known), *"etaoin srhld#{~", *map(chr, range(33, 127))]
    words = {"".join(random.choice(parts, size)) for size in range(1, 12) for _ in range(300)}
    words |= {"a" * 5000, "#" * 100, *map(chr, range(33, 127))}
    chosen = sorted({part for word in words for part in word.lower().split()})
    expected = [row.tolist() for row in tokenizer.encode_batch(chosen)]
    assert cut(tokenizer.unigram(), chosen) == expected


def test_other_words_are_left_to_the_tokenizer(subword):
    known = WordTable()
    known.cut_with(*subword.unigram())
    words = read(known, "the été the")
    assert list(words) == ["the", "été"]
    assert words["the"]
    assert words["été"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        (["a", "b"], np.zeros(1, np.float32), True),
        (["a"], np.zeros(1), True),
        (["a", 3], np.zeros(2, np.float32), True),
        (["a", "\ud800"], np.zeros(2, np.float32), True),
        (("a",), np.zeros(1, np.float32), True),
        (["a"], None, True),
    ],
)
def test_a_wrong_model_is_refused_and_the_previous_one_stays(wrong, subword):
    known = WordTable()
    known.cut_with(*subword.unigram())
    expected = read(known, "the cat")
    with pytest.raises((ValueError, TypeError)):
        known.cut_with(*wrong)
    assert read(known, "the cat") == expected


def test_odd_models_give_valid_ids():
    """No pieces, no mark, the empty piece, infinite and NaN scores, duplicate pieces."""
    for pieces in ([], ["", "", "a"], ["", "", SPACE_MARK], ["a", "a", "aa"], ["é", "a\0"]):
        for score in (0.0, -1e38, np.inf, -np.inf, np.nan):
            for keep_unknown in (False, True):
                model = (pieces, np.full(len(pieces), score, np.float32), keep_unknown)
                for ids in cut(model, ["a", "aaaa", "b", "abab"]):
                    assert all(0 <= i < max(2, len(pieces)) for i in ids)
