"""`paraphrastic translate --decode mbr`, and SimiLE for `mbrs`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from paraphrastic_hf import SimileScorer, Translator
from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
from paraphrastic_hf.metrics import mbrs_plugin
from paraphrastic_hf.metrics.utilities import make_utility
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES

LINES = [*SENTENCES[:3], ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mbr")
    save_marian(path / "model")
    (path / "in.txt").write_text("\n".join(LINES) + "\n")
    return path


def translated(run, folder, *options):
    common = ["--max-tokens", "12", "--quiet", "--decode", "mbr"]
    return run("translate", folder / "model", folder / "in.txt", *common, *options).out.split("\n")[
        :-1
    ]


@pytest.mark.parametrize("metric", ["simile", "chrf"])
@pytest.mark.parametrize("options", [["--beams", "6"], ["--sample", "--top-p", "1"]])
def test_mbr_prints_the_decision_of_minimum_bayes_risk(metric, options, folder, run):
    printed = translated(run, folder, "--metric", metric, "--outputs", "6", *options)
    translator = Translator.from_pretrained(folder / "model")
    sample = "--sample" in options
    lists = translator.translate(
        LINES, beams=6 if not sample else 5, outputs=6, sample=sample, max_tokens=12
    )
    expected = minimum_bayes_risk(
        [[each.text for each in one] for one in lists],
        make_utility(metric),
        weights=None if sample else [likelihood_weights(one) for one in lists],
    )
    assert printed == [decision.text for decision in expected]
    assert printed[3] == ""


def test_aggregate_is_exact_for_sim(folder, run):
    options = ["--metric", "sim", "--outputs", "5", "--sample"]
    assert translated(run, folder, *options, "--aggregate") == translated(run, folder, *options)


class StandIn:
    """The part of `mbrs.metrics` that the plugin uses."""

    def __init__(self, cfg):
        self.cfg = cfg

    @dataclass
    class Config: ...


def test_mbrs_gets_the_scores_of_simile(monkeypatch):
    """Uses a stand-in, because mbrs is not installed here."""
    known: dict[str, type] = {}
    module: Any = ModuleType("mbrs.metrics")
    module.Metric = module.MetricAggregatable = StandIn
    module.register = lambda name: lambda cls: known.setdefault(name, cls)
    monkeypatch.setitem(sys.modules, "mbrs", ModuleType("mbrs"))
    monkeypatch.setitem(sys.modules, "mbrs.metrics", module)
    metrics = mbrs_plugin.register()
    assert known == metrics
    ours, theirs = ["a cat sleeps", "two dogs run here"], ["the cat is asleep", "dogs", "a cat"]
    simile, sim = (metrics[name](metrics[name].Config()) for name in ("simile", "sim"))
    table = simile.pairwise_scores(ours, theirs)
    assert table.shape == (2, 3)
    scorer = SimileScorer(similarity="sentences")
    for row, own in enumerate(ours):
        expected = scorer.score([own] * 3, theirs).simile
        np.testing.assert_allclose(table[row], expected, atol=1e-6)
    assert simile.score(ours[0], theirs[0]) == pytest.approx(float(table[0, 0]), abs=1e-6)
    torch.testing.assert_close(simile.scores(ours, theirs[:2]), table[[0, 1], [0, 1]])
    found = sim.expected_scores_reference_aggregation(ours, theirs)
    torch.testing.assert_close(found, sim.pairwise_scores(ours, theirs).mean(1))
    weights = torch.tensor([0.0, 1.0, 2.0])
    found = sim.expected_scores_reference_aggregation(ours, theirs, reference_lprobs=weights)
    torch.testing.assert_close(found, sim.pairwise_scores(ours, theirs) @ weights.softmax(0))
    assert simile.corpus_score(ours, [theirs[:2]]) == pytest.approx(
        scorer.score(ours, theirs[:2]).score
    )


def test_without_mbrs_the_alternative_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbrs", None)
    with pytest.raises(MissingExtraError):
        mbrs_plugin.register()
