"""Every key that a supervised recipe has alone: task, head, penalties.

Defaults are values the thesis tried (3.2.4) unless a help text says otherwise.
"""

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
    DatasetArguments,
    OptimizationArguments,
    RunArguments,
    must_be,
    seed_argument,
)

DEFAULT_SCORES = [1, 5]
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class TaskArguments:
    """What is learned, and from what."""

    kind: str = argument(
        help="what is learned: a score of two texts, classes of two texts, of one, or of each "
        "word, or the trees of sentences",
        choices=("relatedness", "entailment", "sentiment", "tagging", "parsing"),
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
        above=0,
        below=0.5,
    )
    extra_examples: str | None = argument(
        None,
        help="a TSV of further training examples, label, text and, of pairs, the second text, such "
        "as `paraphrastic attack` writes (6.5.4); relative to the data root",
    )
    extra_corpora: list[DatasetArguments] = argument(
        [], help="parsing: further corpora of trees to train on, by name, or mappings with a split"
    )
    max_length: int = argument(
        100, help="cut a text, of tagging and parsing a word, at this many tokens", at_least=1
    )


@dataclass(frozen=True)
class HeadArguments:
    """The layers over sentence vectors; of tagging and parsing, over word vectors."""

    size: int = argument(
        50,
        help="sigmoid units (tuned over 50, 150, 300), 0 for a linear head; tagging, parsing: "
        "units of each LSTM",
        at_least=0,
    )
    dropout: float = argument(
        0.0,
        help="probability that a number that enters the head is zeroed in training",
        at_least=0,
        below=1,
    )
    capital_feature: bool | None = argument(
        None,
        help="tagging, parsing: tell whether a word has a capital letter (3.7.3); true if absent",
    )
    word_layer: str | None = argument(
        None,
        help="tagging: activation of a dense layer over word vectors (2-layer CHARAGRAM, 3.7.3); "
        "none, for no layer, if absent",
    )
    layers: int | None = argument(
        None, help="parsing: LSTMs in each direction, one on the other; 2 if absent", at_least=1
    )
    span_size: int | None = argument(
        None, help="parsing: units between places and scores of spans; 128 if absent", at_least=1
    )


@dataclass(frozen=True)
class SupervisedTraining(OptimizationArguments):
    """The penalties and the optimization."""

    epochs: int = argument(10, help="passes over the training split", at_least=1, at_most=1_000_000)
    batch_size: int = argument(
        25, help="examples in a mini-batch (tuned over 25, 50, 100)", at_least=1
    )
    learning_rate: float = argument(
        1e-3, help="size of a step of the optimizer; the thesis gives AdaGrad 0.05", above=0
    )
    scramble: float = argument(
        0.0,
        help="probability that an example's tokens are put in random order (2017, section 4.3)",
        at_least=0,
        at_most=1,
    )
    freeze: str = argument(
        "none",
        help="what stays as it starts: the tables of token vectors, or the whole encoder",
        choices=("none", "tables", "encoder"),
    )
    lambda_w: float = argument(
        0.0, help="weight of the L2 penalty that pulls token vectors to their start", at_least=0
    )
    lambda_c: float = argument(
        0.0,
        help="weight of the L2 penalty on all other parameters of the encoder; with `start`, on "
        "their way from it",
        at_least=0,
    )
    lambda_s: float = argument(
        0.0, help="weight of the L2 penalty on the parameters of the head", at_least=0
    )


@dataclass(frozen=True)
class SupervisedRunArguments(RunArguments):
    """Checkpoints, logs and the choice of the weights that are kept."""

    development: str = argument(
        "validation",
        help="what picks the checkpoint: validation, that split of the corpus; or a file in its "
        "place. Relatedness: pairs with scores, as `evaluate --pairs` takes them. Classes: as "
        "task.extra_examples. Tagging: a line a word, a tab and its tag, with an empty line "
        "between sentences. Parsing: a tree a line",
        choices=("validation", FILE),
    )


@dataclass(frozen=True, kw_only=True)
class SupervisedRecipe:
    """A whole supervised training run."""

    kind: str = argument(
        "supervised",
        help="what is trained: a model of scores or labels",
        choices=("supervised",),
    )
    task: TaskArguments = argument(help="what is learned, and from what")
    start: str | None = argument(
        None,
        help="directory of a trained encoder, or a packaged one's name, whose tokenizer and "
        "parameters are the start (3.2.4.1)",
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
        help="encoders at their random start whose vectors stand beside that of `start`, such as "
        "one of character n-grams",
    )
    head: HeadArguments = argument(HeadArguments(), help="the layers over sentence vectors")
    training: SupervisedTraining = argument(SupervisedTraining(), help="the objective")
    run: SupervisedRunArguments = argument(
        SupervisedRunArguments(evaluate_every=1_000_000, checkpoint_every=1000),
        help="checkpoints and logs; the best epoch on the validation split is kept",
    )
    seed: int = seed_argument()

    @property
    def scores(self) -> tuple[int, int]:
        """The lowest and the highest score of a relatedness task."""
        lowest, highest = self.task.scores or DEFAULT_SCORES
        return lowest, highest

    def __post_init__(self) -> None:
        check_bounds(self)
        scores = self.task.scores
        if scores is not None and (len(scores) != 2 or scores[0] >= scores[1]):
            raise must_be("task.scores", scores, "a lowest and a higher number")
        self._refuse_keys_of_others()
        self._refuse_contradictions()

    def _refuse_keys_of_others(self) -> None:
        """Keys that only tagging or parsing has default to nothing."""
        task, head, training = self.task, self.head, self.training
        of_words = ("tagging", "parsing")
        for name, value, owners in (
            ("task.tags", task.tags, ("tagging",)),
            ("task.held_out", task.held_out, ("tagging",)),
            ("task.extra_corpora", task.extra_corpora or None, ("parsing",)),
            ("head.capital_feature", head.capital_feature, of_words),
            ("head.word_layer", head.word_layer, ("tagging",)),
            ("head.layers", head.layers, ("parsing",)),
            ("head.span_size", head.span_size, ("parsing",)),
        ):
            if value is not None and task.kind not in owners:
                raise RecipeError(
                    f"{name} is a key of {' and '.join(owners)}, not of {task.kind}: leave it out"
                )
        if task.kind in of_words and training.scramble:
            raise RecipeError(
                f"training.scramble ({training.scramble}) would part words from their tags: leave "
                f"it out of {task.kind}"
            )
        if self.parts and self.start is None:
            raise RecipeError(
                "parts stand beside the encoder of start: give start, or leave them out"
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
        if task.extra_examples is not None and task.kind not in ("sentiment", "entailment"):
            raise RecipeError(
                f"task.extra_examples is for classes of texts, not for {task.kind}: omit it"
            )
        refuse_beside_start(self.start, self.tokenizer, model)
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
                    f"training.{name} ({value}) regularizes what training.freeze "
                    f"{training.freeze} keeps: leave one of them out"
                )
