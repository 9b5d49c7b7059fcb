import logging

import pytest

from paraphrastic_hf import load_dataset
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put, put_archive, rows, sides

PARANMT = {
    "good": ("the ferry leaves at dawn .", "the boat departs at dawn .", 0.9),
    "copy": ("so , what 's half of 96 ?", "so , what 's half of 96 ?", 1.0),
    "short": ("yes .", "aye .", 0.4),
    "odd": ('he said "no', 'no" , he said', -0.2),
}
MARKS = "\u2028\u0085\x0b\x1c"


pytestmark = pytest.mark.usefixtures("own_cache")


def paranmt_text(*names):
    return "".join(f"{a}\t{b}\t{score}\n" for a, b, score in map(PARANMT.get, names or PARANMT))


def paranmt(tmp_path, *names):
    return put(tmp_path / "paranmt", {"para-nmt-50m.txt": paranmt_text(*names)})


def scores(data_dir, **options):
    return [row["score"] for row in rows("paranmt", "50m", data_dir, **options)]


@pytest.mark.parametrize("name", ["para-nmt-50m.txt", "para-nmt-50m.txt.gz", "para-nmt-50m.txt.xz"])
def test_paranmt_is_read_plain_and_packed(name, tmp_path, caplog):
    folder = put(tmp_path / "paranmt", {name: paranmt_text()})
    names = ("sentence1", "sentence2", "score")
    expected = [dict(zip(names, row, strict=True)) for row in PARANMT.values()]
    assert rows("paranmt", "50m", folder) == expected
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"min_score": 0.5, "max_score": 0.95}, ["good"]),
        ({"max_overlap": 0.5}, ["good", "short", "odd"]),
        ({"max_words": 4}, ["short", "odd"]),
        ({"min_score": 0.0, "max_overlap": 0.5, "min_words": 3}, ["good"]),
    ],
    ids=str,
)
def test_filters_are_options(options, kept, tmp_path):
    assert scores(paranmt(tmp_path), **options) == [PARANMT[name][2] for name in kept]


def test_invalid_options_are_refused(tmp_path):
    other = put(tmp_path / "other", {"other.txt": "text"})
    calls = [(paranmt(tmp_path), {"bad_rows": "refused"}), (other, {})]
    for place, options in (*calls, (paranmt(tmp_path), {"min_score": 2.0})):
        with pytest.raises(DataError):
            scores(place, **options)


@pytest.mark.parametrize(
    "bad", ["no score\there", "left\tright\tgood", "left\tright\tnan", "left\tright\t-inf"]
)
def test_malformed_rows_are_skipped_or_refused(bad, tmp_path, caplog):
    text = f"{paranmt_text('good')}{bad}\n{paranmt_text('short')}"
    folder = put(tmp_path / "paranmt", {"para-nmt-50m.txt": text})
    assert scores(folder) == [0.9, 0.4]
    assert "(para-nmt-50m.txt:2)" in caplog.text
    with pytest.raises(DataError, match=r"para-nmt-50m\.txt:2 "):
        scores(folder, bad_rows="refuse")


def test_the_5m_release_has_no_scores(tmp_path):
    folder = put(tmp_path / "paranmt", {"para-nmt-5m-processed.txt": "a b\tc d\ne\tf\n"})
    assert rows("paranmt", "5m", folder, min_words=2) == [{"sentence1": "a b", "sentence2": "c d"}]


def ppdb_line(first, second, *, score="3.1", relation="Equivalence"):
    features = f"PPDB2.0Score={score} PPDB1.0Score=9.5 p(e|f)=0.5 p(f|e)=1.2 AGigaSim=0.8"
    return f"[NN] ||| {first} ||| {second} ||| {features} ||| 0-0 ||| {relation}\n"


PPDB_1 = "[VP/NP] ||| {} ||| {} ||| Abstract=0 Lex(e|f)=62.9 p(e|f)={} p(f|e)={} ||| 0-0 1-1\n"
PAIRS = [("cat", "feline"), ("feline", "cat"), ("mp3", "song"), ("ox", "ox"), ("ox", "cow")]


def ppdb(tmp_path, config, text, ending=".gz"):
    return put(tmp_path / "ppdb", {f"ppdb-{config}{ending}": text})


@pytest.mark.parametrize("ending", [".gz", "", ".txt"])
def test_ppdb_2_has_score_syntax_and_entailment(ending, tmp_path):
    text = ppdb_line("cat", "feline", score="3.5") + ppdb_line("c", "d", score="3.4999")
    folder = ppdb(tmp_path, "2.0-s-lexical", text, ending)
    (row,) = rows("ppdb", "2.0-s-lexical", folder, min_score=3.5)
    assert list(row.values()) == ["cat", "feline", 3.5, "[NN]", "Equivalence"]
    assert list(row) == ["sentence1", "sentence2", "score", "syntax", "entailment"]


def test_ppdb_1_is_scored_by_the_probabilities_both_ways(tmp_path):
    text = PPDB_1.format("of the", "of a", "0.5", "1.25") + PPDB_1.format("a", "c", "7.5", "3.0")
    better, worse = rows("ppdb", "1.0-xl-phrasal", ppdb(tmp_path, "1.0-xl-phrasal", text))
    assert list(better.values()) == ["of the", "of a", -1.75, "[VP/NP]", None]
    assert worse["score"] == -10.5


