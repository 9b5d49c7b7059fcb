"""Recipe keys of supervised training: task, head and penalties.

Defaults are values that the thesis tried (3.2.4) unless a help text says otherwise.
"""

from dataclasses import dataclass
from typing import Any

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
    refuse_keys_of_others,
    seed_argument,
)

DEFAULT_SCORES = [1, 5]
SPLITS = ("train", "validation", "test")
OF_WORDS = ("tagging", "parsing")
OF_HEADS = ("capital_feature", "word_layer", "layers", "span_size")
OWNERS = {  # kinds of task that a key applies to
    "task.scores": ("relatedness",),
    "task.extra_examples": ("sentiment", "entailment"),
    "task.tags": ("tagging",),
    "task.held_out": ("tagging",),
    "task.extra_corpora": ("parsing",),
    "head.capital_feature": OF_WORDS,
    "head.word_layer": ("tagging",),
    "head.layers": ("parsing",),
    "head.span_size": ("parsing",),
}


@dataclass(frozen=True)
class TaskArguments:
    kind: str = argument(
        help="task: score of two texts (relatedness), class of two texts (entailment), class of "
        "one text (sentiment), tag of each word (tagging), or constituency tree (parsing)",
        choices=("relatedness", "entailment", "sentiment", "tagging", "parsing"),
    )
    dataset: DatasetArguments = argument(
        help="corpus with train, validation and test splits, such as {name: sst, config: binary}"
    )
    scores: list[int] | None = argument(
        None, help="relatedness: lowest and highest score, integers (default: [1, 5], as in SICK)"
    )
    tags: str | None = argument(
        None, help="tagging: column of the tags, such as ewt's penn_tags (default: tags)"
    )
    held_out: float | None = argument(
        None,
        help="tagging: for a corpus with missing splits, share of the first split that replaces "
        "each missing split, taken in order and cut at document boundaries (default: 0.1)",
        above=0,
        below=0.5,
    )
    extra_examples: str | None = argument(
        None,
        help="sentiment, entailment: TSV file of additional training examples (label and one or "
        "two texts), such as the output of `paraphrastic attack` (thesis 6.5.4). Relative to the "
        "data root",
    )
    extra_corpora: list[DatasetArguments] = argument(
        [], help="parsing: additional training corpora: names, or mappings with a split"
    )
    max_length: int = argument(
        100,
        help="maximum number of tokens per text or, in tagging and parsing, per word (longer texts "
        "or words are cut)",
        at_least=1,
    )


@dataclass(frozen=True)
class HeadArguments:
    """Layers over sentence vectors or, in tagging and parsing, over word vectors."""

    size: int = argument(
        50,
        help="number of sigmoid units (thesis: 50, 150 or 300), 0 for a linear head. tagging, "
        "parsing: number of units of each LSTM",
        at_least=0,
    )
    dropout: float = argument(0.0, help="dropout on the input of the head", at_least=0, below=1)
    capital_feature: bool | None = argument(
        None, help="tagging, parsing: add a feature for capital letters (default: true)"
    )
    word_layer: str | None = argument(
        None,
        help="tagging: activation of a dense layer over word vectors (2-layer CHARAGRAM, thesis "
        "3.7.3), or none for no layer (default)",
    )
    layers: int | None = argument(
        None, help="parsing: number of bidirectional LSTM layers (default: 2)", at_least=1
    )
    span_size: int | None = argument(
        None, help="parsing: number of hidden units of the span scorer (default: 128)", at_least=1
    )

    def of_words(self) -> dict[str, Any]:
        """Return the keys of taggers and parsers that are set."""
        found = {key: getattr(self, key) for key in OF_HEADS}
        return {key: value for key, value in found.items() if value is not None}


