"""Scores of translations against their sources."""

import os
from pathlib import Path

import evaluate
import numpy as np
import pytest

from paraphrastic_hf import QualityEstimator, SimileScorer
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.metrics.install import MODULE
from paraphrastic_hf.metrics.quality import LANGUAGES, PROBLEMS, UNRELATED, find_problems

pytest.importorskip("py3langid", reason="pip install 'paraphrastic-hf[identify]'")

DATA = os.environ.get("PARAPHRASTIC_DATA")
SOURCES = [
    "Die Katze schläft auf dem Sofa.",
    "Wir haben gestern lange über das neue Haus gesprochen.",
    "Der Bahnhof liegt am Rand der Stadt, gleich hinter der alten Brücke.",
]
GOOD = [
    "The cat is sleeping on the sofa.",
    "Yesterday we talked about the new house for a long time.",
    "The station is at the edge of the city, just behind the old bridge.",
]


def test_a_good_translation_scores_above_an_unrelated_sentence():
    estimator = QualityEstimator(("de", "en"))
    good = estimator.score(GOOD, SOURCES)
    unrelated = estimator.score(GOOD[1:] + GOOD[:1], SOURCES)
    assert (good.simile > unrelated.simile + 0.4).all()
    assert good.problems == ("", "", "")
    np.testing.assert_array_equal(good.simile, good.sim)


def test_each_problem_is_found_and_lowers_the_score():
    bad = {
        "empty": ["", " ", "..."],
        "untranslated": SOURCES,
        "wrong language": [
            "Le chat dort sur le canapé.",
            "Hier, nous avons longtemps parlé de la nouvelle maison.",
            "La gare se trouve au bord de la ville, juste derrière le vieux pont.",
        ],
        "truncated": ["The cat", "Yesterday we talked about", "The station is at"],
    }
    assert set(bad) == set(PROBLEMS)
    estimator = QualityEstimator(("de", "en"))
    for problem, outputs in bad.items():
        scores = estimator.score(outputs, SOURCES)
        assert scores.problems == (problem,) * 3
        assert scores.segments_with()[problem] == [1, 2, 3]
        assert (scores.simile == 0).all() or problem == "truncated"
        assert (scores.simile < np.maximum(scores.sim, 0.01)).all()


NAMES = ["Hamlet", "Angela Merkel", "ABBA", "San Francisco"]


@pytest.mark.parametrize(
    ("hypothesis", "source"),
    [("", ""), ("?", "!"), ("2,5", "2.5"), ("", "--"), *zip(NAMES, NAMES, strict=True)],
)
def test_a_source_without_words_and_an_equal_name_have_no_problem(hypothesis, source):
    assert find_problems([hypothesis], [source], ("de", "en")) == [""]


def test_the_score_is_linear_in_sim_and_equal_in_both_directions():
    raw = SimileScorer("multilingual", similarity="windows", penalty="none").score(GOOD, SOURCES)
    forward = QualityEstimator(("de", "en")).score(GOOD, SOURCES).sim
    backward = QualityEstimator(("en", "de")).score(SOURCES, GOOD).sim
    ratios = (raw.sim - UNRELATED) / forward
    np.testing.assert_allclose(ratios, ratios[0])
    np.testing.assert_allclose(forward, backward)


@pytest.mark.skipif(DATA is None, reason="PARAPHRASTIC_DATA names no folder")
@pytest.mark.parametrize(("code", "name"), [("tr", "tur"), ("ko", "kor")])
def test_the_constants_fit_the_packaged_model(code, name):
    stem = Path(DATA or "") / "eval" / "tatoeba" / "v1" / f"tatoeba.{name}-eng"
    english, other = (
        Path(f"{stem}.{side}").read_text(encoding="utf-8").splitlines() for side in ("eng", name)
    )
    scorer = SimileScorer("multilingual", similarity="windows", penalty="none")
    assert scorer.score(english, other).sim_score == pytest.approx(LANGUAGES[code].sim, abs=0.01)
    ratios = np.log([(len(a) + 1) / (len(b) + 1) for a, b in zip(english, other, strict=True)])
    assert ratios.mean() == pytest.approx(LANGUAGES[code].length, abs=0.01)
    assert ratios.std() == pytest.approx(LANGUAGES[code].spread, abs=0.01)


def test_the_languages_are_identified():
    found = QualityEstimator().score(GOOD, SOURCES)
    assert "|languages:de-en|" in found.signature
    assert "|against:source|" in found.signature
    assert found.signature == QualityEstimator(("de", "en")).score(GOOD, SOURCES).signature
    assert "against" not in SimileScorer("multilingual", similarity="windows").signature()
    with pytest.raises(DataError, match="de and de"):
        QualityEstimator().score(SOURCES, SOURCES)
    swedish = ["Jag har inte sett honom sedan i går.", "Vi måste gå nu, men kom igen i morgon."]
    with pytest.raises(DataError, match="sv and en"):
        QualityEstimator().score(GOOD, [*swedish, SOURCES[0]])
    blank = [""] * 5
    found = QualityEstimator().score(GOOD + blank, SOURCES + blank)
    assert "|languages:de-en|" in found.signature
    with pytest.raises(DataError, match="sources"):
        QualityEstimator().score(["?"], ["!"])


@pytest.mark.parametrize("languages", ["de", ["de"], ["de", "fr"], ["en", "en"], ["en", "xx"]])
def test_unsupported_languages_are_refused(languages):
    with pytest.raises(DataError):
        QualityEstimator(languages)


@pytest.mark.parametrize(
    ("hypotheses", "sources"),
    [([], []), (["a"], ["b", "c"]), (["a"], [None]), ("a", "b"), (["a"], [["b", "c"]])],
)
def test_bad_segments_are_refused(hypotheses, sources):
    with pytest.raises(DataError):
        QualityEstimator(("de", "en")).score(hypotheses, sources)


def test_the_metric_of_evaluate_takes_sources():
    metric = evaluate.load(str(MODULE))
    options = {"predictions": GOOD, "languages": ("de", "en"), "segments": True}
    found = metric.compute(sources=SOURCES, **options)
    assert found == QualityEstimator(("de", "en")).score(GOOD, SOURCES).to_dict(segments=True)
    with pytest.raises(ValueError, match="references"):
        metric.compute(sources=SOURCES, references=GOOD, **options)