def test_word_pairs_are_unique_and_in_the_vocabulary(tmp_path):
    text = "".join(ppdb_line(*pair, score=f"{n}") for n, pair in enumerate([*PAIRS, PAIRS[0]]))
    folder = ppdb(tmp_path, "2.0-s-lexical", text)
    assert sides("ppdb", "2.0-s-lexical", folder) == [*PAIRS, PAIRS[0]]
    found = rows("ppdb", "2.0-s-lexical", folder, word_pairs=True)
    assert [(row["sentence1"], row["score"]) for row in found] == [("cat", 0), ("ox", 4)]
    words = put(tmp_path, {"words.txt": "ox 0.1 0.2\ncow 0.3 0.4\n\ncat 0.5 0.6\n"})
    options = {"word_pairs": True, "vocabulary": str(words / "words.txt")}
    assert sides("ppdb", "2.0-s-lexical", folder, **options) == [("ox", "cow")]


def test_a_changed_vocabulary_is_read_again(tmp_path):
    text = ppdb_line("ox", "cow") + ppdb_line("cat", "feline") + ppdb_line("big dog", "hound")
    folder = ppdb(tmp_path, "2.0-s-lexical", text)
    options = {"word_pairs": True, "vocabulary": str(tmp_path / "words.txt")}
    for words, expected in (("ox\ncow\n", ("ox", "cow")), ("cat\nfeline\n", ("cat", "feline"))):
        put(tmp_path, {"words.txt": words})
        (row,) = load_dataset("ppdb", "2.0-s-lexical", "train", data_dir=folder, **options)
        assert (row["sentence1"], row["sentence2"]) == expected
    whole = sides("ppdb", "2.0-s-lexical", folder, word_pairs=True)
    assert whole == [("ox", "cow"), ("cat", "feline")]  # a phrase is no word


@pytest.mark.parametrize(
    "bad",
    [
        "[NN] ||| a ||| b ||| Abstract=0 Lex(e|f)=62.9 ||| 0-0\n",
        "[NN] ||| a ||| b ||| p(e|f)=0.5 ||| 0-0\n",
        "[NN] ||| a ||| b ||| p(e|f)=0.5 p(f|e)=high ||| 0-0\n",
        "[NN] ||| a ||| b ||| PPDB2.0Score=high ||| 0-0 ||| Equivalence\n",
        ppdb_line("a", "b", score="nan"),
        "[NN] ||| a ||| b\n",
        "a\tb\n",
    ],
)
def test_a_row_without_features_is_refused(bad, tmp_path):
    folder = ppdb(tmp_path, "2.0-s-lexical", ppdb_line("a", "b") + bad)
    with pytest.raises(DataError, match=r"ppdb-2\.0-s-lexical\.gz:2 "):
        rows("ppdb", "2.0-s-lexical", folder)


def test_ppdb_synonyms_are_word_pairs(tmp_path):
    name = "mwa_ppdb/ppdb-1.0-xxxl-lexical.extended.synonyms.uniquepairs"
    archive = put_archive(tmp_path / "mwa_ppdb.zip", {name: "cat\tfeline\nfeline\tcat\nx2\ty\n"})
    assert len(sides("ppdb_synonyms", None, archive)) == 3
    assert sides("ppdb_synonyms", None, archive, word_pairs=True) == [("cat", "feline")]


NORMAL = "Ox\t0\tThe ox , also a bullock .\nCat\t4\tCats are felines .\n"
SIMPLE = "Ox\t0\tAn ox is a cow .\nCat\t1\tCats are small .\n"
V2 = {"normal.aligned": NORMAL, "simple.aligned": SIMPLE}
V1 = {
    f"{side}.{part}.txt": f"{side} {part} 1\n{side} {part} 2\n"
    for side in ("normal", "simple")
    for part in ("training", "tuning", "testing")
}


def simpwiki(tmp_path, stem, files, is_packed):
    inside = {f"{stem}/{name}": text for name, text in files.items()}
    return put_archive(tmp_path / f"{stem}.tar.gz", inside) if is_packed else put(tmp_path, inside)


@pytest.mark.parametrize("is_packed", [True, False])
def test_simpwiki_1_has_three_splits_and_2_has_articles(is_packed, tmp_path):
    place = simpwiki(tmp_path, "sentence-aligned.v2", V2, is_packed)
    assert [row["article"] for row in rows("simpwiki", "v2", place)] == ["Ox", "Cat"]
    assert sides("simpwiki", "v2", place)[0] == ("The ox , also a bullock .", "An ox is a cow .")
    assert len(sides("simpwiki", "v2", place, max_words=5)) == 1
    place = simpwiki(tmp_path / "1", "data.v1.split", V1, is_packed)
    for split, part in (("train", "training"), ("validation", "tuning"), ("test", "testing")):
        assert rows("simpwiki", "v1", place, split) == [
            {"sentence1": f"normal {part} {n}", "sentence2": f"simple {part} {n}"} for n in (1, 2)
        ]


@pytest.mark.parametrize("side", ["normal", "simple"])
def test_simpwiki_files_that_do_not_match_are_refused(side, tmp_path):
    for config, files, name in (("v1", V1, f"{side}.training.txt"), ("v2", V2, f"{side}.aligned")):
        with pytest.raises(DataError):
            rows("simpwiki", config, put(tmp_path, {**files, name: files[name] + "a\t1\tb .\n"}))
    no_sentence = V2["simple.aligned"].replace("\tCats are small .", "")
    with pytest.raises(DataError, match=r"normal\.aligned:2 "):
        rows("simpwiki", "v2", put(tmp_path, {**V2, "simple.aligned": no_sentence}))
