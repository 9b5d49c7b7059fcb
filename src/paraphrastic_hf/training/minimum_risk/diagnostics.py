"""Costs of candidates for held-out pairs, in several metrics (thesis, 7.5.2 and Figure 12)."""

import importlib.util

import numpy as np
import torch

from paraphrastic_hf.generation.search import score_ids
from paraphrastic_hf.metrics.costs import Cost, make_cost
from paraphrastic_hf.training.minimum_risk.candidates import CandidateLists, CandidateMaker
from paraphrastic_hf.training.minimum_risk.objective import Translations, list_risks
from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe

SEED = 7  # for sampling candidates, the same at every evaluation
OTHERS = ("simile", "bleu")


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
        translator = self.maker.translator
        candidates = [lists.ids[row].tolist() for row in range(len(lists.ids))]
        written = list(map(translator.decode, candidates))
        ends = np.cumsum(lists.counts)
        texts = [written[end - count : end] for end, count in zip(ends, lists.counts, strict=True)]
        means = score_ids(
            translator.model,
            [sources[number] for number in lists.numbers()],
            candidates,
            translator.begin(),
            pad=translator.tokenizer.pad_token_id,
            batch_size=translator.batch_size,
        )
        sums = torch.from_numpy(means * np.diff(lists.ids.offsets)).float()
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
