"""Bitext comes as people have it: aligned text, TSV, TMX, an OPUS zip; columns are languages."""

from __future__ import annotations

import logging
import random
import time
import tracemalloc
from pathlib import Path

import pytest

from paraphrastic_hf import load_dataset
from paraphrastic_hf.corpora.readers.bitext_files import NATIVE_CODES
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import Row, put, put_archive, rows

ENGLISH = "the boat leaves\nwhere is the cat ?\n"
FRENCH = "le bateau part\noù est le chat ?\n"
ROWS = [
    {"en": "the boat leaves", "fr": "le bateau part"},
    {"en": "where is the cat ?", "fr": "où est le chat ?"},
]
TSV = "".join(f"{row['en']}\t{row['fr']}\n" for row in ROWS)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))


def bitext(
    tmp_path: Path, files: dict[str, str | bytes], config: str = "en-fr", **options: object
) -> list[Row]:
    """The rows of a folder with these files."""
    return rows("bitext", config, put(tmp_path / "mine", files), **options)


# Aligned text and TSV


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Corpus.en-fr.en", "Corpus.en-fr.fr"),
        ("Corpus.fr-en.en", "Corpus.fr-en.fr"),
        ("train.en", "train.fr"),
        ("train.en.gz", "train.fr.gz"),
        ("train.en.xz", "train.fr"),
        ("deep/down/train.en", "deep/down/train.fr.gz"),
        ("c.en.bz2", "c.fr.bz2"),
        ("c.EN", "C.fr"),
    ],
)
def test_aligned_texts_are_found_by_their_endings(first: str, second: str, tmp_path: Path) -> None:
    assert bitext(tmp_path, {first: ENGLISH, second: FRENCH, "README": "read me"}) == ROWS


CLUTTER = ["__MACOSX/._a.en", "._a.en", "._a.fr", ".DS_Store", ".ipynb_checkpoints/b.en"]


def test_what_a_mac_and_a_notebook_leave_in_folders_and_archives_is_ignored(tmp_path: Path) -> None:
    files = {"a.en": ENGLISH, "a.fr": FRENCH, ".ipynb_checkpoints/b.fr": "no\n"}
    files |= dict.fromkeys(CLUTTER, "Mac OS X        \n")
    assert bitext(tmp_path, files) == ROWS
    assert rows("bitext", "en-fr", put_archive(tmp_path / "a.zip", files)) == ROWS


def test_columns_are_named_and_ordered_by_the_languages_asked_for(tmp_path: Path) -> None:
    files = {"a.en": ENGLISH, "a.fr": FRENCH}
    found = bitext(tmp_path, files, "fr-en")
    assert found == ROWS
    assert [list(row) for row in found] == [["fr", "en"]] * 2


def test_other_languages_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    files = {f"a.{side}": f"{side} 1\n{side} 2\n" for side in ("cs", "de", "en", "fr")}
    assert bitext(tmp_path, files, "de-fr")[0] == {"de": "de 1", "fr": "fr 1"}


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz", "a.tsv.bz2", "A.TSV"])
def test_a_tsv_is_read_from_its_folder_and_by_its_name(name: str, tmp_path: Path) -> None:
    assert bitext(tmp_path, {name: TSV}) == ROWS
    assert rows("bitext", "en-fr", tmp_path / "mine" / name) == ROWS


def test_of_several_tsvs_the_one_named_by_the_languages_is_read(tmp_path: Path) -> None:
    assert bitext(tmp_path, {"a.en-fr.tsv": TSV, "a.en-de.tsv": "x\ty\n"}) == ROWS


