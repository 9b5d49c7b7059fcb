"""Every key that the recipe of a translation model has alone (thesis, 7.3).

Sizes are the thesis's unless a help text says otherwise. The optimizer is Adam; that of the thesis,
Nesterov's with gradients renormalized, is in `recipes/beyond-bleu-2019/mle.yaml`.
"""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.training.encoder.settings import (
    MOST_DIMENSIONS,
    TokenizerArguments,
    check_marks,
)
from paraphrastic_hf.training.engine.recipe import (
    HELD_OUT,
    NONE,
    RunArguments,
    check_source,
    must_be,
    refuse_keys_of_others,
    seed_argument,
)
from paraphrastic_hf.training.seq2seq.recipe import (
    AveragedArguments,
    ParallelArguments,
    check_chosen_by_score,
)

BLEU = "bleu"
OF_FAMILY = {
    "gated_conv": ("embedding_size", "kernel_width"),
    "marian": ("heads", "feed_forward"),
}


@dataclass(frozen=True)
class TranslationData(ParallelArguments):
    """Which translations to train on."""

    held_out: int = argument(
        2000,
        help="pairs that are not trained on, nor is any other pair with one of their sentences; "
        "they choose the checkpoint and anneal the learning rate",
        at_least=0,
    )
    max_length: int = argument(
        100, help="leave out pairs with a side of more tokens", at_least=1, at_most=2**31 - 1
    )


@dataclass(frozen=True)
class TranslatorArguments:
    """The encoder-decoder."""

    kind: str = argument(
        "gated_conv",
        help="gated_conv, gated convolutions with attention in every layer of the decoder; or "
        "marian, a transformer of transformers' own classes, which CTranslate2 converts",
        choices=tuple(OF_FAMILY),
    )
    hidden_size: int = argument(
        256, help="numbers of a token's state", at_least=1, at_most=MOST_DIMENSIONS
    )
    encoder_layers: int = argument(4, help="layers of the encoder", at_least=1, at_most=1000)
    decoder_layers: int = argument(3, help="layers of the decoder", at_least=1, at_most=1000)
    dropout: float = argument(
        0.2,
        help="probability that a number is zeroed in training (no paper states it)",
        at_least=0,
        below=1,
    )
    positions: int = argument(
        1024, help="most tokens of a text that the model has places for", at_least=2
    )
    tie: bool = argument(
        True,
        help="one table of tokens for encoder, decoder and output layer (the thesis has three)",
    )
    embedding_size: int | None = argument(
        None,
        help="gated_conv: numbers of a row of a table; hidden_size if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    kernel_width: int | None = argument(
        None, help="gated_conv: tokens that a convolution reads, odd; 3 if absent", at_least=1
    )
    heads: int | None = argument(
        None, help="marian: attention heads of a block; 4 if absent", at_least=1
    )
    feed_forward: int | None = argument(
        None,
        help="marian: units of the feed-forward layer of a block; 4 times hidden_size if absent",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )


@dataclass(frozen=True)
class TranslationTraining(AveragedArguments):
    """Label-smoothed cross-entropy and its optimization."""

    epochs: int = argument(
        20,
        help="passes over the data, fewer where annealing ends the run; the thesis has over 200",
        at_least=0,
    )


@dataclass(frozen=True)
class TranslationRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    development: str = argument(
        HELD_OUT,
        help="what picks the checkpoint, of held-out pairs: held_out, their likelihood; or bleu, "
        "that of the likeliest translations of 500 of them; a file, the likelihood of its pairs, "
        "which is read like the first source; none keeps the last",
        choices=(HELD_OUT, BLEU, NONE, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class TranslationRecipe:
    """A whole training run of a translation model."""

    kind: str = argument(
        "translation", help="what is trained: a translation model", choices=("translation",)
    )
    data: TranslationData = argument(TranslationData(), help="what to train on")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(
            vocab_size=40_000, lowercase=False, marks="end", character_coverage=0.9999
        ),
        help="how text of both sides becomes ids; sentences must have an end",
    )
    model: TranslatorArguments = argument(TranslatorArguments(), help="the model")
    training: TranslationTraining = argument(
        TranslationTraining(schedule="inverse_root", warmup_steps=1000, clip=1.0),
        help="the objective",
    )
    run: TranslationRunArguments = argument(TranslationRunArguments(), help="checkpoints and logs")
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        check_marks(self.tokenizer, "end", "a translation is written until its end")
        model, training, run = self.model, self.training, self.run
        refuse_keys_of_others("model", model, OF_FAMILY)
        check_chosen_by_score(training, self.data.held_out, run.development)
        if self.data.max_length > model.positions:
            raise must_be(
                f"data.max_length with {model.positions} model.positions",
                self.data.max_length,
                "at most as large",
            )
        if run.keep_checkpoints < training.average:
            raise must_be(
                f"run.keep_checkpoints with training.average {training.average}",
                run.keep_checkpoints,
                "at least as large",
            )
