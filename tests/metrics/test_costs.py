import math
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.metrics.costs import FunctionCost, SemanticCost, make_cost
from paraphrastic_hf.metrics.install import MODULE
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.sentence_scores import (
    char_profile,
    chrf_score,
    smoothed_bleu,
    word_cutter,
)

REFERENCES = ["The cat is asleep.", "Two dogs run, and one barks!", "It rains."]
LISTS = [
    ["The cat sleeps.", "The cat is asleep.", "", "A dog barks at the cat that is asleep."],
    [],
    ["It is raining.", "It rains.", "It rains. It rains. It rains."],
]


def candidates() -> list[tuple[str, str]]:
    """Return each candidate with its reference."""
    return [(text, r) for texts, r in zip(LISTS, REFERENCES, strict=True) for text in texts]


def shuffled_pairs(count: int) -> list[tuple[str, str]]:
    """Return pairs of sentences with some words in common."""
    draw = random.Random(5)
    words = [
        "a", "the", "cat", "cat's", "dog", "dogs", "sat", "sits", "on", "mat,", "mats.", "3.5",
        "it's", "—", "run",
    ]  # fmt: skip
    pairs = []
    for _ in range(count):
        reference = draw.choices(words, k=draw.randint(1, 12))
        other = reference[: draw.randint(0, 12)] + draw.choices(words, k=draw.randint(0, 5))
        pairs.append((" ".join(other), " ".join(reference)))
    return pairs


def test_smoothed_bleu_and_chrf_equal_sacrebleus():
    words, bleu = word_cutter(), BLEU(smooth_method="add-k", smooth_value=1)
    own = (words, smoothed_bleu, bleu), (char_profile, chrf_score, CHRF())
    for hypothesis, reference in shuffled_pairs(200):
        for cut, score, metric in own:
            expected = metric.sentence_score(hypothesis, [reference]).score / 100
            assert score(cut(hypothesis), cut(reference)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("penalty", ["both", "excess", "brevity", "none"])
def test_semantic_costs_equal_the_scorers(penalty, encoder):
    scorer = SimileScorer(encoder, penalty=penalty)
    hypotheses, references = zip(*candidates(), strict=True)
    expected = 1 - scorer.score(hypotheses, references).simile
    np.testing.assert_allclose(SemanticCost(scorer)(LISTS, REFERENCES), expected, atol=1e-6)


def test_each_text_is_encoded_once(encoder):
    scorer, given = SimileScorer(encoder), []
    embed = scorer.embed
    scorer.embed = lambda texts: given.extend(texts) or embed(texts)
    SemanticCost(scorer)([["a cat", "a dog", "a cat"], ["a cat"]], ["a dog", "the cat"])
    assert sorted(given) == ["a cat", "a dog", "the cat"]


def test_half_is_the_mean_of_bleu_and_simile(encoder):
    costs = (make_cost(name, model=encoder) for name in ("half", "bleu", "simile"))
    half, bleu, simile = (cost(LISTS, REFERENCES) for cost in costs)
    np.testing.assert_allclose(half, (bleu + simile) / 2)


def test_sim_has_no_length_penalty_and_the_reference_costs_0():
    sim, simile = (make_cost(name)(LISTS, REFERENCES) for name in ("sim", "simile"))
    repeated, right = 6, 1
    assert simile[repeated] > sim[repeated] + 0.1
    for costs in (sim, simile, make_cost("bleu")(LISTS, REFERENCES)):
        assert costs[right] == pytest.approx(0, abs=1e-6)
        assert costs[2] == 1  # the empty candidate


def share_of_words(candidates: list[str], references: list[str]) -> list[float]:
    """Return the percentage of the reference's words in each candidate."""
    found = []
    for ours, theirs in zip(candidates, references, strict=True):
        words = theirs.split()
        found.append(100 * sum(word in ours.split() for word in words) / len(words))
    return found


def test_any_function_is_a_cost():
    options = {"name": f"{__name__}:share_of_words", "limits": [0, 100]}
    cost = make_cost("function", **options)
    assert cost(LISTS, REFERENCES)[:2].tolist() == [0.5, 0.0]
    upside_down = make_cost("function", **options, higher_is_better=False)
    assert upside_down(LISTS, REFERENCES)[:2].tolist() == [0.5, 1.0]
    assert cost([[]], ["a"]).shape == (0,)


def test_a_metric_of_evaluate_is_a_cost(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path))
    options = {"segments": True, "similarity": "sentences"}
    scores = {"name": str(MODULE), "field": "simile_scores", "options": options}
    cost = make_cost("evaluate", **scores, limits=[-1, 1])
    expected = make_cost("simile")(LISTS, REFERENCES) / 2
    np.testing.assert_allclose(cost(LISTS, REFERENCES), expected, atol=1e-6)


@pytest.mark.parametrize(
    "given",
    [[0.5, math.nan], [math.inf, 0.5], [0.5, 1.5], [0.5], ["x", "y"], None, ZeroDivisionError],
    ids=str,
)
def test_invalid_results_of_a_function_are_errors(given):
    def cost(*_: object) -> object:
        if given is ZeroDivisionError:
            raise ZeroDivisionError
        return given

    with pytest.raises(DataError):
        FunctionCost(cost, "bad")([["a", "b"]], ["c"])


@pytest.mark.parametrize(
    "settings",
    [
        {"metric": "meteor"},
        {"metric": "function"},
        {"metric": "bleu", "name": "a:b"},
        {"metric": "function", "name": "nowhere:at_all"},
        {"metric": "function", "name": "math:tau"},
        {"metric": "function", "name": "math:hypot", "limits": [1, 0]},
        {"metric": "evaluate", "name": "./nowhere"},
    ],
)
def test_invalid_cost_settings_are_refused(settings):
    with pytest.raises(RecipeError):
        make_cost(**settings)
