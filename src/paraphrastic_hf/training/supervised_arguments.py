"""Every key of a supervised recipe; a recipe with a `task` is one.

Defaults are values the thesis tried (3.2.4) unless a help text says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.recipe import argument, read_mapping
from paraphrastic_hf.training.arguments import (
    ONE,
    PORTION,
    ZERO,
    DatasetArguments,
    Recipe,
)
from paraphrastic_hf.training.encoder_arguments import (
    ModelArguments,
    TokenizerArguments,
    refuse_unless,
)

DEFAULT_SCORES = [1, 5]
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class TaskArguments:
    """What is learned, and from what."""

    kind: str = argument(
        help="what is learned: a score of two texts, classes of two texts, of one, or of each word",
        choices=("relatedness", "entailment", "sentiment", "tagging"),
    )
    dataset: DatasetArguments = argument(
        help="its corpus: {name: sst, config: binary}; the splits train, validation and test of it "
        "are read"
    )
    scores: list[int] | None = argument(
        None, help="relatedness: lowest and highest score, whole numbers; 1, 5 if absent, as SICK's"
    )
    tags: str | None = argument(
        None, help="tagging: column of the tags; tags if absent, penn_tags for ewt's other set"
    )
    held_out: float | None = argument(
        None,
        help="tagging: share of a corpus's first split that each split it lacks is given, in order "
        "and with whole documents; 0.1 if absent",
    )
    max_length: int = argument(100, help="cut a text, of tagging a word, at this many tokens")


@dataclass(frozen=True)
class HeadArguments:
    """The layers over sentence vectors; of tagging, over word vectors."""

    size: int = argument(
        50,
        help="sigmoid units (tuned over 50, 150, 300), 0 for a linear head; tagging: of each LSTM",
    )
    dropout: float = argument(0.0, help="dropout on the numbers that enter the head")
    capital_feature: bool | None = argument(
        None, help="tagging: tell whether a word has a capital letter (3.7.3); true if absent"
    )
    word_layer: str | None = argument(
        None,
        help="tagging: activation of a dense layer over word vectors (2-layer CHARAGRAM, 3.7.3); "
        "none, for no layer, if absent",
    )


@dataclass(frozen=True)
class SupervisedTraining:
    """The penalties and the optimisation."""

    epochs: int = argument(10, help="passes over the training split")
    batch_size: int = argument(25, help="examples in a mini-batch (tuned over 25, 50, 100)")
    scramble: float = argument(
        0.0, help="probability that an example's tokens are shuffled (2017, section 4.3)"
    )
    freeze: str = argument(
        "none",
        help="what stays as it starts: the tables of token vectors, or the whole encoder",
        choices=("none", "tables", "encoder"),
    )
    lambda_w: float = argument(0.0, help="regularisation of token vectors toward their start")
    lambda_c: float = argument(
        0.0, help="L2 on all other parameters of the encoder; with `start`, on their way from it"
    )
    lambda_s: float = argument(0.0, help="L2 on the parameters of the head")
    optimizer: str = argument("adam", help="optimizer", choices=("adam", "adagrad", "sgd"))
    momentum: float | None = argument(None, help="of sgd; 0 if absent")
    learning_rate: float = argument(1e-3, help="of the optimizer; the thesis gives AdaGrad 0.05")
    schedule: str = argument(
        "constant", help="learning rate over training", choices=("constant", "linear")
    )
    clip: float = argument(0.0, help="largest gradient norm; 0 for no clipping")


@dataclass(frozen=True)
class SupervisedRun:
    """Checkpoints and logs. The best epoch on the validation split is kept."""

    evaluate_every: int = argument(
        1_000_000, help="mini-batches between evaluations; an epoch's end evaluates too"
    )
    checkpoint_every: int = argument(1000, help="mini-batches between checkpoints")
    keep_checkpoints: int = argument(2, help="checkpoints kept")
    log_every: int = argument(100, help="mini-batches between log lines")


@dataclass(frozen=True)
class SupervisedRecipe:
    """A whole supervised training run."""

    task: TaskArguments = argument(help="what is learned, and from what")
    start: str | None = argument(
        None,
        help="directory of a trained encoder, or a packaged one's name, whose tokenizer and "
        "parameters are the start (3.2.4.1)",
    )
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(), help="how text becomes ids; with `start`, its own"
    )
    model: ModelArguments = argument(
        ModelArguments(), help="the encoder; with `start`, the two dropouts alone"
    )
    head: HeadArguments = argument(HeadArguments(), help="the layers over sentence vectors")
    training: SupervisedTraining = argument(SupervisedTraining(), help="the objective")
    run: SupervisedRun = argument(SupervisedRun(), help="checkpoints and logs")
    seed: int = argument(1, help="of everything random")

    @property
    def scores(self) -> tuple[int, int]:
        """The lowest and the highest score of a relatedness task."""
        lowest, highest = self.task.scores or DEFAULT_SCORES
        return lowest, highest

    def __post_init__(self) -> None:
        task, head, training, run = self.task, self.head, self.training, self.run
        rate = training.learning_rate
        every = min(run.evaluate_every, run.checkpoint_every, run.log_every)
        refuse_unless(
            [
                (
                    task.scores is None or (len(task.scores) == 2 and task.scores[0] < self.top),
                    "task.scores",
                    task.scores,
                    "a lowest and a higher number",
                ),
                (task.max_length >= 1, "task.max_length", task.max_length, ONE),
                (head.size >= 0, "head.size", head.size, ZERO),
                (0 <= head.dropout < 1, "head.dropout", head.dropout, "0 to below 1"),
                (training.epochs >= 1, "training.epochs", training.epochs, ONE),
                (training.batch_size >= 1, "training.batch_size", training.batch_size, ONE),
                (0 <= training.scramble <= 1, "training.scramble", training.scramble, PORTION),
                (training.lambda_w >= 0, "training.lambda_w", training.lambda_w, ZERO),
                (training.lambda_c >= 0, "training.lambda_c", training.lambda_c, ZERO),
                (training.lambda_s >= 0, "training.lambda_s", training.lambda_s, ZERO),
                (training.clip >= 0, "training.clip", training.clip, ZERO),
                (rate > 0, "training.learning_rate", rate, "positive"),
                (
                    training.momentum is None or 0 <= training.momentum < 1,
                    "training.momentum",
                    training.momentum,
                    "0 to below 1",
                ),
                (
                    task.held_out is None or 0 < task.held_out < 0.5,
                    "task.held_out",
                    task.held_out,
                    "above 0 and below 0.5",
                ),
                (every >= 1, "run.*_every", every, ONE),
                (run.keep_checkpoints >= 1, "run.keep_checkpoints", run.keep_checkpoints, ONE),
                (0 <= self.seed < 2**32, "seed", self.seed, "0 to 2**32 - 1"),
            ]
        )
        self._refuse_keys_of_others()
        self._refuse_contradictions()

    @property
    def top(self) -> int:
        """The highest score."""
        return (self.task.scores or DEFAULT_SCORES)[-1]

    def _refuse_keys_of_others(self) -> None:
        """Keys of tagging alone, or of one optimizer, default to nothing."""
        task, head, training = self.task, self.head, self.training
        for name, value, owner, own in (
            ("task.tags", task.tags, "tagging", task.kind),
            ("task.held_out", task.held_out, "tagging", task.kind),
            ("head.capital_feature", head.capital_feature, "tagging", task.kind),
            ("head.word_layer", head.word_layer, "tagging", task.kind),
            ("training.momentum", training.momentum, "sgd", training.optimizer),
        ):
            if value is not None and owner != own:
                raise RecipeError(f"{name} is a key of {owner}, not of {own}: leave it out")
        if task.kind == "tagging" and training.scramble:
            raise RecipeError(
                f"training.scramble ({training.scramble}) would part words from their tags: leave "
                "it out of tagging"
            )

    def _refuse_contradictions(self) -> None:
        task, model, training = self.task, self.model, self.training
        if task.scores is not None and task.kind != "relatedness":
            raise RecipeError(
                f"task.scores are those of relatedness, not of {task.kind}: omit them"
            )
        if task.dataset.split != "train":
            raise RecipeError(
                f"task.dataset.split is {task.dataset.split!r}, but the official splits are taken: "
                "leave it out"
            )
        plain = ModelArguments()
        undropped = replace(
            model, embedding_dropout=plain.embedding_dropout, word_dropout=plain.word_dropout
        )
        given = undropped, self.tokenizer
        if self.start is not None and given != (plain, TokenizerArguments()):
            raise RecipeError(
                f"start ({self.start}) brings its own tokenizer and encoder: leave out tokenizer "
                "and all of model but embedding_dropout and word_dropout"
            )
        if training.freeze == "none":
            return
        if self.start is None and (training.freeze == "encoder" or model.vectors is None):
            raise RecipeError(
                f"training.freeze {training.freeze} would keep random numbers: give start, a "
                "trained encoder" + ("" if training.freeze == "encoder" else ", or model.vectors")
            )
        for name, value in (("lambda_w", training.lambda_w), ("lambda_c", training.lambda_c)):
            if value and (name == "lambda_w" or training.freeze == "encoder"):
                raise RecipeError(
                    f"training.{name} ({value}) regularises what training.freeze "
                    f"{training.freeze} keeps: leave one of them out"
                )


def recipe_class(path: str | Path) -> type[Recipe] | type[SupervisedRecipe]:
    """What a recipe file is: supervised if it has a `task`.

    Raises:
        RecipeError: The file is missing or malformed.
    """
    return SupervisedRecipe if "task" in read_mapping(path) else Recipe