@pytest.mark.parametrize("names", [("a.tsv", "b.tsv"), ("a.tmx", "b.tsv")])
def test_a_choice_of_files_is_left_to_the_user(names: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there are several files, .*a\.\w+ and .*b.tsv; name one"):
        bitext(tmp_path, dict.fromkeys(names, TSV))


def test_a_choice_of_aligned_texts_is_left_to_the_user(tmp_path: Path) -> None:
    files = {f"{name}.en-fr.{side}": ENGLISH for name in "ab" for side in ("en", "fr")}
    with pytest.raises(DataError, match="there are several files"):
        bitext(tmp_path, files)


def test_columns_of_a_tsv_follow_the_languages_of_its_name(tmp_path: Path) -> None:
    assert bitext(tmp_path, {"a.en-fr.tsv": TSV}, "fr-en") == ROWS


@pytest.mark.parametrize("name", ["a.tsv", "a.fr-en.tsv"])
def test_a_first_line_of_codes_says_the_order_of_the_columns(name: str, tmp_path: Path) -> None:
    text = "id\tfr\ten\n" + "".join(f"{n}\t{r['fr']}\t{r['en']}\n" for n, r in enumerate(ROWS))
    for config in ("en-fr", "fr-en"):
        assert bitext(tmp_path, {name: text}, config) == ROWS


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_tab_inside_a_sentence_pairs_no_halves(
    place: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = TSV.splitlines()
    lines.insert(place, "hello there \tfriend\tbonjour ami")
    with caplog.at_level(logging.WARNING):
        assert bitext(tmp_path, {"a.tsv": "\n".join(lines)}) == ROWS
    assert f"(a.tsv:{place + 1})" in caplog.text


def test_more_bad_rows_than_allowed_are_refused(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.tsv": TSV + "no tab here\n" * 3}
    with pytest.raises(DataError, match=r"a\.tsv:3.*max_bad_rows"):
        bitext(tmp_path, files)
    assert bitext(tmp_path, files, max_bad_rows=0.6) == ROWS


def test_paraphrases_of_one_language_have_numbered_columns(tmp_path: Path) -> None:
    assert bitext(tmp_path, {"a.tsv": "a cat\tone cat\n"}, "en-en") == [
        {"en1": "a cat", "en2": "one cat"}
    ]


@pytest.mark.parametrize("name", ["a.en", "a.en-en.en", "a.tmx"])
def test_a_text_is_not_its_own_translation(name: str, tmp_path: Path) -> None:
    text = "<tmx><body><tu><tuv lang='en'><seg>a</seg></tuv></tu></body></tmx>"
    with pytest.raises(DataError, match=r"holds no (en-en bitext|row)"):
        bitext(tmp_path, {name: text if name.endswith("tmx") else ENGLISH}, "en-en")


@pytest.mark.parametrize("longer", ["a.en", "a.fr"])
def test_texts_of_different_length_are_refused(longer: str, tmp_path: Path) -> None:
    files = {"a.en": ENGLISH, "a.fr": FRENCH}
    files[longer] += "one more\n"
    with pytest.raises(DataError, match=r"a\.(en|fr) .*(goes on|fewer lines).*align them first"):
        bitext(tmp_path, files)


def test_a_bad_row_is_counted_or_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"a.en": ENGLISH + "left\n", "a.fr": FRENCH + "\n"}
    with caplog.at_level(logging.WARNING):
        assert bitext(tmp_path, files) == ROWS
    assert "1 row skipped: 1 with an empty side (a.en:3)" in caplog.text
    with pytest.raises(DataError, match=r"a\.en:3 is a row with an empty side"):
        bitext(tmp_path, files, bad_rows="refuse")


def test_rows_can_be_filtered_by_words_on_both_sides(tmp_path: Path) -> None:
    assert bitext(tmp_path, {"a.tsv": TSV}, min_words=4) == ROWS[1:]
    assert bitext(tmp_path, {"a.tsv": TSV}, max_words=4) == ROWS[:1]
    assert bitext(tmp_path, {"a.tsv": TSV}, min_words=3, max_words=5) == ROWS
    uneven = {"a.tsv": "one two three four five\tun deux trois\n" + TSV}
    assert bitext(tmp_path, uneven, min_words=4) == ROWS[1:]
    assert bitext(tmp_path, uneven, max_words=4) == ROWS[:1]


def test_copies_can_be_filtered_by_overlap(tmp_path: Path) -> None:
    text = TSV + "Chapter 1 , page 2\tChapter 1 , page 3\n"
    assert bitext(tmp_path, {"a.tsv": text}, max_overlap=0.5) == ROWS


@pytest.mark.parametrize("config", ["enfr", "en-", "-fr", "-"])
def test_a_configuration_is_two_languages(config: str, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="needs two language codes as its configuration, such as en-fr"
    ):
        bitext(tmp_path, {"a.tsv": TSV}, config)


def test_bitext_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="needs two language codes"):
        load_dataset("bitext", data_dir=tmp_path)


def test_a_folder_without_bitext_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine holds no en-fr bitext; expected \*\.en with \*\.fr"):
        bitext(tmp_path, {"a.en": ENGLISH, "a.de": FRENCH})


# TMX


def unit(**texts: str) -> str:
    variants = (
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{text}</seg></tuv>'
        for language, text in texts.items()
    )
    return f"<tu>{''.join(variants)}</tu>"


def tmx(*units: str, attributes: str = "", head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>\n{head}<tmx version="1.4"{attributes}><header/>\n'
        f"<body>{''.join(units)}</body></tmx>"
    )


UNITS = tuple(unit(**row) for row in ROWS)


@pytest.mark.parametrize("name", ["a.tmx", "a.tmx.gz"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"attributes": ' xmlns="http://www.lisa.org/tmx14"'},
        {"head": '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'},
    ],
    ids=["plain", "namespace", "document type"],
)
def test_a_tmx_is_read(name: str, how: dict[str, str], tmp_path: Path) -> None:
    assert bitext(tmp_path, {name: tmx(*UNITS, **how)}) == ROWS
    assert bitext(tmp_path, {name: tmx(*UNITS, **how)}, "fr-en") == ROWS


