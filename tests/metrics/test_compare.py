import csv
import io
import json
import sys
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from markdown_it import MarkdownIt

from paraphrastic_hf.cli.shared.writing import print_written
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.writing import GeneratedText as Sentence
from paraphrastic_hf.metrics import matching
from paraphrastic_hf.metrics.compare import (
    Comparison,
    Ties,
    compare,
    comparison_markdown,
    count_ties,
    read_nbest,
    write_comparison,
)
from paraphrastic_hf.metrics.corpus_bleu import compare_bleu
from paraphrastic_hf.metrics.matching import load_matching
from paraphrastic_hf.metrics.resampling import Means, confidence_interval, p_text, p_value
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.systems import compare_systems, segment_rows, system_table
from tests.texts import SENTENCES


def word_share(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the share of the hypothesis' words that are in the references, x 100, instead of
    BLEU."""
    pairs = zip(hypotheses, references, strict=True)
    shares = [np.mean([word in " ".join(rs).split() for word in h.split()] or 0) for h, rs in pairs]
    return 100 * np.array(shares)


NAMES = ("one|1", "two")
FIRST = ["the cat | sleeps", "a boat\tleaves", "warm bread", "the same"]
SECOND = ["the cat sleeps", "the boat leaves at noon", "snow", "the same"]
REFERENCES = ["the cat *sleeps*", "the boat\nleaves at noon", "warm bread", "the same"]


@pytest.fixture
def scorer(saved):
    return SimileScorer(saved)


@pytest.fixture
def comparison(scorer):
    return compare(scorer, word_share, NAMES, (FIRST, SECOND), REFERENCES)


@pytest.fixture
def results(scorer):
    systems = list(zip(NAMES, (FIRST, SECOND), strict=True))
    return compare_systems(scorer, systems, REFERENCES, samples=20)


@pytest.mark.parametrize(
    ("scores", "lists", "expected"),
    [
        ([50, 50, 47], [0, 0, 0], Ties(3, 2 / 3, 2.0)),
        ([10, 50, 50, 20, 47], [1, 0, 0, 1, 0], Ties(4, 3 / 4, 16 / 4)),
        ([1, 2], [0, 1], Ties(0, 0.0, 0.0)),  # lists of one have no pairs
        ([50, 50 + 1e-9], [0, 0], Ties(1, 0.0, pytest.approx(0, abs=1e-8))),  # rounding alone
    ],
)
def test_ties_by_hand(scores, lists, expected):
    """Thesis 7.5.1: 50, 50, 47 have the differences 0, 3, 3. 10 and 20 of another list have 10."""
    assert count_ties(np.array(scores, float), np.array(lists)) == expected


def test_a_comparison_has_the_scores_and_ties_of_both_systems(comparison, scorer):
    assert not comparison.is_nbest
    for measure, ties in comparison.ties.items():
        differences = np.abs(comparison.change(measure))
        assert ties.pairs == 4
        assert ties.unequal == (differences > 1e-4).mean()
        assert ties.difference == pytest.approx(differences.mean())
    for side, texts in enumerate((FIRST, SECOND)):
        scores = scorer.score(texts, REFERENCES)
        np.testing.assert_allclose(comparison.scores["SimiLE"][side], 100 * scores.simile)
        np.testing.assert_allclose(comparison.scores["SIM"][side], 100 * scores.sim)
        expected = word_share(texts, [[text] for text in REFERENCES])
        np.testing.assert_array_equal(comparison.scores["BLEU"][side], expected)
        assert comparison.signature == scores.signature


def test_the_order_by_disagreement_by_hand():
    """7.7: |change of BLEU| - |change of SIM| is 8 - 30, 40 - 2, 0 - 0, 5 - 5. The third segment
    has equal outputs and is left out."""
    sim = np.array([[60, 70, 50, 40], [90, 68, 50, 45]])
    scores = {"SimiLE": sim, "SIM": sim, "BLEU": np.array([[10, 50, 20, 30], [18, 10, 20, 25]])}
    sides, references = (list("abcd"), list("wxcz")), [[text] for text in "abcd"]
    comparison = Comparison(("x", "y"), sides, references, scores, {}, False, {}, "")
    assert comparison.change("BLEU").tolist() == [8, -40, 0, -5]
    assert comparison.order().tolist() == [1, 3, 0]


def test_equal_systems_have_no_disagreement(scorer, tmp_path):
    same = compare(scorer, word_share, ("a", "b"), (FIRST, FIRST), REFERENCES)
    assert len(same.order()) == 0
    systems = compare_systems(scorer, [("a", FIRST), ("b", FIRST)], REFERENCES, samples=10)
    assert systems[1].p_value == 1
    assert all(path.stat().st_size for path in write_comparison(same, systems, tmp_path))


def test_nbest_lists_are_scored_with_their_references(scorer):
    nbest = [["the cat", "a cat", "the cat"], [], ["warm bread"], ["the same", "same"]]
    found = compare(scorer, word_share, ("a", "b"), (FIRST, SECOND), REFERENCES, nbest)
    assert found.is_nbest
    assert found.ties["SimiLE"].pairs == 3 + 1
    flat = [text for texts in nbest for text in texts]
    own = [REFERENCES[i] for i, texts in enumerate(nbest) for _ in texts]
    np.testing.assert_allclose(found.listed["SIM"], 100 * scorer.score(flat, own).sim)
    assert found.scores["SIM"].shape == (2, 4)


def test_unequal_segments_and_equal_names_are_refused(scorer):
    for names, sides in ((("a", "b"), (FIRST, SECOND[:3])), (("x", "x"), (FIRST, SECOND))):
        with pytest.raises(DataError):
            compare(scorer, word_share, names, sides, REFERENCES)
    with pytest.raises(DataError):
        compare_systems(scorer, [("old", FIRST), ("new", SECOND[:3])], REFERENCES)
    with pytest.raises(DataError):
        compare_systems(scorer, [("old", FIRST)], REFERENCES, samples=0)


def test_nbest_lists_of_moses_and_translate_are_read():
    lines = ["0 ||| a cat ||| LM0= -3 ||| -1.5", "1 ||| ", "0 |||a  dog||| -2"]
    assert read_nbest(lines, 3, "n.txt") == [["a cat", "a  dog"], [""], []]
    file = io.StringIO()
    texts = [["a cat", "a ||| dog"], ["", "1\t2"]]
    print_written(file, 1, [[Sentence(text, -0.5, ()) for text in each] for each in texts])
    lines = file.getvalue().splitlines()
    assert read_nbest(lines, 3, "n.tsv") == [["a cat", "a ||| dog"], ["", "1 2"], []]
    for line in ("0\t-1\ta cat", "4\t-1\ta cat", "1 ||| a cat"):
        with pytest.raises(DataError, match=r"n\.tsv:5"):
            read_nbest([*lines, line], 3, "n.tsv")
    for line in ("a cat", "x ||| a cat", "-1 ||| a cat", "", "4 ||| a cat"):
        with pytest.raises(DataError, match=r"n\.txt:2"):
            read_nbest(["0 ||| a", line], 4, "n.txt")


def test_long_texts_are_cut_and_rows_are_lines(comparison, results, scorer):
    sides = ["cat " * 250_000, *FIRST[1:]], SECOND
    long = compare(scorer, word_share, NAMES, sides, REFERENCES)
    assert len(comparison_markdown(long, results, count=9, plots=False)) < 10_000
    text = comparison_markdown(comparison, results, count=9, plots=False)
    rows = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {7, 5}


def test_sentences_and_names_are_escaped(scorer):
    """`tests/io/test_markdown.py` checks the escapes; here every text of the report has them."""
    hostile = ["<script>x</script>", "<img src=x onerror=y>", "[x](javascript:\ry)", "`a` <b>c</b>"]
    names, sides = ("<i>one", "[two](javascript:y)"), (hostile, hostile[::-1])
    found = compare(scorer, word_share, names, sides, hostile)
    systems = compare_systems(scorer, list(zip(names, sides, strict=True)), hostile)
    text = comparison_markdown(found, systems, count=4, plots=False)
    tokens = MarkdownIt().enable("table").parse(text)
    kinds = {each.type for token in tokens for each in (token, *(token.children or ()))}
    assert not kinds & {"html_inline", "html_block", "link_open", "image"}
    assert "&lt;script>" in text
    assert "\r" not in text  # it would break a row


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 2), (9, 6)])
def test_count_limits_the_examples(comparison, results, count, shown):
    text = comparison_markdown(comparison, results, count=count, plots=False)
    assert sum(line.endswith("|  |  |  |  |") for line in text.splitlines()) == shown


def test_a_report_has_five_files(comparison, results, tmp_path):
    paths = write_comparison(comparison, results, tmp_path / "new" / "report")
    names = ["compare.md", "compare.json", "segments.tsv", "scores.png", "changes.png"]
    assert [path.name for path in paths] == names
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(names)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[3:])
    values = json.loads(paths[1].read_text(encoding="utf-8"))
    assert values["systems"][1]["p_value"] == results[1].p_value
    assert values["ties"]["BLEU"] == vars(comparison.ties["BLEU"])
    assert values["signature"] == comparison.signature
    with paths[2].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["reference"] for row in rows] == REFERENCES
    assert [row["hypothesis:one|1"] for row in rows] == FIRST
    written = [float(row["BLEU:two"]) for row in rows]
    np.testing.assert_allclose(written, comparison.scores["BLEU"][1], atol=1e-4)


def test_a_perfect_bleu_is_in_its_histogram(scorer, tmp_path, monkeypatch):
    """sacrebleu scores equal texts 100.00000000000004."""
    pytest.importorskip("sacrebleu")
    from matplotlib.axes import Axes

    texts = ["the cat sleeps on the wall", *REFERENCES[1:]]
    found = compare(scorer, load_matching("BLEU"), ("a", "b"), (texts, SECOND), texts)
    assert found.listed["BLEU"].max() > 100
    shown, plain = [], Axes.hist

    def hist(*arguments: Any, **options: Any) -> Any:
        drawn = plain(*arguments, **options)
        shown.append(drawn[0].sum())
        return drawn

    monkeypatch.setattr(Axes, "hist", hist)
    systems = compare_systems(scorer, [("a", texts), ("b", SECOND)], texts, samples=5)
    write_comparison(found, systems, tmp_path)
    assert shown == [8, 8, 8]


def test_systems_have_their_intervals_and_significance(scorer):
    texts = [SENTENCES[:10], SENTENCES[3:13], SENTENCES[5:15]]
    references = SENTENCES[4:14]
    systems = list(zip("abc", texts, strict=True))
    results = compare_systems(scorer, systems, references, samples=200, seed=7)
    scores = [scorer.score(each, references) for each in texts]
    draws = {"samples": 200, "seed": 7}
    similes, sims = ([Means(getattr(s, name)) for s in scores] for name in ("simile", "sim"))
    assert [r.simile for r in results] == [confidence_interval(each, **draws) for each in similes]
    for name, means in (("p_value", similes), ("sim_p_value", sims)):
        expected = [None, *(p_value(each, means[0], **draws) for each in means[1:])]
        assert [getattr(result, name) for result in results] == expected
    table = system_table(results).splitlines()
    assert table[0].split() == ["system", "SimiLE", "x", "100", "p", "SIM", "x", "100", "p"]
    assert table[1].split()[0] == "a"
    assert table[-1] == scores[0].signature
    rows = [line.rstrip("\n").split("\t") for line in segment_rows(results[:2])]
    assert rows[0] == ["segment", "simile:a", "sim:a", "simile:b", "sim:b"]
    assert [row[0] for row in rows[1:]] == [str(number) for number in range(1, 11)]
    written = [float(row[3]) for row in rows[1:]]
    np.testing.assert_allclose(written, results[1].scores.simile, atol=5.1e-7)
    alone = system_table(results[:1]).splitlines()[0]
    assert alone.split() == ["system", "SimiLE", "x", "100", "SIM", "x", "100"]


@pytest.mark.parametrize("segments", [1, 4, 5])
def test_few_segments_have_their_lowest_p_value(scorer, segments):
    systems = [("a", SENTENCES[:segments]), ("b", SENTENCES[5 : 5 + segments])]
    results = compare_systems(scorer, systems, SENTENCES[:segments], samples=99)
    table = system_table(results).splitlines()
    assert ("[" in table[1]) == (segments > 1)
    values = results[1].to_dict()
    assert values["p_value"] == 2 / 2**segments  # a wins every segment
    assert (values["simile_interval"] is None) == (segments == 1)
    assert values["samples"] == 99
    json.dumps(values, allow_nan=False)


def test_the_report_contains_corpus_bleu(scorer, tmp_path):
    sides, references = (FIRST * 2, SECOND * 2), REFERENCES * 2
    systems = list(zip(NAMES, sides, strict=True))
    results = compare_systems(scorer, systems, references, samples=20)
    bleu = compare_bleu(systems, references, samples=20)
    found = compare(scorer, word_share, NAMES, sides, references)
    paths = write_comparison(found, results, tmp_path, bleu=bleu)
    lines = paths[0].read_text(encoding="utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("| system"))
    assert lines[head].endswith("| corpus BLEU | p |")
    p = p_text(bleu[1].p_value)
    assert lines[head + 2].endswith(f"| {bleu[0].bleu.mean:.2f} |  |")
    assert lines[head + 3].endswith(f"| {bleu[1].bleu.mean:.2f} | {p} |")
    values = json.loads(paths[1].read_text(encoding="utf-8"))["corpus_bleu"]
    assert values["two"]["p_value"] == bleu[1].p_value
    assert values["two"]["interval"] == [bleu[1].bleu.low, bleu[1].bleu.high]


def test_bleu_and_chrf_equal_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    hypotheses, lists = ["the cat sat down"], [["the cat sat up", "a cat sat down"]]
    for name, expected in (
        ("BLEU", sacrebleu.sentence_bleu(hypotheses[0], lists[0])),
        ("chrF", sacrebleu.sentence_chrf(hypotheses[0], lists[0])),
    ):
        assert load_matching(name)(hypotheses, lists).tolist() == [expected.score]


def test_missing_libraries_and_data_are_errors(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(DataError):
        load_matching("BLEU")
    absent = Mock(side_effect=LookupError)
    monkeypatch.setitem(matching.MATCHING, "METEOR", lambda: absent)
    with pytest.raises(DataError):
        load_matching("METEOR")
