"""The sections that recipes of encoder-decoders share, by likelihood or by risk (thesis, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.recipe import argument
from paraphrastic_hf.training.arguments import DataArguments, SmoothedArguments


@dataclass(frozen=True)
class ParallelArguments(DataArguments):
    """Which translations to train on."""

    to: str = argument(
        "en",
        help="language that is written; every source has it on one side, and what is on the other "
        "is read, in one language or several",
    )


@dataclass(frozen=True)
class AnnealedArguments(SmoothedArguments):
    """Optimisation whose learning rate falls at the ends of epochs, and ends the run."""

    anneal: float | None = argument(
        None,
        help="what the learning rate is multiplied with at the end of an epoch whose development "
        "score is no new best, such as 0.1; no annealing if absent",
        above=0,
        below=1,
    )
    anneal_from: int | None = argument(
        None,
        help="epoch from whose end the rate is multiplied so after every epoch (thesis: 200, of "
        "minimum risk 10)",
        at_least=1,
    )
    anneal_until: float = argument(
        1e-4, help="with anneal, training ends where the learning rate falls below this", above=0
    )
