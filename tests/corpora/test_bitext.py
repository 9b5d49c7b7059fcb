import gzip
import random
import string
import tracemalloc

import pytest

from paraphrastic_hf import load_dataset
from paraphrastic_hf.corpora.readers.bitext_files import NATIVE_CODES
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put, put_archive, rows, sides

pytestmark = pytest.mark.usefixtures("own_cache")
ENGLISH = "the boat leaves\nwhere is the cat ?\n"
FRENCH = "le bateau part\noù est le chat ?\n"
ROWS = [
    {"en": "the boat leaves", "fr": "le bateau part"},
    {"en": "where is the cat ?", "fr": "où est le chat ?"},
]
TSV = "".join(f"{row['en']}\t{row['fr']}\n" for row in ROWS)


def bitext(tmp_path, files, config="en-fr", **options):
    return rows("bitext", config, put(tmp_path / "mine", files), **options)


CODES = "id\tfr\ten\n" + "".join(f"{n}\t{r['fr']}\t{r['en']}\n" for n, r in enumerate(ROWS))
NAMED = [  # names or first lines that show the languages
    *(
        {first: ENGLISH, second: FRENCH, "README": "read me", "b.cs": "x\n", "b.de": "y\n"}
        for first, second in [
            ("Corpus.en-fr.en", "Corpus.en-fr.fr"),
            ("Corpus.fr-en.en", "Corpus.fr-en.fr"),
            ("train.en", "train.fr"),
            ("train.en.xz", "train.fr"),
            ("deep/down/train.en", "deep/down/train.fr.gz"),
            ("c.en.bz2", "c.fr.bz2"),
            ("c.EN", "C.fr"),
        ]
    ),
    {"a.en-fr.tsv": TSV, "a.en-de.tsv": "x\ty\n"},
    {"a.tsv": CODES},
    {"a.fr-en.tsv": CODES},
]


@pytest.mark.parametrize("files", NAMED, ids=" ".join)
@pytest.mark.parametrize("config", ["en-fr", "fr-en"])
def test_columns_follow_the_requested_languages(files, config, tmp_path):
    found = bitext(tmp_path, files, config)
    assert found == ROWS
    assert [list(row) for row in found] == [config.split("-")] * 2


CLUTTER = ["__MACOSX/._a.en", "._a.en", "._a.fr", ".DS_Store", ".ipynb_checkpoints/b.en"]


def test_hidden_files_are_ignored(tmp_path):
    files = {"a.en": ENGLISH, "a.fr": FRENCH, ".ipynb_checkpoints/b.fr": "no\n"}
    files |= dict.fromkeys(CLUTTER, "Mac OS X        \n")
    assert bitext(tmp_path, files) == ROWS
    assert rows("bitext", "en-fr", put_archive(tmp_path / "a.zip", files)) == ROWS


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "A.TSV"])
def test_a_tsv_is_read_from_its_folder_or_path(name, tmp_path):
    assert bitext(tmp_path, {name: TSV}) == ROWS
    assert rows("bitext", "en-fr", tmp_path / "mine" / name) == ROWS


@pytest.mark.parametrize(
    "names",
    [
        ["a.tsv", "b.tsv"],
        ["a.tmx", "b.tsv"],
        ["a.en-fr.en", "a.en-fr.fr", "b.en-fr.en", "b.en-fr.fr"],
    ],
)
def test_several_files_are_refused(names, tmp_path):
    with pytest.raises(DataError):
        bitext(tmp_path, dict.fromkeys(names, TSV))


@pytest.mark.parametrize("name", ["a.en", "a.en-en.en", "a.tmx"])
def test_a_text_is_not_its_own_translation(name, tmp_path):
    paraphrases = bitext(tmp_path / "two", {"a.tsv": "a cat\tone cat\n"}, "en-en")
    assert paraphrases == [{"en1": "a cat", "en2": "one cat"}]
    text = "<tmx><body><tu><tuv lang='en'><seg>a</seg></tuv></tu></body></tmx>"
    with pytest.raises(DataError):
        bitext(tmp_path, {name: text if name.endswith("tmx") else ENGLISH}, "en-en")


