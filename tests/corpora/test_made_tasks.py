import random
import re
import string
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraphrastic_hf import load_dataset
from paraphrastic_hf.corpora.readers.probing import switch_articles
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put

MARKS = set(string.punctuation) - {"^"}  # footnote 21 of chapter 5
SMALL = {"train_rows": 60, "test_rows": 20}


def sentences(count, seed=0):
    """Distinct sentences of 0 to 14 marks."""
    choice = random.Random(seed)
    marks = sorted(MARKS)
    return [
        f"line {n} ^ "
        + " ".join(choice.choice(marks) for _ in range(min(choice.randrange(15), n % 15)))
        for n in range(count)
    ]


def lines(texts):
    return "".join(text + "\n" for text in texts)


def made(name, config, place, **options):
    found = load_dataset(name, config, data_dir=place, streaming=True, **options)
    return {
        split: [(row["text"], rows.features["label"].int2str(row["label"])) for row in rows]
        for split, rows in found.items()
    }


def flat(splits):
    return [example for split in splits.values() for example in split]


def sizes(splits):
    return tuple(len(splits[name]) for name in ("train", "validation", "test"))


@pytest.fixture
def text(tmp_path):
    return put(tmp_path, {"mine.txt": lines(sentences(400))}) / "mine.txt"


FRENCH = [f"La fille {n} mange une pomme , l'un le voit ." for n in range(150)]


@pytest.fixture
def french(tmp_path):
    return put(tmp_path, {"fr.txt": lines([*FRENCH, "Rien ici .", "l'une seule"])}) / "fr.txt"


@pytest.mark.parametrize("config", ["number", "first"])
def test_punctuation_labels_equal_a_slow_loop_and_can_be_capped(config, text):
    everything = flat(made("punctuation", config, text, label_cap=0, train_rows=200, test_rows=100))
    for sentence, label in everything:
        found = [character for character in sentence if character in MARKS]
        assert label == (str(min(len(found), 11)) if config == "number" else found[0])
    capped = flat(made("punctuation", config, text, label_cap=3, **SMALL))
    there = Counter(label for _, label in everything)
    assert Counter(label for _, label in capped) == {label: min(3, there[label]) for label in there}


@pytest.mark.parametrize(("name", "config"), [("punctuation", "first"), ("article_gender", "fr")])
def test_splits_are_disjoint_and_depend_on_the_seed(name, config, text, french, caplog):
    place = text if name == "punctuation" else french
    splits = made(name, config, place, seed=3, **SMALL)
    assert made(name, config, place, seed=3, **SMALL) == splits
    assert made(name, config, place, seed=4, **SMALL) != splits
    assert sizes(splits) == (60, 20, 20)
    assert len({example for example, _ in flat(splits)}) == 100
    assert not caplog.text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"{n} !" for n in range(50)], (30, 10, 10)),
        ([f"{n % 50} !" for n in range(90)], (30, 10, 10)),  # a repeated sentence is one example
        (["again !"] * 900 + [f"{n} !" for n in range(100)], (60, 20, 20)),
    ],
)
def test_all_splits_shrink_if_the_text_is_small(texts, expected, tmp_path, caplog):
    place = put(tmp_path, {"a.txt": lines(texts)})
    splits = made("punctuation", "first", place, **SMALL)
    assert sizes(splits) == expected
    assert len(set(flat(splits))) == sum(expected)
    assert ("30" in caplog.text) is (expected[0] == 30)


def test_a_column_of_a_tsv_can_be_the_text(tmp_path):
    text = "".join(f"first {n} !\tsecond {n} ?\n" for n in range(10)) + "short line !\n"
    place = put(tmp_path, {"a.tsv.gz": f"sentence_1\tsentence_2\n{text}"})
    options = {"train_rows": 8, "test_rows": 1}
    assert {label for _, label in flat(made("punctuation", "first", place, **options))} == {"!"}
    second = flat(made("punctuation", "first", place, column=1, **options))
    assert len(second) == 10
    assert {label for _, label in second} == {"?"}


def test_all_text_files_of_a_folder_are_read(tmp_path):
    files = {"a.txt": "a !\n", "deep/b.tsv": "b !\n", "c.txt.gz": "c !\n", "no.json": "d !\n"}
    place = put(tmp_path / "texts", files)
    found = flat(made("punctuation", "first", place, train_rows=1, test_rows=1))
    assert {example for example, _ in found} == {"a !", "b !", "c !"}


