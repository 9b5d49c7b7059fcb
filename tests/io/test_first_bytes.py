"""What the first bytes of a text say of it."""

import codecs

import numpy as np
import pytest

from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import checked_start


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named_with_and_without_its_mark(encoding: str) -> None:
    with pytest.raises(DataError, match=r"a\.tsv.*iconv"):
        checked_start("a cat\tun chat\n".encode(encoding), "a.tsv")


@pytest.mark.parametrize("head", [b"", b"a cat\n", b"a\0cat sleeps\n", codecs.BOM_UTF8 + b"a"])
def test_utf_8_is_read_though_a_byte_is_nul(head: bytes) -> None:
    assert checked_start(head, "a.tsv") == head.removeprefix(codecs.BOM_UTF8)


def test_the_markup_of_recent_wmt_is_no_text() -> None:
    with pytest.raises(DataError, match=r"a\.xml"):
        checked_start(b'<dataset id="wmt22">\n', "a.xml")


@pytest.mark.parametrize("dimension", [2.0, True, "2"])
def test_a_dimension_is_a_whole_number(dimension: object) -> None:
    with pytest.raises(TypeError, match=str(dimension)):
        Table.of(np.ones((3, 4), np.float32)).with_dimension(dimension)  # type: ignore[arg-type]
