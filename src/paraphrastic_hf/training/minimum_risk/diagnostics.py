"""Costs of candidates for held-out pairs, in several metrics (thesis, 7.5.2 and Figure 12)."""

from __future__ import annotations

import importlib.util
from itertools import pairwise

import numpy as np
import torch

from paraphrastic_hf.generation.search import encoded_by, mean_log_probabilities, padded, rows_of
from paraphrastic_hf.metrics.costs import Cost, make_cost
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.training.minimum_risk.candidates import CandidateLists, CandidateMaker
from paraphrastic_hf.training.minimum_risk.objective import Translations, list_risks
from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe

SEED = 7  # for sampling candidates, the same at every evaluation
OTHERS = ("simile", "bleu")
LISTS_AT_A_TIME = 32


class RiskDiagnostics:
    """Generates candidates for held-out pairs and computes their costs."""

    def __init__(
        self, recipe: MinimumRiskRecipe, pairs: Translations, maker: CandidateMaker
    ) -> None:
        self.pairs, self.maker = pairs, maker
        self.probability = recipe.training.probability
        self.others: dict[str, Cost] = {
            name: make_cost(name)
            for name in OTHERS
            if name != recipe.cost.metric
            and (name != "bleu" or importlib.util.find_spec("sacrebleu"))
        }

    def measure(self) -> dict[str, float]:
        """Return costs x 100 by name.

        `expected_cost` is the mean expected cost of a list. `first` is the mean cost of the most
        likely candidate. Both are also computed with SimiLE and BLEU. `candidates` is the mean
        number of candidates, which is not multiplied.
        """
        numbers = np.arange(len(self.pairs))
        sources, targets = self.pairs.lists(numbers)
        references = self.pairs.references(numbers)
        lists = self.maker.make(sources, references, targets, SEED)
        decode, ends = self.maker.translator.decode, np.cumsum([0, *lists.counts])
        texts = [
            [decode(lists.ids[row].tolist()) for row in range(*span)] for span in pairwise(ends)
        ]
        sums = self._log_probabilities(sources, lists)
        figures = {"candidates": float(lists.counts.mean())}
        costs = {"": lists.costs}
        costs |= {f"_{name}": cost(texts, references) for name, cost in self.others.items()}
        is_list = torch.from_numpy(lists.counts > 0)  # a list without candidates has no cost
        firsts = (np.cumsum(lists.counts) - lists.counts)[lists.counts > 0]
        for name, values in costs.items():
            priced = CandidateLists(lists.ids, lists.counts, np.asarray(values, np.float64))
            risks = list_risks(sums, priced, self.probability)
            figures[f"expected_cost{name}"] = 100 * float(risks.double()[is_list].mean())
            figures[f"first{name}"] = 100 * float(priced.costs[firsts].mean())
        return figures

    @torch.no_grad()
    def _log_probabilities(self, sources: list[list[int]], lists: CandidateLists) -> torch.Tensor:
        translator = self.maker.translator
        model, pad, begin = translator.model, translator.tokenizer.pad_token_id, translator.begin()
        order = np.argsort([len(source) for source in sources], kind="stable")
        ends = np.cumsum([0, *lists.counts])
        sums = torch.zeros(len(lists.ids))
        with evaluating(model):
            for start in range(0, len(order), LISTS_AT_A_TIME):
                chosen = order[start : start + LISTS_AT_A_TIME]
                rows = np.concatenate([np.arange(ends[n], ends[n + 1]) for n in chosen])
                if not len(rows):
                    continue
                inputs = padded([sources[n] for n in chosen], pad, model.device)
                encoded = encoded_by(model, inputs)
                of_row = torch.from_numpy(np.repeat(np.arange(len(chosen)), lists.counts[chosen]))
                written = [[*begin, *lists.ids[row].tolist()] for row in rows]
                outputs = padded(written, pad, model.device)
                is_token = outputs["attention_mask"][:, len(begin) :].bool()
                means = mean_log_probabilities(
                    model,
                    rows_of(encoded, of_row),
                    outputs["input_ids"],
                    is_token,
                    attention_mask=inputs["attention_mask"][of_row],
                )
                sums[torch.from_numpy(rows)] = (means * is_token.sum(1)).cpu().float()
        return sums
