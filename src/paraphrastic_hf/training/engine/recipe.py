"""Recipe sections that several kinds of training share.

Defaults follow the thesis (5.2.1) unless a help text says otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar

from paraphrastic_hf.config.recipe import argument
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.io.pairs import BAD_ROWS, MAX_BAD_ROWS

HELD_OUT, NONE = "held_out", "none"  # run.development: likelihood of held-out text, no selection
MORE_THAN_ONCE = "Repeat the pairs in the source, or cap them with max_pairs"  # instead of `weight`


def must_be(key: str, value: object, wanted: str) -> RecipeError:
    """Return the error for an invalid value, for conditions that `argument` cannot express."""
    return RecipeError(f"{key} must be {wanted}, got {value!r}")


@dataclass(frozen=True)
class DatasetArguments:
    """A corpus for `paraphrastic_hf.load_dataset`."""

    name: str = argument(help="corpus name (`paraphrastic data list` shows all)")
    config: str | None = argument(None, help="configuration (default: the corpus's first)")
    split: str = argument("train", help="split of the corpus")
    data_dir: str | None = argument(
        None, help="folder with the official files (default: the data root, else download)"
    )
    options: dict[str, Any] = argument({}, help="corpus options, such as min_score")

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        return {"name": str(value)}

    @property
    def title(self) -> str:
        """Name and configuration of the corpus, for messages."""
        return " ".join(filter(None, (self.name, self.config)))


@dataclass(frozen=True)
class PairSource:
    """Place of sentence pairs. `from_shorthand` allows a file name instead of keys."""

    path: str | None = argument(
        None,
        help="TSV, CSV (with header), JSON Lines, text or parquet file (also .gz, .xz, .bz2), or "
        "saved dataset. Relative to the data root, else to the working folder (first with ./)",
    )
    dataset: DatasetArguments | None = argument(
        None, help="corpus to use instead of a path, such as {name: multi30k, config: en-fr}"
    )
    second: str | None = argument(
        None, help="text file with the second sentences, aligned line by line with `path`"
    )
    languages: list[str] | None = argument(
        None, help="language codes of both sides (default: en, or those of a bitext corpus)"
    )
    columns: list[str] | None = argument(
        None, help='names or positions (from 1) of the two text columns, such as ["2", "3"]'
    )

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        return {"path": None if value is None else str(value)}


@dataclass(frozen=True)
class SourceArguments(PairSource):
    """One source of sentence pairs for training."""

    beside: dict[str, Any] = argument(
        {}, help="additional columns by new name: name or position, such as {score: 3}"
    )
    max_pairs: int | None = argument(
        None, help="number of pairs to sample at random (default: all pairs)", at_least=0
    )
    weight: float = argument(
        1.0,
        help="contrastive, distillation: uses of each pair per epoch (0.5: of a random half)",
        at_least=0,
        at_most=1000,
    )
    swap: bool = argument(
        False, help="contrastive: swap sides at random, if they differ systematically"
    )
    hold_out: bool = argument(
        True, help="whether `clean-and-bitext` may hold out pairs (false for mined pairs)"
    )

    @property
    def name(self) -> str:
        """Name of the corpus or path of the file, for messages."""
        return str(self.path) if self.dataset is None else self.dataset.title

    @property
    def beside_columns(self) -> list[str]:
        return [str(column) for column in self.beside.values()]


@dataclass(frozen=True)
class DataArguments:
    """Training data.

    `ignored` lists source keys that have no effect in this kind of recipe, with advice.
    """

    ignored: ClassVar[Mapping[str, str]] = {}

    sources: list[SourceArguments] = argument(
        [], help="files of sentence pairs, or mappings with `path` or `dataset`"
    )
    min_words: int = argument(1, help="minimum number of words per side of a pair", at_least=0)
    max_words: int | None = argument(100, help="maximum number of words per side", at_least=1)
    max_length: int = argument(
        100, help="maximum tokens per side (longer sides are cut)", at_least=1, at_most=2**31 - 1
    )
    bad_rows: str = argument("skip", help="treatment of malformed rows", choices=BAD_ROWS)
    max_bad_rows: float = argument(
        MAX_BAD_ROWS, help="maximum share of malformed rows, 0 to 1", at_least=0, at_most=1
    )


@dataclass(frozen=True)
class OptimizationArguments:
    """Batches, optimizer, learning rate and precision."""

    epochs: int = argument(
        10, help="passes over the data (0: save the untrained model)", at_least=0, at_most=1_000_000
    )
    steps: int | None = argument(
        None, help="maximum number of optimizer steps (default: no limit)", at_least=1
    )
    batch_size: int = argument(128, help="number of examples in a mini-batch", at_least=1)
    optimizer: str = argument(
        "adam",
        help="optimizer (on CPU, adam and adagrad update only the embedding rows of a batch)",
        choices=("adam", "adagrad", "sgd", "nesterov"),
    )
    betas: list[float] = argument(
        [0.9, 0.999], help="adam: decay rates of the two moment estimates", at_least=0, below=1
    )
    weight_decay: float = argument(0.0, help="adam: decoupled weight decay", at_least=0, at_most=1)
    momentum: float | None = argument(
        None, help="sgd, nesterov: momentum factor (default: 0)", at_least=0, below=1
    )
    learning_rate: float = argument(1e-3, help="learning rate at the end of warm-up", above=0)
    schedule: str = argument(
        "constant",
        help="learning rate after warm-up: constant, linear to 0, or 1 / square root of the step",
        choices=("constant", "linear", "inverse_root"),
    )
    warmup_steps: int = argument(
        0, help="number of steps in which the learning rate rises linearly from 0", at_least=0
    )
    clip: float = argument(
        0.0, help="maximum norm of the gradient, scaled down if larger (0: no limit)", at_least=0
    )
    precision: str = argument(
        "fp32",
        help="number format of matrix products (bf16: 8 significant bits, faster on some hardware)",
        choices=("fp32", "bf16"),
    )

    def __post_init__(self) -> None:
        for name, is_given, owners in (
            ("momentum", self.momentum is not None, ("sgd", "nesterov")),
            ("weight_decay", self.weight_decay > 0, ("adam",)),
            ("betas", self.betas != [0.9, 0.999], ("adam",)),
        ):
            if is_given and self.optimizer not in owners:
                raise must_be(
                    f"training.optimizer with training.{name}", self.optimizer, " or ".join(owners)
                )
        if len(self.betas) != 2:
            raise must_be("training.betas", self.betas, "two numbers")
        if self.optimizer == "nesterov" and not self.momentum:
            key = "training.momentum with training.optimizer nesterov"
            raise must_be(key, self.momentum, "above 0 (the thesis uses 0.99)")
        if self.schedule == "inverse_root" and self.warmup_steps <= 0:
            key = "training.warmup_steps with schedule inverse_root"
            raise must_be(key, self.warmup_steps, "at least 1 (the papers use 4000)")

    def key_set_by_length(self) -> str | None:
        """Return the key, if any, that makes each step depend on the length of the run."""
        return "training.schedule" if self.schedule == "linear" else None


@dataclass(frozen=True)
class TokenBatchArguments(OptimizationArguments):
    """Optimization in batches with about the same number of tokens."""

    batch_size: int = argument(1024, help="maximum number of sentences in a batch", at_least=1)
    batch_tokens: int = argument(
        4096,
        help="maximum number of tokens in a batch, both sides of a pair, including padding "
        "(fairseq counts the longer side only)",
        at_least=1,
    )
    accumulate: int = argument(
        1,
        help="size of an optimizer step in batches. Batches have similar lengths, steps have all",
        at_least=1,
    )


@dataclass(frozen=True)
class SmoothedArguments(TokenBatchArguments):
    """Optimization with a label-smoothed cross-entropy."""

    label_smoothing: float = argument(
        0.1, help="label smoothing: probability spread over the vocabulary", at_least=0, below=1
    )


@dataclass(frozen=True)
class RunArguments:
    """Checkpoints and logs."""

    evaluate_every: int = argument(
        1000, help="steps between evaluations. An epoch also ends with one", at_least=1
    )
    checkpoint_every: int = argument(2000, help="number of steps between checkpoints", at_least=1)
    keep_checkpoints: int = argument(2, help="number of newest checkpoints to keep", at_least=1)
    log_every: int = argument(100, help="number of steps between log lines", at_least=1)


def seed_argument() -> Any:
    return argument(1, help="random seed", at_least=0, below=2**32)


def refuse_keys_of_others(recipe: Any, owners: Mapping[str, Sequence[str]], of: str) -> None:
    """Raise an error if a recipe sets a key that belongs to other kinds.

    `owners` are the kinds of each dotted key. `of` is the dotted key of the kind.
    """
    kind = attrgetter(of)(recipe)
    for key, kinds in sorted(owners.items()):
        if kind not in kinds and attrgetter(key)(recipe) not in (None, []):
            raise RecipeError(f"{key} is for {of} {' and '.join(kinds)}, not {kind}. Remove it")


def check_place(source: Any, name: str) -> None:
    """Raise an error unless a source has either a path or a dataset, and no or two `columns`."""
    if source.columns is not None and len(source.columns) != 2:
        raise must_be(f"columns of {name} in data.sources", source.columns, "two names")
    if (source.path is None) == (source.dataset is None):
        found = "neither" if source.path is None else f"both ({source.path})"
        raise RecipeError(f"data.sources: each source must have a path or a dataset, got {found}")


def check_source(source: SourceArguments, ignored: Mapping[str, str]) -> None:
    """Raise an error if a source sets an `ignored` key or contradictory keys."""
    refuse_ignored(source, ignored)
    check_place(source, source.name)
    if source.languages is not None and len(source.languages) != 2:
        raise must_be(f"languages of {source.name} in data.sources", source.languages, "two names")
    if not all(isinstance(name, str) and name.isidentifier() for name in source.beside):
        key = f"data.sources: the names in beside of {source.name}"
        raise must_be(key, list(source.beside), "made of letters, digits and underscores")
    if source.second is not None and source.beside:
        raise must_be(
            f"data.sources: beside of {source.name} (which has second)", source.beside, "empty"
        )


def refuse_ignored(source: SourceArguments, ignored: Mapping[str, str]) -> None:
    """Raise an error if a source sets a key in `ignored`, with the advice given there."""
    for key, instead in ignored.items():
        if getattr(source, key) != getattr(SourceArguments, key):
            raise RecipeError(
                f"data.sources: {key} of {source.name} has no effect in this recipe. {instead}"
            )
