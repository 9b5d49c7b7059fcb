from __future__ import annotations

import pytest

from paraphrastic_hf.evaluation.measures.bracketing import brackets, count_brackets
from paraphrastic_hf.syntax.parse_tree import read_tree as tree

GOLD = """(ROOT (S (NP (PRP She))
    (VP (VBD saw) (NP (NP (DT the) (NN man)) (PP (IN with) (NP (NN tea))))) (. .)))"""
FOUND = """(ROOT (S (NP (PRP She))
    (VP (VBD saw) (NP (DT the) (NN man)) (PP (IN with) (NP (VB tea)))) (. .)))"""


def test_the_wrong_attachment_costs_one_bracket() -> None:
    """Gold: S, NP, VP, NP(2-6), NP(2-4), PP, NP. Found: all except NP(2-6)."""
    counts = count_brackets([tree(FOUND)], [tree(GOLD)])
    assert (counts.right, counts.found, counts.gold) == (6, 6, 7)
    assert counts.precision == 100
    assert counts.recall == pytest.approx(600 / 7)
    assert counts.f1 == pytest.approx(1200 / 13)
    assert (counts.words, counts.right_tags) == (7, 6)
    assert (counts.sentences, counts.exact, counts.templates) == (1, 0, 1)


def test_every_phrase_of_a_unary_chain_counts() -> None:
    gold, found = tree("(S (VP (VP (VB go))))"), tree("(S (VP (VB go)))")
    counts = count_brackets([found], [gold])
    assert (counts.right, counts.found, counts.gold) == (2, 2, 3)
    assert count_brackets([gold], [found]).precision == pytest.approx(200 / 3)


def test_the_attachment_of_punctuation_does_not_matter() -> None:
    gold = tree("(S (NP (NN a)) (, ,) (VP (VB b)) (. .))")
    found = tree("(S (NP (NN a) (, ,)) (VP (VB b) (. .)))")
    assert count_brackets([found], [gold]).f1 == 100
    assert count_brackets([found], [gold]).exact == 1
    assert count_brackets([found], [gold], without=()).f1 == pytest.approx(100 / 3)


def test_root_and_punctuation_are_no_brackets_and_prt_equals_advp() -> None:
    gold = tree("(S (PRN (-LRB- -LRB-)) (PRT (RP up)))")
    found = tree("(S (PRN (-LRB- -LRB-)) (ADVP (RB up)))")
    assert count_brackets([found], [gold]).f1 == 100
    assert len(brackets(gold)) == 3
    assert brackets(tree("(ROOT (S (NN a)))")) == brackets(tree("(S (NN a))")) == [("S", 0, 1)]
    gold = tree("(S (NP (NN a)) (PRN (: -)))")
    assert brackets(gold, [True, False]) == [("S", 0, 1), ("NP", 0, 1)]


def test_counts_of_sentences_add_up() -> None:
    both = count_brackets([tree(FOUND), tree(GOLD)], [tree(GOLD), tree(GOLD)])
    assert (both.right, both.found, both.gold, both.exact) == (13, 13, 14, 1)
    assert both.exact_match == 50
    assert both.template_match == 100
    none = count_brackets([], [])
    assert none.f1 == none.precision == none.recall == none.exact_match == 0
    with pytest.raises(ValueError):  # noqa: PT011  # trees of different sentences
        count_brackets([tree("(S (NN a))")], [tree(GOLD)])
