from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.corpora.readers.sts_files import read_sts_year
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.suites.sts import YEARS
from paraphrastic_hf.evaluation.suites.translation import MEANS, SUFFIXES, sts_correlations
from paraphrastic_hf.metrics import matching
from paraphrastic_hf.metrics.scorer import SimileScorer


@pytest.fixture(autouse=True)
def _no_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace METEOR, which needs nltk's data."""

    def load(progress: bool = False) -> object:
        def score(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
            pairs = zip(hypotheses, references, strict=True)
            return np.array([len(output) / len(several[0]) for output, several in pairs])

        return score

    monkeypatch.setitem(matching.MATCHING, "METEOR", load)


def test_the_first_sentence_is_the_reference_of_each_metric(
    sts_folder: Path,
) -> None:
    encoder = SentenceEncoder.from_pretrained("simile")
    results = evaluate(encoder, "sts-metrics", sts_folder)
    pairs = read_sts_year(sts_folder, "2012")[0]
    row = next(r for r in results["rows"] if (r["group"], r["name"]) == ("2012", pairs.name))
    there = np.array([len(b) / len(a) for a, b in zip(pairs.first, pairs.second, strict=True)])
    expected = {"METEOR": there, "METEOR symmetric": (there + 1 / there) / 2}
    for similarity, suffix in SUFFIXES.items():
        scorer = SimileScorer(encoder, similarity=similarity)
        scores = scorer.score(list(pairs.second), list(pairs.first))
        expected |= {f"SIM{suffix}": scores.sim, f"SimiLE{suffix}": scores.simile}
    for name, values in expected.items():
        correlation = 100 * stats.pearsonr(values, pairs.scores).statistic
        assert row["scores"][name] == pytest.approx(correlation)


def test_the_headline_is_the_mean_of_yearly_means(
    sts_folder: Path,
) -> None:
    def lengths(outputs: list[str], references: list[str]) -> dict[str, np.ndarray]:
        return {"length": np.array([float(len(text)) for text in outputs])}

    rows = sts_correlations(lengths, sts_folder)
    for year in YEARS:
        of_year = [row.scores["length"] for row in rows if row.group == year]
        mean = next(r for r in rows if (r.group, r.name) == (MEANS, year))
        assert mean.scores["length"] == pytest.approx(np.mean(of_year))
    results = evaluate(SentenceEncoder.from_pretrained("simile"), "sts-metrics", sts_folder)
    means = [row["scores"]["chrF"] for row in results["rows"] if row["group"] == MEANS]
    assert len(means) == len(YEARS)
    assert results["headline"]["chrF"] == pytest.approx(np.mean(means))
    assert results["headline"]["chrF symmetric"] != results["headline"]["chrF"]
