"""Every key that the recipe of a language model has alone.

No paper of this project trains one; its perplexity filters corpora (2017 back-translation paper)
and judges paraphrases. Defaults are sizes that two cores train in minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.settings import (
    MOST_DIMENSIONS,
    TokenizerArguments,
    check_marks,
)
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    RunArguments,
    SmoothedArguments,
    check_source,
    must_be,
    seed_argument,
)


@dataclass(frozen=True)
class SentenceArguments(DataArguments):
    """Which sentences to train on."""

    ignored: ClassVar[Mapping[str, str]] = {
        "weight": "each distinct sentence is seen once an epoch; leave it out",
        "swap": "sentences are read from either side; leave it out",
    }
    language: str = argument(
        "en", help="the sentences of this language are read, from either side of each source"
    )
    held_out: int = argument(
        2000,
        help="distinct sentences that are not trained on; the checkpoint that predicts them best "
        "is kept; 0 to keep the last",
        at_least=0,
    )


@dataclass(frozen=True)
class TransformerArguments:
    """Size of a transformer."""

    hidden_size: int = argument(
        256, help="numbers of a token's state", at_least=1, at_most=MOST_DIMENSIONS
    )
    layers: int = argument(3, help="transformer blocks", at_least=1, at_most=1000)
    heads: int = argument(4, help="attention heads of a block; they share hidden_size", at_least=1)
    feed_forward: int = argument(
        1024,
        help="units of the feed-forward layer of a block",
        at_least=1,
        at_most=MOST_DIMENSIONS,
    )
    dropout: float = argument(
        0.1, help="probability that a number is zeroed in training", at_least=0, below=1
    )


@dataclass(frozen=True)
class LanguageModelTraining(SmoothedArguments):
    """The objective of a language model and its optimization."""


@dataclass(frozen=True)
class LanguageModelRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    development: str = argument(
        "held_out",
        help="what picks the checkpoint, by its likelihood: held_out, sentences of the sources; or "
        "a file of text, a sentence a line",
        choices=("held_out", FILE),
    )


@dataclass(frozen=True, kw_only=True)
class LanguageModelRecipe:
    """A whole training run of a language model over sentences."""

    kind: str = argument(
        "language_model", help="what is trained: a language model", choices=("language_model",)
    )
    data: SentenceArguments = argument(SentenceArguments(), help="what to train on")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(vocab_size=8000, marks="both", keep_unknown=True),
        help="how text becomes ids; sentences must have both marks",
    )
    model: TransformerArguments = argument(TransformerArguments(), help="size of the model")
    training: LanguageModelTraining = argument(
        LanguageModelTraining(epochs=5, schedule="linear", warmup_steps=200, clip=1.0),
        help="the objective",
    )
    run: LanguageModelRunArguments = argument(
        LanguageModelRunArguments(), help="checkpoints and logs"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        size, heads = self.model.hidden_size, self.model.heads
        if size % heads != 0 or size % 2 != 0:
            raise must_be(
                f"model.hidden_size with {heads} heads", size, f"even and a multiple of {heads}"
            )
        check_marks(
            self.tokenizer, "both", "a language model predicts where a sentence ends from its start"
        )
        if self.data.max_length < 3:
            raise RecipeError(
                f"data.max_length must be at least 3, a token and both marks, got "
                f"{self.data.max_length}"
            )
