import random

import numpy as np
import pytest

from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
from paraphrastic_hf.generation.writing import GeneratedText
from paraphrastic_hf.metrics.costs import make_cost
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.utilities import SemanticUtility, make_utility

WORDS = [
    "a", "the", "cat", "dog", "man", "woman", "sleeps", "runs", "walks", "in", "on", "grass",
    "street", "two", "red", "small", "quickly",
]  # fmt: skip


def drawn_lists(count, size):
    """Lists of similar sentences, with duplicates."""
    draw = random.Random(3)
    lists = []
    for _ in range(count):
        base = draw.choices(WORDS, k=8)
        one = []
        for _ in range(size):
            words = [draw.choice(WORDS) if draw.random() < 0.3 else word for word in base]
            one.append(" ".join(words[: draw.randint(3, 8)]))
        lists.append([*one, one[0]])
    return lists


@pytest.mark.parametrize("metric", ["simile", "sim", "bleu", "chrf"])
def test_the_exact_rule_is_the_mean_utility(metric):
    """By oracle: one cost of every pair, with duplicates."""
    lists, cost = drawn_lists(4, 6), make_cost(metric)
    weights = [np.arange(1.0, 8.0)] * 4
    found = minimum_bayes_risk(lists, make_utility(metric), weights=weights)
    for candidates, decision in zip(lists, found, strict=True):
        utilities = []
        for own in candidates:
            costs = [cost([[own]], [other])[0] for other in candidates]
            utilities.append(np.average(1 - np.array(costs), weights=weights[0]))
        np.testing.assert_allclose(decision.utilities, utilities, atol=1e-6)
        assert decision.text == candidates[int(np.round(utilities, 6).argmax())]
        assert decision.utility == pytest.approx(max(utilities), abs=1e-6)


@pytest.mark.parametrize(("metric", "fewest"), [("sim", 20), ("simile", 14)])
def test_aggregation_is_exact_for_sim_and_close_for_simile(metric, fewest):
    lists, utility = drawn_lists(20, 10), make_utility(metric)
    weights = [np.arange(11.0) + (metric != "sim")] * 20
    exact, mean = (
        minimum_bayes_risk(lists, utility, weights=weights, aggregate=aggregate)
        for aggregate in (False, True)
    )
    pairs = list(zip(exact, mean, strict=True))
    assert sum(one.text == other.text for one, other in pairs) >= fewest
    assert np.mean([one.utility - one.utilities[other.index] for one, other in pairs]) < 0.01
    if metric == "sim":
        for one, other in pairs:
            np.testing.assert_allclose(one.utilities, other.utilities, atol=1e-6)


def test_aggregation_makes_no_matrix():
    utility = SemanticUtility(SimileScorer(similarity="sentences", penalty="none"))
    utility.matrices = None
    texts = [f"the cat sleeps {n} times" for n in range(300)]
    assert minimum_bayes_risk([texts], utility, aggregate=True)[0].text in texts


def test_the_first_of_equal_candidates_wins():
    for aggregate in (False, True):
        lists = [["a cat", "a cat"], ["", ""], ["a dog"]]
        same = minimum_bayes_risk(lists, make_utility("simile"), aggregate=aggregate)
        assert [decision.index for decision in same] == [0, 0, 0]


def test_likely_candidates_weigh_more():
    weights = likelihood_weights([GeneratedText("a", np.log(0.6)), GeneratedText("b", np.log(0.2))])
    np.testing.assert_allclose(weights, [0.75, 0.25])
    lists, utility = [["the dog runs", "a cat sleeps here"]], make_utility("chrf")
    for given, chosen in (([0.9, 0.1], 0), ([0.1, 0.9], 1)):
        assert minimum_bayes_risk(lists, utility, weights=[np.array(given)])[0].index == chosen
