"""Recipe keys that all objectives of sentence encoders share."""

from dataclasses import dataclass

from paraphrastic_hf.config.recipe import FILE, argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.encoder.settings import (
    EncoderArguments,
    ModelArguments,
    TokenizerArguments,
    check_recipe,
    refuse_beside_start,
)
from paraphrastic_hf.training.engine.recipe import (
    DataArguments,
    OptimizationArguments,
    RunArguments,
    must_be,
    seed_argument,
)

DEVELOPMENT_SETS = ("none", "clean", "clean-and-bitext", "sts17-en-en", "stsb-dev", "ws353-tuning")


@dataclass(frozen=True)
class FinishArguments:
    """Changes to a trained token table before saving, applied in the order of the keys."""

    merge_with: list[str] = argument(
        [],
        help="other runs whose tables are rotated and averaged with the table of this run. All "
        "need the same vocabulary (tokenizer.from_model), and should be unwhitened float32",
        names="model",
    )
    whiten: float = argument(
        0.0,
        help="whitening: each principal axis is scaled by eigenvalue ** -whiten (0.5: full)",
        at_least=0,
        at_most=0.5,
    )
    sample: int = argument(
        60_000, help="number of training sentences for the principal axes", at_least=1
    )
    dimension: int | None = argument(
        None, help="number of leading principal axes to keep (default: all)", at_least=1
    )
    nested_dimensions: bool = argument(
        False, help="reorder the dimensions so that every prefix is a good embedding"
    )
    drop_apart: bool = argument(
        False, help="remove from the saved model the pieces of the languages in `tokenizer.apart`"
    )
    significant_bits: int | None = argument(
        None,
        help="binary digits to keep in every number, for smaller files (8 costs almost nothing)",
        at_least=2,
        at_most=24,  # the significand of float32
    )
    precision: str = argument(
        "float32",
        help="number format of the saved weights (loading int8 and int4 needs this package)",
        choices=("float32", "float16", "int8", "int4"),
    )

    def __post_init__(self) -> None:
        if len(set(self.merge_with)) != len(self.merge_with):
            raise must_be("finish.merge_with", self.merge_with, "a list of distinct runs")


@dataclass(frozen=True)
class EncoderRunArguments(RunArguments):
    development: str = argument(
        "clean",
        help="development set that selects the checkpoint, or a file of scored pairs (`evaluate "
        "--pairs`). clean: pairs in no reported test set. clean-and-bitext: also translations held "
        "out of training. sts17-en-en, stsb-dev: sets of the papers, which overlap reported test "
        "sets. ws353-tuning: words (thesis 3.5.3). none: keep the last checkpoint",
        choices=(*DEVELOPMENT_SETS, FILE),
    )


@dataclass(frozen=True, kw_only=True)
class EncoderRecipe:
    """Base of the recipes that train a sentence encoder. Subclasses add the objective."""

    kind: str = argument("contrastive", help="training objective of a sentence encoder")
    data: DataArguments = argument(DataArguments(), help="training data")
    start: str | None = argument(
        None,
        help="trained encoder to continue from, with its tokenizer: run, packaged model or Hub "
        "repository. On the command line it replaces the recipe's tokenizer and model",
        names="model",
    )
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(), help="tokenizer (must be left out with `start`)"
    )
    model: ModelArguments = argument(
        ModelArguments(), help="encoder. With `start`, only its two dropouts may be set"
    )
    parts: list[EncoderArguments] = argument(
        [],
        help="encoders to train as one model (thesis 4.5.6), each {tokenizer: ..., model: ...}",
    )
    combine: str = argument(
        "concatenate", help="combination of the vectors of `parts`", choices=("concatenate", "add")
    )
    training: OptimizationArguments = argument(OptimizationArguments(), help="objective")
    finish: FinishArguments = argument(
        FinishArguments(), help="changes to the trained table before it is saved"
    )
    run: EncoderRunArguments = argument(
        EncoderRunArguments(), help="checkpoints, logs and model selection"
    )
    seed: int = seed_argument()

    def __post_init__(self) -> None:
        check_recipe(self)
        dimension = self.finish.dimension
        if self.start is None and (dimension or 0) > self.model.hidden_size:
            raise must_be("finish.dimension", dimension, "from 1 to model.hidden_size")
        refuse_beside_start(self.start, self.tokenizer, self.model)
        if self.start is not None and self.parts:
            raise RecipeError(f"start ({self.start}) excludes parts. Remove one of them")
        if not self.parts and self.combine != "concatenate":
            raise RecipeError(f"combine {self.combine} requires parts. Add parts or remove combine")
        if self.parts and (self.tokenizer, self.model) != (TokenizerArguments(), ModelArguments()):
            raise RecipeError("Move the sections tokenizer and model into each part, or omit parts")

    @property
    def encoders(self) -> list[EncoderArguments]:
        """The parts, or a list with the only encoder."""
        return self.parts or [EncoderArguments(self.tokenizer, self.model)]

    @property
    def keeps_tables(self) -> bool:
        """Whether training leaves the tables of token vectors unchanged."""
        return False
