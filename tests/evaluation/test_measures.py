"""Measures by hand and against slow loops."""

import numpy as np
import pytest

from paraphrastic_hf import evaluate
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.corpora.readers.tagging import TaggedSentence
from paraphrastic_hf.evaluation.measures.bracketing import brackets, count_brackets
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.evaluation.measures.similarity import pearson, score_suite, spearman
from paraphrastic_hf.evaluation.measures.tagging import count_right
from paraphrastic_hf.evaluation.significance import compare_encoders
from paraphrastic_hf.evaluation.suites.retrieval import bucc_judged, bucc_scores
from paraphrastic_hf.mining.bitext import Pairs
from paraphrastic_hf.syntax.parse_tree import read_tree as tree
from tests.evaluation.made_pairs import ANGLES, Angles, Letters, Vowels

COSINES = np.cos([float(angle) for angle in ANGLES])


def dataset(name, angles, scores):
    return ScoredPairs(name, "2012", ["0"] * len(angles), list(angles), scores)


def test_scores_by_hand():
    gold = [5.0, 3.0, 4.0, 0.0]
    (row,) = score_suite(Angles().encode, [dataset("x", ANGLES, gold)])
    assert row.scores["pearson"] == pytest.approx(100 * np.corrcoef(COSINES, gold)[0, 1])
    assert row.scores["spearman"] == pytest.approx(80)  # ranks 4 3 2 1, 4 2 3 1: 1 - 6 * 2 / 60
    assert row.size == 4
    assert pearson([1, 1, 1], [1, 2, 3]) == spearman([1, 2, 3], [2, 2, 2]) == 0


def accuracy(*right):
    hits = np.array([right], float)
    return Judged("", "", "accuracy", hits, np.ones_like(hits))


def test_a_score_is_the_gain_over_the_possible_gain_by_part():
    assert accuracy(1, 0, 0.5, 0.5).score == 50
    gained = np.array([[2, 0, 0, 0], [0, 0, 2, 0]])
    possible = np.array([[2, 1, 0, 0], [0, 0, 2, 2]])
    judged = Judged("", "", "F1", gained, possible)
    assert judged.score == pytest.approx(100 * (2 / 3 + 2 / 4) / 2)
    nothing = Judged("", "", "F1", gained, np.stack([possible[0], np.zeros(4)]))
    assert nothing.score == pytest.approx(100 * (2 / 3 + 0) / 2)


