"""What training minimises for pairs of sentences: the terms of the evidence lower bound, and of
translation, from a model's variables and tasks (thesis, 5.5 and 5.6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.gaussian import Gaussian
from paraphrastic_hf.layers.padding import Padding
from paraphrastic_hf.losses.smoothing import cross_entropy_parts
from paraphrastic_hf.losses.vocabulary import Candidates

if TYPE_CHECKING:
    from paraphrastic_hf.models.generative.latent import LatentModel

SEMANTIC = "semantic"


@dataclass(frozen=True)
class Side:
    """One side of the pairs of a batch, as training gives it to a model.

    Attributes:
        language: Code of its language.
        ids: (batch, seq), each sentence with its end mark, padding after it.
        lengths: (batch,) tokens of each sentence, end mark included; best kept on the CPU, since a
            GPU is waited for where it holds them.
        candidates: The tokens of the vocabulary to be scored; None for all.
    """

    language: str
    ids: Tensor
    lengths: Tensor
    candidates: Candidates | None = None

    @cached_property
    def padding(self) -> Padding:
        """Where the tokens stand among `ids`, found once."""
        return Padding.of(self.lengths, self.ids.device, self.ids.shape[1])

    @property
    def flat(self) -> tuple[Tensor, Tensor]:
        """The ids, text after text, (tokens,), and how many each text has, (batch,)."""
        return self.padding.flat(self.ids), self.lengths


@dataclass(frozen=True)
class PairTerms:
    """What a model makes of the pairs of a batch.

    Attributes:
        nll: Sums over the batch of -ln p of every sentence a task writes, in nats, by task; that of
            a translation times 1 - e where labels are smoothed by e.
        smoothing: The other part of a smoothed translation's loss, e times the mean of -ln p of
            all tokens, summed, by task; empty without smoothing.
        kl: Sums over the batch of KL(posterior || prior), in nats, by variable; for the semantic
            one the mean of both sides' where both are read.
        posteriors: Of every variable that was inferred, by its name and the number of the side.
        tokens: Tokens that each task predicted, by task.
    """

    nll: dict[str, Tensor]
    smoothing: dict[str, Tensor]
    kl: dict[str, Tensor]
    posteriors: dict[tuple[str, int], Gaussian]
    tokens: dict[str, int]

    @property
    def semantic(self) -> list[Tensor | None]:
        """Means of the semantic variable of each side, (batch, dim); None for a side that was not
        encoded."""
        found = (self.posteriors.get((SEMANTIC, side)) for side in (0, 1))
        return [None if of is None else of.mean for of in found]


def pair_terms(
    model: LatentModel,
    sides: Sequence[Side],
    chosen: Tensor,
    *,
    smoothing: float,
    sample: bool,
) -> PairTerms:
    """Compute every term of the loss of a batch of pairs (thesis, 5.5 and 5.6.2).

    The thesis feeds one side of a pair to the semantic encoder, each in turn. Translation needs
    both sides, so both are encoded. Reconstruction reads one of them in turn, as in the thesis.
    The prior pulls at both, each as often as it is chosen, which is what taking turns comes to; at
    both alike where nothing is reconstructed. A sentence's
    one draw serves translation and reconstruction; the released code gives both the mean.

    Args:
        model: The model.
        sides: Both sides of the pairs.
        chosen: (batch,) number of the side whose semantic variable serves reconstruction.
        smoothing: Label smoothing of the tasks that translate, 0 to below 1.
        sample: Draw variables from their posteriors; else take the means, as released.
    """
    languages = [side.language for side in sides]
    tasks = tasks_between(model, languages)
    posteriors = _infer(model, sides, tasks)
    draws = {
        key: of.sample() if sample and model.config.is_variational else of.mean
        for key, of in posteriors.items()
    }
    nll: dict[str, Tensor] = {}
    tokens: dict[str, int] = {}
    smoothed: dict[str, Tensor] = {}
    for task in tasks:
        latent = _latent_of(model, task, languages, draws, chosen)
        share = smoothing if task.startswith("translate") else 0.0
        side = sides[languages.index(language_of(task))]
        right, everyone, count = _score(model, task, side, latent, share)
        nll[task], tokens[task] = right, count
        if everyone is not None:
            smoothed[task] = everyone
    kl: dict[str, Tensor] = {}
    if model.config.is_variational:
        for variable in model.variables():
            found = {
                side: of.kl().sum() for (name, side), of in posteriors.items() if name == variable
            }
            if len(found) == 2:  # the meaning of both sides
                second = chosen.float().mean() if model.reads_both_sides else 0.5
                kl[variable] = found[0] * (1 - second) + found[1] * second
            elif found:
                (kl[variable],) = found.values()
    return PairTerms(nll, smoothed, kl, posteriors, tokens)


def language_of(task: str) -> str:
    """The language that a task writes."""
    return task.split("_", 1)[1]


def tasks_between(model: LatentModel, languages: Sequence[str]) -> list[str]:
    """What a model writes for a pair of sentences of these languages."""
    return [task for task in model.tasks() if language_of(task) in languages]


def rows_of_pairs(
    model: LatentModel, sides: Sequence[Side]
) -> Iterator[tuple[nn.Embedding, Tensor]]:
    """The table rows that the terms of some pairs read, as `rows_used` gives them."""
    used: dict[nn.Embedding, list[Tensor]] = {}
    read = torch.cat([side.ids.reshape(-1) for side in sides])
    languages = [side.language for side in sides]
    for task in tasks_between(model, languages):
        for variable in model.variables_of(task):
            used[model.encoder_of(variable).encoder.table] = [read]
    for task in tasks_between(model, languages):
        side = sides[languages.index(language_of(task))]
        ids = [side.ids.reshape(-1), read.new_tensor([model.start_of(task)])]
        used.setdefault(model.decoder_of(task).table, []).extend(ids)
        if side.candidates is not None:
            used.setdefault(model.scorer_of(task).weight, []).append(side.candidates.ids)
    for table, rows in used.items():
        yield table, torch.cat(rows)


def _infer(
    model: LatentModel, sides: Sequence[Side], tasks: Sequence[str]
) -> dict[tuple[str, int], Gaussian]:
    """Posteriors of the variables that some task reads, by variable and side."""
    languages = [side.language for side in sides]
    needed = dict.fromkeys(
        (variable, side)
        for task in tasks
        for variable in model.variables_of(task)
        for side in sides_read(model, task, variable, languages)
    )
    found: dict[tuple[str, int], Gaussian] = {}
    for variable in dict.fromkeys(variable for variable, _ in needed):
        wanted = [side for name, side in needed if name == variable]
        flat = [sides[side].flat for side in wanted]
        joint = model.posterior(
            variable, torch.cat([ids for ids, _ in flat]), torch.cat([n for _, n in flat])
        )
        count = len(sides[0].ids)
        for side, mean, log_variance in zip(
            wanted, joint.mean.split(count), joint.log_variance.split(count), strict=True
        ):
            found[variable, side] = Gaussian(mean, log_variance)
    return found


def sides_read(model: LatentModel, task: str, variable: str, languages: Sequence[str]) -> list[int]:
    """The sides that a task infers a variable from: its own one for a language variable, the
    other for a translation, both in turn for the meaning that it reconstructs from.

    Args:
        model: The model.
        task: One of its tasks, which writes one of the languages.
        variable: One that the task writes from.
        languages: Those of both sides.
    """
    own = languages.index(language_of(task))
    if variable != SEMANTIC:
        return [own]
    if task.startswith("translate"):
        return [1 - own]
    return [0, 1] if model.reads_both_sides else [own]


def _latent_of(
    model: LatentModel,
    task: str,
    languages: Sequence[str],
    draws: Mapping[tuple[str, int], Tensor],
    chosen: Tensor,
) -> Tensor:
    """v, (batch, latent), that a task writes from."""
    parts = []
    for variable in model.variables_of(task):
        read = sides_read(model, task, variable, languages)
        if len(read) == 1:
            parts.append(draws[variable, read[0]])
        else:
            is_second = chosen[:, None].bool()
            parts.append(torch.where(is_second, draws[variable, 1], draws[variable, 0]))
    return torch.cat(parts, 1)


def _score(
    model: LatentModel, task: str, side: Side, latent: Tensor, smoothing: float
) -> tuple[Tensor, Tensor | None, int]:
    """Sums of -ln p and of the smoothing term over a side's tokens, and how many there are."""
    states = model.decoder_of(task)(model.shifted(side.ids, task), latent)
    scorer = model.scorer_of(task)
    padding = side.padding
    kept, targets = padding.flat(states), padding.flat(side.ids)
    weights = None
    if side.candidates is None:
        logits = scorer(kept, latent, padding.text)
    else:
        logits = scorer(kept, latent, padding.text, side.candidates.ids)
        targets, weights = side.candidates.columns(targets), side.candidates.weights
    right, everyone = cross_entropy_parts(logits, targets, smoothing, weights)
    count = len(targets)
    return right * count, None if everyone is None else everyone * count, count
