"""What every recipe of a sentence encoder has, by whatever it learns: the encoder, how its table is
finished, and how its states are chosen."""

from __future__ import annotations

from dataclasses import dataclass

from paraphrastic_hf.config.recipe import FILE, argument, check_bounds
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.settings import (
    EncoderArguments,
    ModelArguments,
    TokenizerArguments,
    refuse_beside_start,
)
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    OptimizationArguments,
    RunArguments,
    check_source,
    must_be,
    seed_argument,
)

DEVELOPMENT_SETS = (
    "none",
    "clean",
    "clean-and-bitext",
    "sts17-en-en",
    "stsb-dev",
    "ws353-tuning",
)


@dataclass(frozen=True)
class FinishArguments:
    """What is done to a trained table before it is saved, in this order."""

    merge_with: list[str] = argument(
        [],
        help="other runs of the same vocabulary (tokenizer.from_model), whose tables are turned "
        "onto this one's and averaged with it; best of float32 and without whitening of their own",
        names="model",
    )
    whiten: float = argument(
        0.0,
        help="partial whitening: principal axes are scaled by their eigenvalue to the minus this",
        at_least=0,
        at_most=0.5,
    )
    sample: int = argument(
        60_000, help="training sentences that the axes are computed from", at_least=1
    )
    dimension: int | None = argument(None, help="number of leading axes kept", at_least=1)
    nested_dimensions: bool = argument(
        False, help="order the axes so that any prefix of the dimensions is a good model"
    )
    drop_apart: bool = argument(False, help="drop the pieces of the languages kept apart")
    significant_bits: int | None = argument(
        None,
        help="binary digits kept of every number, so that files compress; 8 loses nearly nothing",
        at_least=2,
        at_most=24,  # those of float32
    )
    precision: str = argument(
        "float32",
        help="number format of the saved weights; int8 and int4 round a table to multiples of a "
        "number of each row, which stock sentence-transformers cannot read",
        choices=("float32", "float16", "int8", "int4"),
    )

    def __post_init__(self) -> None:
        once = len(set(self.merge_with)) == len(self.merge_with)
        if not once:
            raise must_be("finish.merge_with", self.merge_with, "runs that are named once each")


@dataclass(frozen=True)
class EncoderRunArguments(RunArguments):
    """Checkpoints, logs and model selection."""

    development: str = argument(
        "clean",
        help="set that picks the best checkpoint: clean, pairs that no reported test set holds; "
        "clean-and-bitext, also translations held out of training; the papers' sts17-en-en and "
        "stsb-dev, which reported sets overlap; ws353-tuning, for words (3.5.3); a file of your "
        "own pairs, as `evaluate --pairs` takes it; none, the last one",
        choices=(*DEVELOPMENT_SETS, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class EncoderRecipe:
    """A training run of a sentence encoder, but for what it learns by."""

    kind: str = argument("contrastive", help="what a sentence encoder learns by")
    data: DataArguments = argument(DataArguments(), help="what to train on")
    start: str | None = argument(
        None,
        help="directory of a trained encoder, or a packaged one's name, whose tokenizer and "
        "parameters are the start; on the command line it takes the place of the recipe's own "
        "tokenizer and model",
        names="model",
    )
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(), help="how text becomes ids; with `start`, its own"
    )
    model: ModelArguments = argument(
        ModelArguments(), help="the encoder; with `start`, the two dropouts alone"
    )
    parts: list[EncoderArguments] = argument(
        [],
        help="several encoders trained as one (4.5.6), each {tokenizer: ..., model: ...}; instead "
        "of tokenizer and model",
    )
    combine: str = argument(
        "concatenate", help="parts: how their vectors become one", choices=("concatenate", "add")
    )
    training: OptimizationArguments = argument(OptimizationArguments(), help="the objective")
    finish: FinishArguments = argument(
        FinishArguments(), help="what is done to the trained table before it is saved"
    )
    run: EncoderRunArguments = argument(
        EncoderRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_bounds(self)
        for source in self.data.sources:
            check_source(source, self.data.ignored)
        finish = self.finish
        if (
            finish.dimension is not None
            and self.start is None
            and (finish.dimension > self.model.hidden_size)
        ):
            raise must_be("finish.dimension", finish.dimension, "from 1 to model.hidden_size")
        refuse_beside_start(self.start, self.tokenizer, self.model)
        if self.start is not None and self.parts:
            raise RecipeError(
                f"start ({self.start}) is one encoder, and parts are several: leave one of them out"
            )
        if not self.parts and self.combine != "concatenate":
            raise RecipeError("combine is about parts, and there are none; leave it out")
        if self.parts and (self.tokenizer, self.model) != (TokenizerArguments(), ModelArguments()):
            raise RecipeError(
                "a recipe with parts has their tokenizers and models: move tokenizer and model "
                "into each of parts"
            )

    @property
    def encoders(self) -> list[EncoderArguments]:
        """The parts of the encoder; itself alone if it has none."""
        return self.parts or [EncoderArguments(self.tokenizer, self.model)]

    @property
    def keeps_tables(self) -> bool:
        """Whether the tables of token vectors stay as they start."""
        return False
