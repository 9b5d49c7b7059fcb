"""Recipe keys of a language model over sentences.

The model computes perplexities, to filter corpora and to evaluate paraphrases. The papers do not
train one. The default size trains in minutes on two cores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.training.encoder.settings import (
    TokenizerArguments,
    check_marks,
    check_recipe,
    size_argument,
)
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    RunArguments,
    SmoothedArguments,
    must_be,
    seed_argument,
)


@dataclass(frozen=True)
class SentenceArguments(DataArguments):
    ignored: ClassVar[Mapping[str, str]] = {
        "weight": "each distinct sentence is used once per epoch",
        "swap": "sentences are read from either side",
    }
    language: str = argument(
        "en", help="language to train on. Of pairs, the sentences in this language are used"
    )
    held_out: int = argument(
        2000, help="number of sentences to hold out (0: keep the last checkpoint)", at_least=0
    )


@dataclass(frozen=True)
class TransformerArguments:
    hidden_size: int = size_argument(256, help="number of dimensions of a hidden state")
    layers: int = argument(3, help="number of transformer blocks", at_least=1, at_most=1000)
    heads: int = argument(
        4, help="number of attention heads of a block (must divide model.hidden_size)", at_least=1
    )
    feed_forward: int = size_argument(1024, help="number of units of a feed-forward layer")
    dropout: float = argument(0.1, help="dropout probability", at_least=0, below=1)


@dataclass(frozen=True)
class LanguageModelRunArguments(RunArguments):
    development: str = argument(
        "held_out",
        help="text whose likelihood selects the checkpoint: held_out, or a file with one sentence "
        "per line",
        choices=("held_out", FILE),
    )


@dataclass(frozen=True, kw_only=True)
class LanguageModelRecipe:
    kind: str = argument(
        "language_model", help="kind of training: language model", choices=("language_model",)
    )
    data: SentenceArguments = argument(SentenceArguments(), help="training data")
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(vocab_size=8000, marks="both", keep_unknown=True),
        help="tokenizer (marks: both)",
    )
    model: TransformerArguments = argument(TransformerArguments(), help="size of the model")
    training: SmoothedArguments = argument(
        SmoothedArguments(epochs=5, schedule="linear", warmup_steps=200, clip=1.0),
        help="objective and optimization",
    )
    run: LanguageModelRunArguments = argument(
        LanguageModelRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_recipe(self)
        check_marks(self.tokenizer, "both", "a language model needs a start and an end token")
        if self.data.max_length < 3:
            raise must_be("data.max_length", self.data.max_length, "at least 3 (two are marks)")