def test_a_bad_row_is_counted_or_refused(tmp_path, caplog):
    files = {"a.tsv": TSV + "no tab here\n" * 3}
    with pytest.raises(DataError, match=r"a\.tsv:3"):
        bitext(tmp_path / "tsv", files)
    assert bitext(tmp_path / "tsv", files, max_bad_rows=0.6) == ROWS
    for longer in ({"a.en": ENGLISH + "more\n"}, {"a.fr": FRENCH + "plus\n"}):
        with pytest.raises(DataError):
            bitext(tmp_path, {"a.en": ENGLISH, "a.fr": FRENCH, **longer})
    files = {"a.en": ENGLISH + "left\n", "a.fr": FRENCH + "\n"}
    assert bitext(tmp_path, files) == ROWS
    assert "(a.en:3)" in caplog.text
    with pytest.raises(DataError, match=r"a\.en:3"):
        bitext(tmp_path, files, bad_rows="refuse")


@pytest.mark.parametrize("config", ["enfr", "en-", "-fr", "-", None, "en-de"])
def test_invalid_language_pairs_are_refused(config, tmp_path):
    with pytest.raises(DataError):
        rows("bitext", config, put(tmp_path / "mine", {"a.en": ENGLISH, "a.fr": FRENCH}))


def unit(**texts):
    variants = (
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{text}</seg></tuv>'
        for language, text in texts.items()
    )
    return f"<tu>{''.join(variants)}</tu>"


def tmx(*units, attributes="", head=""):
    return (
        f'<?xml version="1.0"?>\n{head}<tmx version="1.4"{attributes}><header/>\n'
        f"<body>{''.join(units)}</body></tmx>"
    )


UNITS = tuple(unit(**row) for row in ROWS)


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize(
    "text",
    [
        tmx(*UNITS),
        tmx(*UNITS, attributes=' xmlns="http://www.lisa.org/tmx14"'),
        tmx(*UNITS, head='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'),
        tmx(*UNITS).replace("xml:lang", "lang"),
        tmx(*UNITS).replace('"1.0"', '"1.0" encoding="utf-8"', 1).encode("utf-8-sig"),
        tmx(*UNITS).replace('"1.0"', '"1.0" encoding="utf-16"', 1).encode("utf-16"),
        tmx(*(unit(en_US=row["en"], FR=row["fr"]) for row in ROWS)),
    ],
    ids=["plain", "namespace", "document type", "old", "BOM", "UTF-16", "regions and capitals"],
)
def test_a_tmx_is_read(text, end, tmp_path):
    assert bitext(tmp_path, {f"a.tmx{end}": text}) == ROWS
    assert bitext(tmp_path, {f"a.tmx{end}": text}, "fr-en") == ROWS


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("en_gb-fr_ca", [("colour", "auto"), ("a", "b")]),
        ("en_us-fr", [("color", "char"), ("a", "b")]),
        ("en-fr_be", [("a", "b")]),
        ("en-fr", [("color", "char"), ("a", "b")]),
    ],
)
def test_a_requested_region_is_preferred(config, expected, tmp_path):
    text = tmx(
        unit(en_US="color", en_GB="colour", fr_FR="char", fr_CA="auto"), unit(en="a", fr="b")
    )
    assert [tuple(row.values()) for row in bitext(tmp_path, {"a.tmx": text}, config)] == expected


def test_markup_and_line_ends_in_segments_are_removed(tmp_path):
    codes = "".join(f'<{code} i="1">&lt;b&gt;<sub>x</sub></{code}>' for code in NATIVE_CODES)
    text = tmx(
        unit(en=f"a {codes}<hi>big <it>&lt;i&gt;</it>\n  cat</hi> &amp; dog.", fr="b"),
        unit(de="x", en="c", fr="d"),
    )
    expected = [{"en": "a big cat & dog.", "fr": "b"}, {"en": "c", "fr": "d"}]
    assert bitext(tmp_path, {"a.tmx": text}) == expected


def test_a_unit_without_a_language_is_counted(tmp_path, caplog):
    text = tmx(UNITS[0], unit(en="alone"), UNITS[1], "<tu/>", "<tu><tuv/></tu>")
    assert bitext(tmp_path, {"a.tmx": text}) == ROWS
    assert "(a.tmx:unit 2, a.tmx:unit 4" in caplog.text
    with pytest.raises(DataError, match=r"a\.tmx:unit 2"):
        bitext(tmp_path, {"a.tmx": text}, bad_rows="refuse")


