"""Diagnostics of generative models: likelihood and posterior collapse (thesis, 5.9.2).

A latent variable has collapsed if its posterior equals the prior for every sentence. Then its KL
divergence, mutual information and number of active units are 0.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.layers.gaussian import (
    Gaussian,
    active_units,
    mutual_information,
    standard_log_density,
)
from paraphrastic_hf.layers.packing import moved
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.generative.latent import LatentModel, Side, language_of
from paraphrastic_hf.text.ragged import Ragged

AT_A_TIME, TOKENS_AT_A_TIME = 64, 4096
PairsByLanguages = Mapping[tuple[str, str], np.ndarray]
INFORMED = 512  # sentences for the mutual information, whose cost is quadratic


@dataclass(frozen=True)
class LatentDiagnostics:
    """Diagnostics of a model on held-out pairs, by task or by latent variable."""

    nats_per_token: dict[str, float]  # mean of -ln p(token) in nats, by task
    kl: dict[str, float]  # mean of KL(posterior || prior) in nats, by variable
    active_units: dict[str, int]  # dimensions whose posterior mean varies, by variable
    mutual_information: dict[str, float]  # of variable and sentence, in nats, at most ln 512

    @property
    def likelihood(self) -> float:
        """Negative mean of `nats_per_token` over tasks. Higher is better."""
        return -float(np.mean(list(self.nats_per_token.values())))

    def flat(self) -> dict[str, float]:
        """Return all diagnostics by names such as `kl/VARIABLE`, for logs."""
        return {
            f"{kind}/{name}": float(value)
            for kind in ("nats_per_token", "kl", "active_units", "mutual_information")
            for name, value in getattr(self, kind).items()
        }


@torch.no_grad()
def measure(
    model: LatentModel, sentences: Ragged, pairs: PairsByLanguages, max_length: int, seed: int = 0
) -> LatentDiagnostics:
    """Compute the diagnostics of a model on pairs, with likelihoods at the posterior means. `pairs`
    are indices into `sentences` of the two sides, (pairs, 2), by language pair.
    """
    nll, tokens = defaultdict[str, float](float), defaultdict[str, int](int)
    parts = defaultdict[str, list[Gaussian]](list)
    with evaluating(model):
        for languages, own in _batches(model, sentences, pairs, max_length):
            chosen = torch.arange(len(own[0].ids), device=model.device) % 2
            terms = model.pair_terms(own, chosen, sample=False)
            for task, total in terms.nll.items():
                nll[task] += float(total)
                tokens[task] += terms.tokens[task]
            for variable in _variables(model, model.tasks_between(languages)):
                found = terms.posteriors[variable, model.side_of(variable, languages)]
                parts[variable].append(found)
    posteriors = {
        name: Gaussian(
            torch.cat([part.mean.float().cpu() for part in of]),
            torch.cat([part.log_variance.float().cpu() for part in of]),
        )
        for name, of in parts.items()
    }
    kl, information = {}, {}
    generator = torch.Generator().manual_seed(seed)
    for name, of in posteriors.items() if model.config.is_variational else ():
        kl[name] = float(of.kl().mean())
        # Batches are sorted by length, so sample sentences from all batches.
        count = len(of.mean)
        spread = torch.linspace(0, count - 1, min(count, INFORMED)).round().long()
        some = Gaussian(of.mean[spread], of.log_variance[spread])
        information[name] = mutual_information(some, generator)
    units = {name: active_units(of.mean) for name, of in posteriors.items()}
    nats = {task: nll[task] / tokens[task] for task in nll}
    return LatentDiagnostics(nats, kl, units, information)


@torch.no_grad()
def importance_weighted_nll(
    model: LatentModel,
    sentences: Ragged,
    pairs: PairsByLanguages,
    max_length: int,
    *,
    draws: int = 50,
    seed: int = 0,
) -> float:
    """Estimate the mean -ln p(x) of pairs by importance sampling, in nats per pair (5.9.2).

    The estimate is -ln 1/K sum_k p(x | z_k) p(z_k) / q(z_k | x), with K = `draws`. Its
    expectation is an upper bound, tighter for larger K. The semantic variable is inferred from the
    first side. The model must be variational and reconstruct.
    """
    total = 0.0
    generator = torch.Generator(model.device).manual_seed(seed)
    with evaluating(model):
        for languages, own in _batches(model, sentences, pairs, max_length):
            tasks = [t for t in model.tasks_between(languages) if t.startswith("reconstruct")]
            posteriors = {
                name: model.posterior(name, *own[model.side_of(name, languages, tasks)].flat)
                for name in _variables(model, tasks)
            }
            weights = []
            for _ in range(draws):
                drawn = {name: of.sample(generator) for name, of in posteriors.items()}
                weight = torch.zeros(len(own[0].ids), device=model.device)
                for name, values in drawn.items():
                    weight += standard_log_density(values) - posteriors[name].log_density(values)
                for task in tasks:
                    latent = torch.cat([drawn[name] for name in model.variables_of(task)], 1)
                    side = own[languages.index(language_of(task))]
                    weight -= model.nll_of_sentences(task, side, latent)
                weights.append(weight)
            total -= float((torch.stack(weights).logsumexp(0) - math.log(draws)).sum())
    return total / max(1, sum(map(len, pairs.values())))


def has_likelihood(model: LatentModel) -> bool:
    """Return whether a model has a likelihood. It must be variational and reconstruct."""
    is_variational = bool(model.config.is_variational)
    return is_variational and any(task.startswith("reconstruct") for task in model.tasks())


def _variables(model: LatentModel, tasks: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for task in tasks for name in model.variables_of(task)))


def _batches(
    model: LatentModel, sentences: Ragged, pairs: PairsByLanguages, max_length: int
) -> Iterator[tuple[tuple[str, str], list[Side]]]:
    """Yield batches of pairs of similar length, small enough for logits over the vocabulary."""
    for languages, sides in pairs.items():
        lengths = np.minimum(sentences.lengths(sides), max_length)
        for chosen in length_batches(lengths.max(1), AT_A_TIME, TOKENS_AT_A_TIME):
            own = []
            for number, language in enumerate(languages):
                ids = torch.from_numpy(sentences.padded(sides[chosen, number], max_length)[0])
                counts = torch.from_numpy(lengths[chosen, number])
                own.append(Side(language, moved(ids, model.device), counts))
            yield languages, own
