"""Recipe sections that encoder-decoders share (thesis, 7.3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import argument, names_file
from paraphrastic_hf.training.encoder.settings import size_argument
from paraphrastic_hf.training.engine.recipe import (
    MORE_THAN_ONCE,
    DataArguments,
    SmoothedArguments,
    must_be,
)


@dataclass(frozen=True)
class PairArguments(DataArguments):
    max_length: int = argument(
        100,
        help="maximum number of tokens in a sentence. Pairs with a longer sentence are left out",
        at_least=1,
        at_most=2**31 - 1,
    )
    held_out: int = argument(
        2000,
        help="number of pairs to hold out for selecting the checkpoint. Pairs that share a "
        "sentence with them are not trained on",
        at_least=0,
    )


@dataclass(frozen=True)
class ParallelArguments(PairArguments):
    ignored: ClassVar[Mapping[str, str]] = {
        "weight": MORE_THAN_ONCE,
        "swap": "Leave it out, because data.target_language determines the target side",
    }
    target_language: str = argument(
        "en",
        help="language that the model writes. Every source must have it on exactly one side. The "
        "languages of the other sides may differ",
    )


@dataclass(frozen=True)
class Seq2SeqArguments:
    """Sizes of an encoder-decoder. Each kind of recipe has its own defaults."""

    hidden_size: int = size_argument(512, help="number of dimensions of a hidden state")
    encoder_layers: int | None = argument(
        None,
        help="number of encoder layers, for all but LSTMs (default: model.decoder_layers)",
        at_least=1,
        at_most=1000,
    )
    decoder_layers: int = argument(2, help="number of decoder layers", at_least=1, at_most=1000)
    dropout: float = argument(
        0.0, help="dropout probability (not stated in the papers)", at_least=0, below=1
    )
    tie: bool = argument(
        False,
        help="share one embedding table between encoder, decoder and output layer. marian, bart "
        "and ssru always share it",
    )
    embedding_size: int | None = size_argument(
        None,
        help="gated_conv, scpn, paraphraser: number of dimensions of a token vector (default: "
        "gated_conv model.hidden_size, others 300)",
    )
    heads: int | None = argument(
        None,
        help="marian, bart, ssru: number of attention heads of a block (default: 4)",
        at_least=1,
    )
    feed_forward: int | None = size_argument(
        None,
        help="marian, bart, ssru: number of units of the feed-forward layer (default: 4 times "
        "model.hidden_size)",
    )
    positions: int | None = argument(
        None,
        help="gated_conv, marian, bart: maximum number of tokens that the model can read or write "
        "(default: 512)",
        at_least=2,
    )


@dataclass(frozen=True)
class AnnealedArguments(SmoothedArguments):
    """Optimization with annealing of the learning rate (`engine/annealing.py`)."""

    anneal: float | None = argument(
        None,
        help="factor by which the learning rate is multiplied after an epoch without a new best "
        "development score (thesis: 0.1, default: no annealing)",
        above=0,
        below=1,
    )
    anneal_from: int | None = argument(
        None,
        help="first epoch, from 1, after which the learning rate is always multiplied by "
        "training.anneal (thesis: 200, minimum risk 10). Default: only after epochs without "
        "a new best score",
        at_least=1,
    )
    anneal_until: float = argument(
        1e-4, help="training ends when annealing lowers the learning rate below this value", above=0
    )


@dataclass(frozen=True)
class AveragedArguments(AnnealedArguments):
    average: int = argument(
        1,
        help="number of last checkpoints to average (1: no averaging). The average is saved if it "
        "scores better than the best checkpoint, or if run.development is none",
        at_least=1,
    )


def check_chosen_by_score(training: AnnealedArguments, held_out: int, run: Any) -> None:
    """Raise an error for contradictory keys of model selection, annealing and averaging."""
    development = run.development
    if development != "none" and not held_out and not names_file(development):
        key = f"data.held_out with run.development {development}"
        raise must_be(key, held_out, "at least 1 (or set run.development to none)")
    if training.anneal is not None and training.anneal_from is None and development == "none":
        wanted = "a development score (or set training.anneal_from)"
        raise must_be("run.development with training.anneal", development, wanted)
    if training.anneal_from is not None and training.anneal is None:
        key = "training.anneal_from without training.anneal"
        wanted = "left out, or set training.anneal (thesis: 0.1)"
        raise must_be(key, training.anneal_from, wanted)
    average = training.average if isinstance(training, AveragedArguments) else 1
    if run.keep_checkpoints < average:
        key = f"run.keep_checkpoints with training.average {average}"
        raise must_be(key, run.keep_checkpoints, "at least training.average")