MANY = tmx(*(unit(en=f"{random.Random(n).random()}", fr=f"nombre {n}") for n in range(3000)))


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_a_damaged_tmx_is_refused(ending, tmp_path):
    path = put(tmp_path, {f"a.tmx{ending}": MANY}) / f"a.tmx{ending}"
    data = path.read_bytes()
    changed = data[:20] + b"\xff" * 50 + data[70:]
    for damaged in (data[:0], data[:100], data[: len(data) // 2], data[:-5], changed):
        path.write_bytes(damaged)
        with pytest.raises(DataError):
            rows("bitext", "en-fr", path)

    for encoding in ("shift_jis", "gb2312", "klingon", "utf-8"):
        text = tmx(*UNITS).replace('"1.0"', f'"1.0" encoding="{encoding}"', 1)
        with pytest.raises(DataError):
            bitext(tmp_path, {"a.tmx": text.encode("latin-1")})


def test_entities_neither_explode_nor_read_files(tmp_path):
    # ten entities, each ten times the previous one: a gigabyte if expanded
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<!DOCTYPE tmx [<!ENTITY e0 "ha">{entities}]>'
    tracemalloc.start()
    try:
        with pytest.raises(DataError):
            bitext(tmp_path, {"a.tmx": tmx(unit(en="&e9;", fr="b"), head=head)})
        assert tracemalloc.get_traced_memory()[1] < 256 * 2**20
    finally:
        tracemalloc.stop()
    put(tmp_path, {"secret.txt": "secret"})
    head = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    with pytest.raises(DataError):
        bitext(tmp_path, {"a.tmx": tmx(unit(en="&x;", fr="b"), head=head)})


@pytest.mark.parametrize("name", ["bitext", "europarl", "opensubtitles2018", "news_commentary"])
@pytest.mark.parametrize("config", ["en-fr", "fr-en"])
def test_opus_zips_are_read(name, config, tmp_path):
    inside = {"a.en-fr.en": ENGLISH, "a.en-fr.fr": FRENCH, "README": "", "LICENSE": ""}
    assert rows(name, config, put_archive(tmp_path / "Tanzil" / "en-fr.txt.zip", inside)) == ROWS
    assert rows("tanzil", config, tmp_path) == ROWS
    stem = "giga-fren/giga-fren.release2.fixed"
    put(tmp_path, {f"{stem}.en.gz": ENGLISH, f"{stem}.fr.gz": FRENCH})
    assert rows("gigaword", "en-fr", tmp_path) == ROWS


def test_czeng_has_czech_and_english_in_its_last_columns(tmp_path, caplog):
    line = "subtitlesM-b1-00train-f000001-s{}\t0.99\tAno .\tYes .\n"
    files = {
        "data.plaintext-format/00train.gz": line.format(1) + line.format(2),
        "data.plaintext-format/01train.gz": line.format(3) + "id\t0.5\tno English\n",
        "data.plaintext-format/00dtest.gz": line.format(4),
    }
    found = rows("czeng", "cs-en", put(tmp_path / "czeng", files))
    assert found == [{"cs": "Ano .", "en": "Yes ."}] * 3
    assert "(01train.gz:2)" in caplog.text


def test_multi30k_has_all_its_splits(tmp_path):
    stems = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    folder = put(
        tmp_path / "multi30k",
        {f"task1/raw/{s}.{side}.gz": f"{s} {side}\n" for s in stems for side in ("en", "fr")},
    )
    found = load_dataset("multi30k", "en-fr", data_dir=tmp_path, cache_dir=tmp_path / "rows")
    assert list(found) == ["train", "validation", *stems[2:]]
    assert found["validation"][0] == {"en": "val en", "fr": "val fr"}
    assert rows("multi30k", "en-fr", folder, "test_2017_mscoco")[0]["fr"] == "test_2017_mscoco fr"
    (folder / "task1" / "raw" / "val.fr.gz").unlink()
    with pytest.raises(DataError):
        load_dataset("multi30k", "en-fr", data_dir=tmp_path, cache_dir=tmp_path / "rows")


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
