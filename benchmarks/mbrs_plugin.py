"""SimiLE and SIM as metrics of `mbrs`, a library for minimum Bayes risk decoding (Deguchi et al.,
2024).

Call `register()`, then choose the metric `simile` or `sim`. Install `mbrs` separately, because its
own metrics need transformers 4. `bayes_risk.py` compares its decoders with ours.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.metrics.scorer import DEFAULT_MODEL, SimileScorer
from paraphrastic_hf.metrics.semantic import ALPHA


def register() -> dict[str, type]:
    """Register `simile` and `sim` as metrics of `mbrs`, with the fields `model` and `alpha` in
    their `Config`. Return the two classes by name.
    """
    try:
        metrics: Any = importlib.import_module("mbrs.metrics")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "mbrs is not installed. Run pip install mbrs in a separate environment, or use "
            "paraphrastic translate --decode mbr",
            name="mbrs",
        ) from error
    return {name: _metric(metrics, name) for name in ("simile", "sim")}


def _metric(metrics: Any, name: str) -> type:
    import torch

    @metrics.register(name)
    class SemanticMetric(metrics.MetricAggregatable):  # type: ignore[misc]
        @dataclass
        class Config(metrics.Metric.Config):  # type: ignore[misc]
            model: str = DEFAULT_MODEL
            alpha: float = ALPHA

        def __init__(self, cfg: Any) -> None:
            super().__init__(cfg)
            penalty = "none" if name == "sim" else "both"
            options = {"alpha": cfg.alpha, "penalty": penalty}
            self.scorer = SimileScorer(cfg.model, similarity="sentences", **options)

        def score(self, hypothesis: str, reference: str, *_: Any, **__: Any) -> float:
            return float(self.scorer.score([hypothesis], [reference]).simile[0])

        def scores(self, hypotheses: Any, references: Any, *_: Any, **__: Any) -> Any:
            return torch.from_numpy(self.scorer.score(hypotheses, references).simile).float()

        def pairwise_scores(self, hypotheses: Any, references: Any, *_: Any, **__: Any) -> Any:
            texts, count = [*hypotheses, *references], len(references)
            own = np.repeat(np.arange(len(hypotheses)), count)
            other = len(hypotheses) + np.tile(np.arange(count), len(hypotheses))
            scores, _ = self.scorer.compare(texts, own, other)
            return torch.from_numpy(scores.reshape(-1, count)).float()

        def expected_scores_reference_aggregation(
            self,
            hypotheses: Sequence[str],
            references: Sequence[str],
            source: str | None = None,
            reference_lprobs: Any = None,
        ) -> Any:
            shares = np.full(len(references), 1 / len(references))
            if reference_lprobs is not None:
                shares = reference_lprobs.double().softmax(-1).cpu().numpy()
            texts = self.scorer.embed([*hypotheses, *references])
            own, other = np.split(texts.units, [len(hypotheses)])
            found = (own @ (shares @ other)).clip(-1.0, 1.0)
            if texts.lengths is not None:
                lengths, others = np.split(texts.lengths, [len(hypotheses)])
                mean = np.full(len(lengths), shares @ others)
                found = self.scorer.penalized(found, lengths, mean)
            return torch.from_numpy(found).float()

        def corpus_score(self, hypotheses: Any, references_lists: Any, *_: Any, **__: Any) -> float:
            lists = [list(texts) for texts in zip(*references_lists, strict=True)]
            return self.scorer.score(hypotheses, lists).score

    SemanticMetric.__name__ = SemanticMetric.__qualname__ = f"Metric{name.capitalize()}"
    return SemanticMetric