@pytest.mark.parametrize("seed", range(20))
def test_f1_by_source_sentence_equals_the_f1_of_bucc(seed):
    random = np.random.default_rng(seed)
    sources, targets, mined = 30, 40, int(random.integers(0, 25))
    pairs = Pairs(
        random.integers(0, 8, mined).astype(np.float32),  # with many ties
        random.permutation(sources)[:mined],
        random.permutation(targets)[:mined],
    )
    right = dict(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    gold = {s: t for s, t in right.items() if random.random() < 0.5}
    gold |= {int(s): 39 for s in random.permutation(sources)[:6] if s not in right}
    judged = bucc_judged("zh-en", "cosine", pairs, gold, sources)
    assert judged.score == pytest.approx(bucc_scores(pairs, gold)["F1"])


@pytest.mark.parametrize(
    ("suite", "measure", "datasets"), [("tatoeba", "accuracy", 2), ("bucc", "F1", 3)]
)
def test_compared_scores_equal_those_of_evaluate(suite, measure, datasets, retrieval_folder):
    differences, skipped = compare_encoders(
        Letters(), Vowels(), suite, retrieval_folder, samples=99
    )
    rows = [evaluate(each, suite, retrieval_folder)["rows"] for each in (Letters(), Vowels())]
    assert len(differences) == datasets
    assert list(skipped) == ([] if suite == "tatoeba" else ["de-en", "fr-en", "ru-en"])
    for each, first, second in zip(differences, *rows, strict=True):
        assert (each.group, each.name) == (first["group"], first["name"])
        assert each.measure == measure
        assert each.first == pytest.approx(first["scores"][measure])
        assert each.second == pytest.approx(second["scores"][measure])
        assert np.isnan(each.steiger)
        assert each.first > each.second
        assert 0 < each.permutation <= 1
    same, _ = compare_encoders(Letters(), Letters(), suite, retrieval_folder, samples=9)
    assert {each.permutation for each in same} == {1.0}


TAGGED = [
    TaggedSentence(["the", "cat", "The"], ["DT", "NN", "DT"]),
    TaggedSentence(["runs"], ["VBZ"]),
]


def test_counts_by_hand():
    """3 of 4 are correct. cat, The and runs are unknown, since case matters: 2 of 3."""
    counts = count_right([["DT", "NN", "DT"], ["NNS"]], TAGGED, {"the"})
    assert (counts.words, counts.correct) == (4, 3)
    assert (counts.unknown_words, counts.unknown_correct) == (3, 2)
    assert counts.accuracy == 75.0
    assert counts.unknown_accuracy == pytest.approx(200 / 3)


def test_no_words_have_accuracy_0_and_every_word_needs_a_tag():
    counts = count_right([], [], set())
    assert (counts.accuracy, counts.unknown_accuracy) == (0.0, 0.0)
    with pytest.raises(ValueError):  # noqa: PT011
        count_right([["DT", "NN"], ["VBZ"]], TAGGED, set())


GOLD = """(ROOT (S (NP (PRP She))
    (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))) (. .)))"""
FOUND = """(ROOT (S (NP (PRP She))
    (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (VB tea)))) (. .)))"""


def test_the_wrong_attachment_costs_one_bracket():
    """Gold: S, NP, VP, NP(2-6), NP(2-4), PP, NP. Found: all except NP(2-6)."""
    counts = count_brackets([tree(FOUND)], [tree(GOLD)])
    assert (counts.right, counts.found, counts.gold) == (6, 6, 7)
    assert counts.precision == 100
    assert counts.recall == pytest.approx(600 / 7)
    assert counts.f1 == pytest.approx(1200 / 13)
    assert (counts.words, counts.right_tags) == (7, 6)
    assert (counts.sentences, counts.exact, counts.templates) == (1, 0, 1)


def test_every_phrase_of_a_unary_chain_counts():
    gold, found = tree("(S (VP (VP (VB go))))"), tree("(S (VP (VB go)))")
    counts = count_brackets([found], [gold])
    assert (counts.right, counts.found, counts.gold) == (2, 2, 3)
    assert count_brackets([gold], [found]).precision == pytest.approx(200 / 3)


def test_the_attachment_of_punctuation_does_not_matter():
    gold = tree("(S (NP (NN a)) (, ,) (VP (VB b)) (. .))")
    found = tree("(S (NP (NN a) (, ,)) (VP (VB b) (. .)))")
    assert count_brackets([found], [gold]).f1 == 100
    assert count_brackets([found], [gold]).exact == 1
    assert count_brackets([found], [gold], without=()).f1 == pytest.approx(100 / 3)


def test_root_and_punctuation_are_no_brackets_and_prt_equals_advp():
    gold = tree("(S (PRN (-LRB- -LRB-)) (PRT (RP up)))")
    found = tree("(S (PRN (-LRB- -LRB-)) (ADVP (RB up)))")
    assert count_brackets([found], [gold]).f1 == 100
    assert len(brackets(gold)) == 3
    assert brackets(tree("(ROOT (S (NN a)))")) == brackets(tree("(S (NN a))")) == [("S", 0, 1)]
    gold = tree("(S (NP (NN a)) (PRN (: -)))")
    assert brackets(gold, [True, False]) == [("S", 0, 1), ("NP", 0, 1)]


def test_counts_of_sentences_add_up():
    both = count_brackets([tree(FOUND), tree(GOLD)], [tree(GOLD), tree(GOLD)])
    assert (both.right, both.found, both.gold, both.exact) == (13, 13, 14, 1)
    assert both.exact_match == 50
    assert both.template_match == 100
    none = count_brackets([], [])
    assert none.f1 == none.precision == none.recall == none.exact_match == 0
    with pytest.raises(ValueError):  # noqa: PT011  # trees of different sentences
        count_brackets([tree("(S (NN a))")], [tree(GOLD)])