def test_half_of_every_split_has_its_articles_switched(french):
    for examples in made("article_gender", "fr", french, **SMALL).values():
        assert Counter(label for _, label in examples) == dict.fromkeys(
            ("right", "wrong"), len(examples) // 2
        )
        for sentence, label in examples:
            original = sentence if label == "right" else switch_articles(sentence, "fr")
            assert original in FRENCH
            assert sentence.startswith("La fille" if label == "right" else "Le fille")


def test_sentences_without_articles_are_skipped(french):
    found = made("article_gender", "fr", french, train_rows=90, test_rows=30)
    assert sorted(sizes(found)) == [30, 30, 90]
    nothing = put(french.parent / "es", {"a.txt": "Nada aquí\n"})
    for task in (("article_gender", "es"), ("punctuation", "number")):
        with pytest.raises(DataError):
            made(*task, nothing)


TABLE = {
    "fr": {"le": "la", "la": "le", "un": "une", "une": "un"},
    "es": {"el": "la", "la": "el", "los": "las", "las": "los"},
}
ARTICLES = ["le", "La", "UNE", "un", "el", "Los", "las"]
PIECES = st.sampled_from([*ARTICLES, "l'", "’", "-", " ", ", ", ".", "é", "x", "_", "7"])


def slow_switch(text, language):
    """Switch word by word; apostrophes and hyphens belong to words."""
    words = re.split(r"([^\w'’-]+)", text)
    for place, word in enumerate(words):
        other = TABLE[language].get(word.lower())
        if other is not None:
            style = str.upper if word.isupper() else str.title if word.istitle() else str
            words[place] = style(other)
    return "".join(words)


@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["fr", "es"]))
def test_switching_equals_a_slow_loop_and_is_an_involution(text, language):
    switched = switch_articles(text, language)
    assert switched == slow_switch(text, language)
    assert switch_articles(switched, language) == text


WORDS = ["river", "stone", "green", "walks", "house", "bird", "slow", "night", "old", "sea"]


def pairs(count):
    """References and translations, which a word gives away."""
    choice = random.Random(1)
    made = []
    for number in range(count):
        text = " ".join([*choice.choices(WORDS, k=5), str(number)])
        made.append((f"well {text}", f"{text} thereof"))
    return made


def write(path, rows):
    if path.suffix == ".parquet":
        path.parent.mkdir(parents=True, exist_ok=True)
        table = {"reference": [a for a, _ in rows], "translation": [b for _, b in rows]}
        pq.write_table(pa.table(table), path)
        return path
    lines = "".join(f"{a}\t{b}\n" for a, b in [("reference", "translation"), *rows])
    return put(path.parent, {path.name: lines}) / path.name


def test_machine_text_keeps_both_sides_of_a_pair_in_one_split(tmp_path):
    rows = pairs(60)
    corpus = tmp_path / "corpus"
    write(corpus / "data" / "train-00000.parquet", rows[:30])
    write(corpus / "data" / "train-00001.parquet", rows[30:])
    write(corpus / "rejects" / "train-00000.parquet", [("left", "out")])
    sizes = {"train_rows": 60, "test_rows": 20}
    splits = made("machine_text", None, corpus, **sizes)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [60, 20, 20]
    known = {a: ("reference", b) for a, b in rows} | {b: ("translation", a) for a, b in rows}
    for found in splits.values():
        texts = {text for text, _ in found}
        assert all(known[text] == (label, known[text][1]) for text, label in found)
        assert all(known[text][1] in texts for text in texts)
    table = write(tmp_path / "pairs.tsv", rows)
    assert {t for f in made("machine_text", None, table, **sizes).values() for t, _ in f} <= set(
        known
    )
    with pytest.raises(DataError):
        made("machine_text", None, table, train_rows=3, test_rows=2)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("Sentence 1\tSentence 2", "{a}\t{b}\t0.5"),
        ("score\ttranslation\treference", "0.5\t{b}\t{a}"),
    ],
)
def test_machine_text_uses_named_columns_and_skips_bad_rows(header, row, tmp_path, caplog):
    lines = [header, *(row.format(a=a, b=b) for a, b in pairs(10)), "no second side"]
    path = put(tmp_path, {"pairs.tsv": "\n".join(lines) + "\n"}) / "pairs.tsv"
    splits = made("machine_text", None, path, train_rows=18, test_rows=2)
    known = {a: "reference" for a, _ in pairs(10)} | {b: "translation" for _, b in pairs(10)}
    assert {t: label for found in splits.values() for t, label in found} == known
    assert "(pairs.tsv:12)" in caplog.text
