"""Candidate translations with their costs (thesis, 7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import MOST_TOKENS, GeneratedText, GenerationOptions
from paraphrastic_hf.metrics.costs import Cost
from paraphrastic_hf.metrics.resampling import check_finite
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.minimum_risk.recipe import CandidateArguments


@dataclass(frozen=True)
class CandidateLists:
    """Candidate translations of sentences, one list per sentence, concatenated."""

    ids: Ragged  # token ids of every candidate, with the end mark
    counts: np.ndarray  # number of candidates in each list, (lists,)
    costs: np.ndarray  # cost of each candidate, usually 0 to 1, (candidates,) float64

    def numbers(self) -> np.ndarray:
        """Return, for each candidate, the index of the list that it belongs to, (candidates,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def part(self, first: int, last: int) -> CandidateLists:
        """Return the lists `first` to `last - 1`."""
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        rows = np.arange(ends[first], ends[last])
        return CandidateLists(self.ids.select(rows), self.counts[first:last], self.costs[rows])


class CandidateMaker:
    """Generates candidates and computes their costs. Dropout is off during generation."""

    def __init__(self, translator: Translator, arguments: CandidateArguments, cost: Cost) -> None:
        self.translator, self.arguments, self.cost = translator, arguments, cost
        translator.max_ratio = arguments.max_ratio
        translator.batch_size = arguments.batch_size

    def make(
        self,
        sources: Sequence[Sequence[int]],
        references: Sequence[str],
        targets: Sequence[Sequence[int]],
        seed: int,
    ) -> CandidateLists:
        """Return the candidates of sentences with their costs."""
        how = self.arguments
        writing = GenerationOptions(
            beams=1 if how.search == "sample" else how.beams or how.count,
            sample=how.search == "sample",
            top_p=how.top_p,
            temperature=how.temperature,
            outputs=how.count,
            max_tokens=MOST_TOKENS,  # `max_ratio` limits each candidate
            seed=seed,
        )
        found = self.translator.write(sources, writing, scores=False)
        lists = [
            self._distinct(written, reference.strip(), tuple(target))
            for written, reference, target in zip(found, references, targets, strict=True)
        ]
        costs = self.cost([[each.text for each in one] for one in lists], references)
        check_finite("the cost of a candidate", costs)
        return CandidateLists(
            Ragged.from_lists([each.ids for one in lists for each in one]),
            np.array([len(one) for one in lists], np.int64),
            np.asarray(costs, np.float64),
        )

    def _distinct(
        self, found: Sequence[GeneratedText], reference: str, target: tuple[int, ...]
    ) -> list[GeneratedText]:
        """Return the distinct candidates of one sentence, most likely first.

        A candidate with the text or the ids of the reference counts as the reference. Ids are
        compared because tokenization may change the text.
        """
        keep = self.arguments.reference
        kept: dict[tuple[int, ...], GeneratedText] = {}
        for written in found:
            is_reference = written.text == reference or written.ids == target
            if written.ids and not (keep == "excluded" and is_reference):
                kept.setdefault(written.ids, written)
        if keep == "added":
            text = self.translator.decode(target)  # as for a generated candidate
            kept.setdefault(target, GeneratedText(text, float("nan"), target))
        return list(kept.values())
