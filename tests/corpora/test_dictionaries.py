import gzip
import string

import pytest

from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put, rows, sides

pytestmark = pytest.mark.usefixtures("own_cache")
WORDS = {
    "bowl": "bowl /boul/ <n>\n1. fuente, pelvis\n2. (deep [and round]) cuenco\n",
    "boy": "boy\nchico; muchacho\n  Synonym: {lad}\n see: {girl}\n",
    "at": "at the end of the very long day\nal fin\n",
    "c": "c ˈsiː\nce\n",
    "00-database-info": "FreeDict\nesto no es una palabra\n",
}


def dictionary(words, packed=True):
    digits = string.ascii_uppercase + string.ascii_lowercase + "0123456789+/"
    lines, texts = [], b""
    for word, entry in words.items():
        start, length = len(texts), len(entry.encode())
        places = (digits[n // 64] + digits[n % 64] for n in (start, length))
        lines.append("\t".join([word, *places]))
        texts += entry.encode()
    index = "".join(f"{line}\n" for line in [*lines, lines[0]]).encode()
    return index, gzip.compress(texts) if packed else texts


def put_dictionary(folder, name, files):
    stem = f"freedict/usr/share/dictd/freedict-{name}"
    return put(folder, {f"{stem}.index": files[0], f"{stem}.dict.dz": files[1]})


def test_every_translation_of_a_word_is_a_row(tmp_path):
    put_dictionary(tmp_path, "eng-spa", dictionary(WORDS))
    back = {"chico": "chico\nboy, lad\n", "niña": "niña /niɲa/\n(small) girl\n"}
    put_dictionary(tmp_path, "spa-eng", dictionary(back))
    forth = [("bowl", "fuente"), ("bowl", "pelvis"), ("bowl", "cuenco")]
    forth += [("boy", "chico"), ("boy", "muchacho")]
    expected = [*forth, ("lad", "chico"), ("girl", "niña")]
    assert sides("freedict", "en-es", tmp_path) == expected


def test_definitions_of_wikdict_are_skipped(tmp_path):
    words = {
        "00-database-info": "svenska-Türkçe FreeDict+WikDict dictionary\n",
        "Alper": "Alper /alpɛr/ <pn>\nAlpler 2.\nbergskedja\n",
        "bank": "bank <n>\n1. banka\nställe för pengar\n2. kıyı, sahil\nkant\n 3.\nyta\n",
        "uppgift": "uppgift /a<sup>w</sup>/ <n>\ngörev\n1. något man bör göra\n2. mål\n",
        "vapen": "vapen //ˈvɑːpɛn// <n>\n1. silah\n1. skadande\n2. arma\n",
    }
    put_dictionary(tmp_path, "swe-tur", dictionary(words))
    senses = [("bank", "banka"), ("bank", "kıyı"), ("bank", "sahil"), ("uppgift", "görev")]
    expected = [("Alper", "Alpler"), *senses, ("vapen", "silah"), ("vapen", "arma")]
    assert sides("freedict", "sv-tr", tmp_path) == expected


def test_arabic_vowel_marks_are_removed(tmp_path):
    words = {"book": "book\nكِتَابٌ، book of words\n", "x": "x\n\n"}
    put_dictionary(tmp_path, "eng-ara", dictionary(words))
    assert rows("freedict", "ar-en", tmp_path) == [{"ar": "كتاب", "en": "book"}]


PACKED = gzip.compress(b"bowl\nfuente\n", mtime=0)  # equal in every process, for the test's name


@pytest.mark.parametrize(
    ("index", "entries"),
    [
        *((b"bowl\tA\n", b""), (b"bowl\tA\t*\n", b""), (b"bowl\tA\tZZ\n", PACKED)),
        *((b"bowl\tA\tB\n", PACKED[:-9]), (b"bowl\tA\tB\n", b"no gzip")),
    ],
)
def test_a_damaged_dictionary_is_refused(index, entries, tmp_path):
    put_dictionary(tmp_path, "eng-spa", (index, entries))
    with pytest.raises(DataError):
        rows("freedict", "en-es", tmp_path)


def test_a_missing_dictionary_is_refused(tmp_path):
    put_dictionary(tmp_path, "eng-spa", dictionary(WORDS))
    (tmp_path / "freedict/usr/share/dictd/freedict-eng-spa.dict.dz").unlink()
    for config in ("en-tr", "en-xx", "en-es"):
        with pytest.raises(DataError):
            rows("freedict", config, tmp_path)
