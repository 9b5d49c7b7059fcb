"""The sections that recipes of encoder-decoders share, by likelihood or by risk (thesis, 7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import argument, names_file
from paraphrastic_hf.training.engine.recipe import (
    MORE_THAN_ONCE,
    DataArguments,
    SmoothedArguments,
    must_be,
)


@dataclass(frozen=True)
class ParallelArguments(DataArguments):
    """Which translations to train on."""

    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "data.target_language says which side is written; leave it out",
    }
    target_language: str = argument(
        "en",
        help="language that is written; every source has it on one side, and what is on the other "
        "is read, in one language or several",
    )


@dataclass(frozen=True)
class AnnealedArguments(SmoothedArguments):
    """Optimization whose learning rate falls at the ends of epochs, and ends the run."""

    anneal: float | None = argument(
        None,
        help="what the learning rate is multiplied with at the end of an epoch whose development "
        "score is no new best, such as 0.1; no annealing if absent",
        above=0,
        below=1,
    )
    anneal_from: int | None = argument(
        None,
        help="epoch from whose end the rate is multiplied so after every epoch, and before which "
        "it never is (thesis: 200, of minimum risk 10); if absent, the development score decides",
        at_least=1,
    )
    anneal_until: float = argument(
        1e-4, help="with anneal, training ends where the learning rate falls below this", above=0
    )


@dataclass(frozen=True)
class AveragedArguments(AnnealedArguments):
    """Such optimization, whose last checkpoints may become one."""

    average: int = argument(
        1,
        help="average the weights of so many last checkpoints, and keep that average if it scores "
        "better than the best, or if run.development is none; 1 for no averaging",
        at_least=1,
    )


def check_chosen_by_score(training: AnnealedArguments, held_out: int, development: str) -> None:
    """Refuse to choose a checkpoint, or to anneal, by a score of held-out pairs without any."""
    if development != "none" and not held_out and not names_file(development):
        key = f"data.held_out with run.development {development}"
        raise must_be(key, held_out, "at least 1, or set run.development to none")
    if training.anneal is not None and training.anneal_from is None and development == "none":
        wanted = "a score of held-out pairs, or set training.anneal_from"
        raise must_be("run.development with training.anneal", development, wanted)
    if training.anneal_from is not None and training.anneal is None:
        key = "training.anneal_from without training.anneal"
        wanted = "left out, or set training.anneal, to 0.1 in the thesis"
        raise must_be(key, training.anneal_from, wanted)
