import tracemalloc

import numpy as np
import pytest

from paraphrastic_hf.corpora.readers.words import load_vectors, read_vectors
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put, put_archive

GOOD = "the 0.5 -1\ncat 1e-2 0.25\nété 0 3\n"


def write(tmp_path, content):
    return put(tmp_path, {"vectors.txt": content}) / "vectors.txt"


def read(path, **options):
    return {word: vector.tolist() for word, vector in read_vectors(path, **options)}


@pytest.mark.parametrize("separator", [" ", "\t", "  "])
@pytest.mark.parametrize("header", ["", "3 2\n", " 3 2 \n"])
def test_words_and_numbers_are_read(tmp_path, header, separator):
    path = write(tmp_path, header + GOOD.replace(" ", separator).replace("\n", " \n", 1))
    words, table = load_vectors(path)
    assert words == ["the", "cat", "été"]
    np.testing.assert_array_equal(table, np.float32([[0.5, -1], [0.01, 0.25], [0, 3]]))


def test_packed_files_are_read(tmp_path):
    put(tmp_path, {"v.txt.gz": GOOD, "v.txt.xz": GOOD})
    put_archive(tmp_path / "one.zip", {"glove/v.txt": GOOD})
    put_archive(tmp_path / "two.zip", {"glove/v.txt": GOOD, "README": "hello"})
    names = ["v.txt.gz", "v.txt.xz", "one.zip", "one.zip/glove/v.txt", "two.zip/glove/v.txt"]
    for name in names:
        assert list(read(tmp_path / name)) == ["the", "cat", "été"]
    with pytest.raises(DataError):
        read(tmp_path / "two.zip")


def test_words_may_contain_spaces(tmp_path):
    rows = ["the 1.5 2.5", ". . . 1.5 2.5", "at name@domain.com 1.5 2.5", " th 1.5 2.5"]
    rows += ["e t 1.5 2.5", "a 1 1.5 2.5", "he  1.5 2.5"]
    path = write(tmp_path, "\n".join(rows))
    assert list(read(path)) == ["the", ". . .", "at name@domain.com", " th", "e t", "a 1", "he "]


BAD = {
    "ragged, short": (b"cat 0.25", "'cat'"),
    "ragged, long": (b"cat 0.25 0.5 0.75", "'cat'"),
    "not a number": (b"cat 0.25 x", ""),
    "nan": (b"cat 0.25 nan", "'nan'"),
    "inf": (b"cat -inf 0.25", "'-inf'"),
    "too large": (b"cat 1e39 0.25", "'1e39'"),
    "five thousand digits": (b"cat 1 " + b"9" * 5000, ""),
    "not utf-8": (b"caf\xe9 1 2", ""),
    "twice": (b"the 1 2", "'the'"),
    "no word": (b" 1.5 2.5", ""),
    "no number": (b"cat", "'cat'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_refused_or_skipped(tmp_path, name, caplog):
    row, value = BAD[name]
    path = write(tmp_path, b"the 0.5 -1\n" + row + b"\nend 1 1\n")
    with pytest.raises(DataError, match=rf"vectors\.txt:2 .*{value}"):
        read(path)
    assert read(path, bad_rows="skip") == {"the": [0.5, -1], "end": [1, 1]}
    assert "vectors.txt:2" in caplog.text
    assert " 1 of 3 " in caplog.text


def test_a_repeated_word_keeps_its_first_or_last_vector(tmp_path):
    path = write(tmp_path, "the 1 1\ncat 2 2\nthe 3 3\n")
    first, last = (load_vectors(path, bad_rows=choice) for choice in ("skip", "last"))
    assert first[0] == last[0] == ["the", "cat"]
    np.testing.assert_array_equal(first[1], [[1, 1], [2, 2]])
    np.testing.assert_array_equal(last[1], [[3, 3], [2, 2]])


UNUSABLE = {
    "empty": "",
    "blank": "\n\n",
    "header": "3 2\n",
    "no column": "2 0\nthe\ncat\n",
    "countless": "2 9999999999999\nthe 1\n",
    "no good row": "the\ncat\n",
    "long row": "the 1 2\n" + "x" * 100_000 + " 1",
    "long number": "the 1 2\ny 1 " + "x" * 100_000,
    "a line too few": "4 2\n" + GOOD,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_file_without_usable_vectors_is_refused_briefly(tmp_path, name):
    choices = ("refuse",) if name.startswith(("long", "a line")) else ("refuse", "skip")
    for choice in choices:
        with pytest.raises(DataError) as error:
            load_vectors(write(tmp_path, UNUSABLE[name]), bad_rows=choice)
        assert len(str(error.value)) < 1000


def test_unwanted_words_take_no_memory(tmp_path):
    numbers = " 0.125" * 50
    path = write(tmp_path, "".join(f"word{n}{numbers}\n" for n in range(20_000)))
    tracemalloc.start()
    found = read(path, wanted={"word7", "word19999"}, dimension=50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert list(found) == ["word7", "word19999"]
    assert peak < 1_000_000 < path.stat().st_size
