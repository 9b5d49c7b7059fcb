from paraphrastic_hf.corpora.builder import bitext, labeled, scored_pair
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.corpora.statistics import RowCount, describe, markdown

SCORED = [
    {"sentence1": "the cat", "sentence2": "a big cat", "score": 5.0},
    {"sentence1": "rain", "sentence2": "fog", "score": 0.0},
    {"sentence1": "the cat", "sentence2": "a big cat", "score": 2.5},
    {"sentence1": "", "sentence2": "fog", "score": 0.4},
]


def test_words_repeats_and_scores_of_scored_pairs():
    assert describe(SCORED, scored_pair()) == {
        "rows": 4,
        "repeated_rows": 1,
        "words": {
            "sentence1": {"mean": 1.25, "shortest": 0, "longest": 2},
            "sentence2": {"mean": 2.0, "shortest": 1, "longest": 3},
        },
        "score": {
            "mean": 1.975,
            "low": 0.0,
            "high": 5.0,
            "histogram": [2, 0, 0, 0, 0, 1, 0, 0, 0, 1],
        },
    }


def test_labels_are_counted_by_name_in_descending_order():
    rows = [{"text": str(n), "label": int(n % 3 == 0)} for n in range(6)]
    rows.append({"text": "a", "label": -1})  # absent, and not the last class
    found = describe(rows, labeled(("no", "yes")))["labels"]
    assert [found["no"], found["yes"]] == [4, 2]
    assert next(iter(found)) == "no"
    free = describe([{"text": "a", "label": "DESC:def"}] * 2, labeled(None))
    assert (free["repeated_rows"], free["labels"]) == (1, {"DESC:def": 2})


def test_missing_texts_and_scores_are_ignored():
    nothing = {"mean": 0.0, "shortest": 0, "longest": 0}
    found = describe([{"en": None, "fr": "un chat"}], bitext("en", "fr"))["words"]
    assert (found["en"], found["fr"]["longest"]) == (nothing, 2)
    words = {"sentence1": nothing, "sentence2": nothing}
    assert describe([], scored_pair()) == {"rows": 0, "repeated_rows": 0, "words": words}
    rows = [*SCORED, {"sentence1": "a", "sentence2": "b", "score": float("nan")}]
    assert describe(rows, scored_pair())["rows"] == 5
    equal = describe([{"sentence1": "a", "sentence2": "b", "score": 3.0}] * 4, scored_pair())
    score = equal["score"]
    assert (score["low"], score["high"], max(score["histogram"])) == (3.0, 3.0, 4)


def row(corpus, config, split, read, published):
    return markdown([RowCount(corpus, config, split, read, published)]).splitlines()[-1]


def test_the_table_has_one_line_per_corpus():
    table = markdown(
        [
            RowCount("sick", "default", "train", 4500, 4500),
            RowCount("sick", "default", "test", 4927, 4927),
            RowCount("trec", "coarse", "train", 5452, 5452),
            RowCount("trec", "fine", "train", 5452, 5452),
        ]
    )
    cells = [line.strip("| ").split(" | ")[:3] for line in table.splitlines()[2:]]
    trec = "coarse 5,452; fine 5,452"
    assert cells == [["sick", *["4,500 / 4,927"] * 2], ["trec", trec, trec]]


def test_the_table_explains_differences():
    line = row("probing", "tree_depth", "test", 9_000, 10_000)
    assert "tree_depth test: -1,000" in line
    assert SOURCES["probing"].notes in line
    assert "| bucc | de-en 9 | de-en ? | 1 " in row("bucc", "de-en", "gold", 9, None)
    many = [
        RowCount("tatoeba", f"l{n:02}", "test", 1000, 1000 if n < 11 else None) for n in range(12)
    ]
    line = markdown(many).splitlines()[-1]
    assert all(number in line for number in ("12,000", "11,000", " 12 ", " 1 "))

    nine = [RowCount("wordsim", f"set{n}", "test", n, 0) for n in range(1, 10)]
    line = markdown(nine).splitlines()[-1]
    assert "set6 test: +6" in line
    assert "set7 test" not in line
