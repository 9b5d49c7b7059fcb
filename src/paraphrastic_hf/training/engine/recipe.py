"""The sections of a recipe that several kinds share: sources, optimization, checkpoints and logs.

What one kind has alone is in its own `recipe.py`; the keys of tokenizers and encoders are in
`encoder/settings.py`. Defaults are the thesis's (5.2.1) unless a help text says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.io.pairs import BAD_ROWS, MAX_BAD_ROWS

HELD_OUT, NONE = "held_out", "none"  # of run.development: by the loss of these, or not at all
MORE_THAN_ONCE = "give its pairs more than once, or cut it with max_pairs"  # for a weight
Check = tuple[bool, str, object, str]


def must_be(key: str, value: object, wanted: str) -> RecipeError:
    """The error of a value that the bounds of a field cannot refuse."""
    return RecipeError(f"{key} must be {wanted}, got {value!r}")


def refuse_unless(checks: Iterable[Check]) -> None:
    """Refuse the first bad value. A check: is it good, its key, the value, what it must be."""
    for is_good, name, value, wanted in checks:
        if not is_good:
            raise must_be(name, value, wanted)


@dataclass(frozen=True)
class DatasetArguments:
    """A corpus that `paraphrastic_hf.load_dataset` knows."""

    name: str = argument(help="corpus; `paraphrastic data list` shows all")
    config: str | None = argument(None, help="configuration; the corpus's first if absent")
    split: str = argument("train", help="split")
    data_dir: str | None = argument(
        None,
        help="folder of its official files; looked for under the data root if absent, else "
        "downloaded",
    )
    options: dict[str, Any] = argument({}, help="options of the corpus, such as min_score")

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        """A corpus given as its name alone."""
        return {"name": str(value)}

    @property
    def title(self) -> str:
        """What messages call it."""
        return " ".join(filter(None, (self.name, self.config)))


@dataclass(frozen=True)
class SourceArguments:
    """One source of sentence pairs."""

    path: str | None = argument(
        None,
        help="TSV, CSV (with the names of its columns first), JSON Lines, text or parquet file, or "
        "saved dataset; relative to the data root, or else, and with ./ before it at "
        "once, to the working folder; .gz, .xz and .bz2 are read",
    )
    dataset: DatasetArguments | None = argument(
        None, help="instead of a path, a corpus: {name: multi30k, config: en-fr}"
    )
    second: str | None = argument(None, help="text file aligned line by line with `path`")
    languages: list[str] | None = argument(
        None, help="language of each side; a bitext corpus's own if absent, else en, en"
    )
    columns: list[str] | None = argument(
        None,
        help='the two columns of text, by name or by number from 1, as in ["2", "3"]; found by '
        "their names or content if absent",
    )
    beside: dict[str, Any] = argument(
        {},
        help="further columns that are kept beside each pair, by the names they get: the name of "
        "a column, or its number from 1, as in {score: 3}",
    )
    max_pairs: int | None = argument(
        None, help="take a random sample of at most this many pairs", at_least=0
    )
    weight: float = argument(
        1.0,
        help="contrastive, distillation: times each pair is seen an epoch; 0.5 draws half of them "
        "anew each epoch",
        at_least=0,
        at_most=1000,
    )
    swap: bool = argument(
        False,
        help="contrastive: swap the sides at random, for sources whose order carries meaning",
    )

    hold_out: bool = argument(
        True,
        help="development clean-and-bitext: whether pairs may be held out; false for pairs that no "
        "translator made, such as mined ones, by which no model should be chosen",
    )

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        """A source given as its path alone."""
        return {"path": None if value is None else str(value)}

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.dataset is not None:
            return self.dataset.title
        return str(self.path)


@dataclass(frozen=True)
class DataArguments:
    """What to train on.

    Attributes:
        ignored: Keys of a source that such recipes have no use for, with what to do instead.
    """

    ignored: ClassVar[Mapping[str, str]] = {}

    sources: list[SourceArguments] = argument(
        [], help="files of sentence pairs, or mappings with `path`"
    )
    min_words: int = argument(1, help="skip pairs with a side of fewer words", at_least=0)
    max_words: int | None = argument(100, help="skip pairs with a side of more words", at_least=1)
    max_length: int = argument(
        100, help="cut a side at this many tokens", at_least=1, at_most=2**31 - 1
    )
    bad_rows: str = argument("skip", help="what to do with a malformed row", choices=BAD_ROWS)
    max_bad_rows: float = argument(
        MAX_BAD_ROWS,
        help="share of the rows of a source that may be malformed and skipped",
        at_least=0,
        at_most=1,
    )


@dataclass(frozen=True)
class OptimizationArguments:
    """How a loss becomes weights: batches, optimizer, learning rate, precision."""

    epochs: int = argument(10, help="passes over the data", at_least=0, at_most=1_000_000)
    steps: int | None = argument(
        None,
        help="end after this many steps of the optimizer where the epochs would take more",
        at_least=1,
    )
    batch_size: int = argument(128, help="examples in a mini-batch", at_least=1)
    optimizer: str = argument(
        "adam",
        help="method that turns gradients into new weights; where a model asks for it, a step of "
        "adam or adagrad costs the table rows a batch uses and not the whole vocabulary",
        choices=("adam", "adagrad", "sgd", "nesterov"),
    )
    betas: list[float] = argument(
        [0.9, 0.999],
        help="adam: decay of the averages of the gradient and of its square",
        at_least=0,
        below=1,
    )
    weight_decay: float = argument(
        0.0,
        help="adam: share of every weight that is taken off at each step, times the learning rate",
        at_least=0,
        at_most=1,
    )
    momentum: float | None = argument(
        None,
        help="sgd, nesterov: share of the last step that is repeated; 0 if absent",
        at_least=0,
        below=1,
    )
    learning_rate: float = argument(
        1e-3, help="size of a step of the optimizer, where warm-up ends", above=0
    )
    schedule: str = argument(
        "constant",
        help="learning rate after warm-up: constant; linear, falling to 0 at the end of the run; "
        "or inverse_root, falling with the square root of the number of steps",
        choices=("constant", "linear", "inverse_root"),
    )
    warmup_steps: int = argument(
        0, help="steps in which the learning rate rises from 0, in a straight line", at_least=0
    )
    clip: float = argument(
        0.0,
        help="largest norm of the whole gradient, which is scaled down to it; 0 for no clipping",
        at_least=0,
    )
    precision: str = argument(
        "fp32",
        help="number format of matrix products; bf16 is faster where the processor has it, and "
        "rounds to 8 binary digits",
        choices=("fp32", "bf16"),
    )

    def __post_init__(self) -> None:
        takes_momentum = self.optimizer in ("sgd", "nesterov")
        for name, is_given, owner, is_owner in (
            ("momentum", self.momentum is not None, "sgd and nesterov", takes_momentum),
            ("weight_decay", self.weight_decay > 0, "adam", self.optimizer == "adam"),
            ("betas", self.betas != [0.9, 0.999], "adam", self.optimizer == "adam"),
        ):
            if is_given and not is_owner:
                raise RecipeError(
                    f"training.{name} is a key of {owner}, not of {self.optimizer}: leave it out"
                )
        if len(self.betas) != 2:
            raise must_be("training.betas", self.betas, "two numbers")
        if self.optimizer == "nesterov" and not self.momentum:
            raise must_be(
                "training.momentum with optimizer nesterov",
                self.momentum,
                "above 0: without it Nesterov's step is plain descent; the thesis takes 0.99",
            )
        if self.schedule == "inverse_root" and self.warmup_steps <= 0:
            raise must_be(
                "training.warmup_steps with schedule inverse_root",
                self.warmup_steps,
                "at least 1: the rate falls from where warm-up ends; the papers take 4000",
            )

    def key_set_by_length(self) -> str | None:
        """Name a key whose effect at a step depends on the length of the run; None without one."""
        return "training.schedule" if self.schedule == "linear" else None


@dataclass(frozen=True)
class TokenBatchArguments(OptimizationArguments):
    """Optimization in batches of about equally many tokens, as models that generate want them."""

    batch_size: int = argument(
        1024, help="most sentences in a batch, however short they are", at_least=1
    )
    batch_tokens: int = argument(4096, help="most tokens in a batch, padding included", at_least=1)
    accumulate: int = argument(
        1, help="batches whose gradients add up to one step of the optimizer", at_least=1
    )


@dataclass(frozen=True)
class SmoothedArguments(TokenBatchArguments):
    """Such optimization of a cross-entropy whose targets are smoothed."""

    label_smoothing: float = argument(
        0.1,
        help="share of the target probability that is spread evenly over the vocabulary",
        at_least=0,
        below=1,
    )


@dataclass(frozen=True)
class RunArguments:
    """Checkpoints and logs."""

    evaluate_every: int = argument(
        1000,
        help="mini-batches between evaluations; the end of an epoch evaluates too",
        at_least=1,
    )
    checkpoint_every: int = argument(2000, help="mini-batches between checkpoints", at_least=1)
    keep_checkpoints: int = argument(2, help="checkpoints kept", at_least=1)
    log_every: int = argument(100, help="mini-batches between log lines", at_least=1)


def seed_argument() -> Any:
    """The field `seed`, which every kind of recipe has."""
    return argument(1, help="number that everything random follows from", at_least=0, below=2**32)


def refuse_keys_of_others(
    section: str, arguments: Any, owners: Mapping[str, Sequence[str]]
) -> None:
    """Refuse a key of a section that only other kinds of it have.

    Args:
        section: Its name in the recipe.
        arguments: The section, with its `kind`.
        owners: The optional keys of each kind.
    """
    for name in sorted({name for names in owners.values() for name in names}):
        kinds = [kind for kind, names in owners.items() if name in names]
        if arguments.kind not in kinds and getattr(arguments, name) is not None:
            raise RecipeError(
                f"{section}.{name} is a key of {' and '.join(kinds)}, not of {arguments.kind}: "
                "leave it out"
            )


def check_place(source: Any, name: str) -> None:
    """Refuse a source that has not exactly one of path and dataset, or not two columns."""
    if source.columns is not None and len(source.columns) != 2:
        raise must_be(f"columns of {name}", source.columns, "two names")
    if (source.path is None) == (source.dataset is None):
        raise must_be("data.sources", source.path, "each either a path or a dataset")


def check_source(source: SourceArguments, ignored: Mapping[str, str]) -> None:
    """Refuse a source whose keys do not go together, or are `ignored` by its kind of recipe."""
    refuse_ignored(source, ignored)
    check_place(source, source.name)
    if source.languages is not None and len(source.languages) != 2:
        raise must_be(f"languages of {source.name}", source.languages, "two names")
    if not all(isinstance(name, str) and name.isidentifier() for name in source.beside):
        raise must_be(
            f"names in beside of {source.name}",
            list(source.beside),
            "made of letters, digits and underscores",
        )
    if source.second is not None and source.beside:
        raise must_be(
            f"beside of {source.name}",
            source.beside,
            "left out: text files that are aligned have no further columns",
        )


def refuse_ignored(source: SourceArguments, ignored: Mapping[str, str]) -> None:
    """Refuse a source that sets what its kind of recipe would not read.

    Args:
        ignored: Keys of no use, with what to do instead (`DataArguments.ignored`).
    """
    for key, instead in ignored.items():
        if getattr(source, key) != getattr(SourceArguments, key):
            raise RecipeError(f"{key} of {source.name} means nothing in this recipe: {instead}")