def test_languages_may_have_regions_and_capitals(tmp_path: Path) -> None:
    text = tmx(unit(en_US="a", fr_CA="b"), unit(EN="c", FR="d"))
    assert bitext(tmp_path, {"a.tmx": text}) == [{"en": "a", "fr": "b"}, {"en": "c", "fr": "d"}]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("en_gb-fr_ca", [("colour", "auto"), ("a", "b")]),
        ("en_us-fr", [("color", "char"), ("a", "b")]),
        ("en-fr_be", [("a", "b")]),
        ("en-fr", [("color", "char"), ("a", "b")]),
    ],
)
def test_a_region_that_is_asked_for_wins_over_the_bare_language(
    config: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    text = tmx(
        unit(en_US="color", en_GB="colour", fr_FR="char", fr_CA="auto"), unit(en="a", fr="b")
    )
    assert [tuple(row.values()) for row in bitext(tmp_path, {"a.tmx": text}, config)] == expected


def test_native_codes_are_no_text_and_highlighted_text_is(tmp_path: Path) -> None:
    codes = "".join(f'<{code} i="1">&lt;b&gt;<sub>x</sub></{code}>' for code in NATIVE_CODES)
    text = tmx(unit(en=f"a {codes}<hi>big <it>&lt;i&gt;</it>cat</hi>.", fr="b"))
    assert bitext(tmp_path, {"a.tmx": text}) == [{"en": "a big cat.", "fr": "b"}]


def test_old_files_name_the_language_without_a_namespace(tmp_path: Path) -> None:
    assert bitext(tmp_path, {"a.tmx": tmx(*UNITS).replace("xml:lang", "lang")}) == ROWS


def test_markup_and_line_ends_inside_a_segment_are_no_text(tmp_path: Path) -> None:
    text = tmx(unit(en="a <hi>big</hi>\n   cat &amp; dog", fr="b"), unit(de="x", en="c", fr="d"))
    assert bitext(tmp_path, {"a.tmx": text}) == [
        {"en": "a big cat & dog", "fr": "b"},
        {"en": "c", "fr": "d"},
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_tmx_may_have_the_encodings_of_xml(encoding: str, tmp_path: Path) -> None:
    text = tmx(*UNITS).replace('"1.0"', f'"1.0" encoding="{encoding[:6].rstrip("-")}"', 1)
    assert bitext(tmp_path, {"a.tmx": text.encode(encoding)}) == ROWS


def test_a_unit_without_a_language_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = tmx(UNITS[0], unit(en="alone"), UNITS[1], "<tu/>", "<tu><tuv/></tu>")
    with caplog.at_level(logging.WARNING):
        assert bitext(tmp_path, {"a.tmx": text}) == ROWS
    assert "3 rows skipped: 3 without en and fr (a.tmx:unit 2, a.tmx:unit 4" in caplog.text
    with pytest.raises(DataError, match=r"a\.tmx:unit 2 is a row without en and fr"):
        bitext(tmp_path, {"a.tmx": text}, bad_rows="refuse")


MANY = tmx(*(unit(en=f"{random.Random(n).random()}", fr=f"nombre {n}") for n in range(3000)))


@pytest.mark.parametrize("kept", [0, 100, len(MANY) // 2, len(MANY) - 5])
def test_a_truncated_tmx_is_a_data_error(kept: int, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.tmx is no whole TMX file after unit \d+"):
        bitext(tmp_path, {"a.tmx": MANY[:kept]})


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_a_packed_tmx_cut_short_is_a_data_error(ending: str, tmp_path: Path) -> None:
    path = put(tmp_path, {f"a.tmx{ending}": MANY}) / f"a.tmx{ending}"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=rf"a\.tmx{ending} is no whole TMX file"):
        rows("bitext", "en-fr", path)


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_a_packed_tmx_with_changed_bytes_is_a_data_error(ending: str, tmp_path: Path) -> None:
    path = put(tmp_path, {f"a.tmx{ending}": MANY}) / f"a.tmx{ending}"
    data = path.read_bytes()
    path.write_bytes(data[:20] + b"\xff" * 50 + data[70:])
    with pytest.raises(DataError, match=rf"a\.tmx{ending} is "):
        rows("bitext", "en-fr", path)


def test_latin_1_text_in_a_tmx_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"utf-8.*iconv"):
        bitext(tmp_path, {"a.tmx": tmx(*UNITS).encode("latin-1")})


@pytest.mark.parametrize("encoding", ["shift_jis", "gb2312", "klingon"])
def test_a_tmx_in_an_encoding_that_cannot_be_read_is_a_data_error(
    encoding: str, tmp_path: Path
) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><tmx><body></body></tmx>'
    with pytest.raises(DataError, match=encoding):
        bitext(tmp_path, {"a.tmx": text.encode("ascii")})


def test_an_entity_bomb_does_not_explode(tmp_path: Path) -> None:
    """Ten entities, each ten of the one before: a gigabyte, were it unpacked."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<!DOCTYPE tmx [<!ENTITY e0 "ha">{entities}]>'
    start = time.perf_counter()
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="is no whole TMX file"):
            bitext(tmp_path, {"a.tmx": tmx(unit(en="&e9;", fr="b"), head=head)})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 256 * 2**20
    assert time.perf_counter() - start < 10


def test_an_entity_does_not_read_files(tmp_path: Path) -> None:
    put(tmp_path, {"secret.txt": "secret"})
    head = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    with pytest.raises(DataError, match="undefined entity"):
        bitext(tmp_path, {"a.tmx": tmx(unit(en="&x;", fr="b"), head=head)})


# Corpora


@pytest.mark.parametrize("name", ["bitext", "europarl", "opensubtitles2018", "news_commentary"])
@pytest.mark.parametrize("config", ["en-fr", "fr-en"])
def test_an_opus_zip_is_a_data_dir(name: str, config: str, tmp_path: Path) -> None:
    inside = {
        "Europarl.en-fr.en": ENGLISH,
        "Europarl.en-fr.fr": FRENCH,
        "README": "",
        "LICENSE": "",
    }
    archive = put_archive(tmp_path / "en-fr.txt.zip", inside)
    assert rows(name, config, archive) == ROWS


def test_an_opus_zip_lies_in_a_folder_of_many_corpora(tmp_path: Path) -> None:
    inside = {"Tanzil.en-fr.en": ENGLISH, "Tanzil.en-fr.fr": FRENCH}
    put_archive(tmp_path / "Tanzil" / "en-fr.txt.zip", inside)
    assert rows("tanzil", "en-fr", tmp_path) == ROWS


def test_czeng_has_czech_and_english_in_its_last_columns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = "subtitlesM-b1-00train-f000001-s{}\t0.99\tAno .\tYes .\n"
    files = {
        "data.plaintext-format/00train.gz": line.format(1) + line.format(2),
        "data.plaintext-format/01train.gz": line.format(3) + "id\t0.5\tno English\n",
        "data.plaintext-format/00dtest.gz": line.format(4),
    }
    assert (
        rows("czeng", "cs-en", put(tmp_path / "czeng", files))
        == [{"cs": "Ano .", "en": "Yes ."}] * 3
    )
    assert "(01train.gz:2)" in caplog.text


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_gigaword_is_two_aligned_texts(ending: str, tmp_path: Path) -> None:
    stem = "giga-fren/giga-fren.release2.fixed"
    files = {f"{stem}.en{ending}": ENGLISH, f"{stem}.fr{ending}": FRENCH}
    assert rows("gigaword", "en-fr", put(tmp_path, files)) == ROWS


def test_multi30k_has_all_its_splits(tmp_path: Path) -> None:
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
    with pytest.raises(DataError, match=r"multi30k: val\.fr\.gz or .* is not in"):
        load_dataset("multi30k", "en-fr", data_dir=tmp_path, cache_dir=tmp_path / "rows")