@dataclass(frozen=True)
class SupervisedTraining(OptimizationArguments):
    epochs: int = argument(10, help="passes over the data", at_least=1, at_most=1_000_000)
    batch_size: int = argument(
        25, help="number of examples per mini-batch (thesis: 25, 50 or 100)", at_least=1
    )
    learning_rate: float = argument(
        1e-3, help="learning rate at the end of warm-up (thesis: 0.05 with AdaGrad)", above=0
    )
    scramble: float = argument(
        0.0, help="probability of shuffling the tokens (2017 paper, 4.3)", at_least=0, at_most=1
    )
    freeze: str = argument(
        "none",
        help="parameters to freeze: none, the tables of token vectors, or the whole encoder",
        choices=("none", "tables", "encoder"),
    )
    lambda_w: float = argument(
        0.0, help="weight of the L2 penalty toward the initial token vectors", at_least=0
    )
    lambda_c: float = argument(
        0.0,
        help="weight of the L2 penalty on all encoder parameters except token vectors. It pulls "
        "toward 0, or toward the initial values if `start` is set",
        at_least=0,
    )
    lambda_s: float = argument(0.0, help="weight of the L2 penalty on the head", at_least=0)


@dataclass(frozen=True)
class SupervisedRunArguments(RunArguments):
    development: str = argument(
        "validation",
        help="data that selects the checkpoint: the validation split, or a file. Lines of a file: "
        "scored pairs as for `evaluate --pairs` (relatedness), examples as in task.extra_examples "
        "(sentiment, entailment), word, tab and tag with an empty line between sentences "
        "(tagging), a tree (parsing)",
        choices=("validation", FILE),
    )


@dataclass(frozen=True, kw_only=True)
class SupervisedRecipe:
    kind: str = argument("supervised", help="kind of training: supervised", choices=("supervised",))
    task: TaskArguments = argument(help="task and corpus")
    start: str | None = argument(
        None,
        help="trained encoder to start from, together with its tokenizer (thesis 3.2.4.1): run "
        "directory, packaged model or Hub repository",
        names="model",
    )
    tokenizer: TokenizerArguments = argument(
        TokenizerArguments(), help="tokenizer (must be left out with `start`)"
    )
    model: ModelArguments = argument(
        ModelArguments(),
        help="encoder. With `start`, only model.embedding_dropout and "
        "model.word_dropout may be set",
    )
    parts: list[EncoderArguments] = argument(
        [],
        help="new encoders, such as one of character n-grams. Their vectors are concatenated with "
        "the vectors of `start`",
    )
    head: HeadArguments = argument(HeadArguments(), help="layers over sentence or word vectors")
    training: SupervisedTraining = argument(SupervisedTraining(), help="objective and optimization")
    run: SupervisedRunArguments = argument(
        SupervisedRunArguments(evaluate_every=1_000_000, checkpoint_every=1000),
        help="checkpoints, logs and model selection",
    )
    seed: int = seed_argument()

    @property
    def scores(self) -> tuple[int, int]:
        """Lowest and highest score of a relatedness task."""
        lowest, highest = self.task.scores or DEFAULT_SCORES
        return lowest, highest

    def __post_init__(self) -> None:
        check_bounds(self)
        scores = self.task.scores
        if scores is not None and (len(scores) != 2 or scores[0] >= scores[1]):
            raise must_be("task.scores", scores, "the lowest and the highest score")
        refuse_keys_of_others(self, OWNERS, "task.kind")
        task, model, training = self.task, self.model, self.training
        if task.kind in OF_WORDS and training.scramble:
            raise must_be(f"training.scramble with task.kind {task.kind}", training.scramble, "0")
        if self.parts and self.start is None:
            raise RecipeError(
                "parts are added to the encoder given as start. Set start, or remove parts"
            )
        if task.dataset.split != "train":
            raise must_be("task.dataset.split", task.dataset.split, "omitted (all splits are used)")
        refuse_beside_start(self.start, self.tokenizer, model)
        if training.freeze == "none":
            return
        if self.start is None and (training.freeze == "encoder" or model.vectors is None):
            raise RecipeError(
                f"training.freeze {training.freeze} would freeze random weights. Set start"
                + ("" if training.freeze == "encoder" else " or model.vectors")
            )
        for name, value in (("lambda_w", training.lambda_w), ("lambda_c", training.lambda_c)):
            if value and (name == "lambda_w" or training.freeze == "encoder"):
                raise RecipeError(
                    f"training.{name} ({value}) penalizes parameters that training.freeze "
                    f"{training.freeze} keeps fixed. Remove one of the two keys"
                )
