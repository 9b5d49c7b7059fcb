"""Every key of a contrastive recipe; those of tokenizers and models are in `encoder_arguments.py`.

Defaults are the thesis's (5.2.1) unless a help text says otherwise.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from paraphrastic_hf.data.load import find_source
from paraphrastic_hf.data.pairs import BAD_ROWS
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.recipe import argument
from paraphrastic_hf.training.encoder_arguments import (
    Check,
    EncoderArguments,
    ModelArguments,
    TokenizerArguments,
    refuse_unless,
)

DATA_ROOT_VARIABLE = "PARAPHRASTIC_DATA"
DEVELOPMENT_SETS = ("none", "sts17-en-en", "stsb-dev", "ws353-tuning")


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


@dataclass(frozen=True)
class SourceArguments:
    """One source of sentence pairs."""

    path: str | None = argument(
        None,
        help="TSV, text file or saved dataset; relative to the data root; .gz and .xz are read",
    )
    dataset: DatasetArguments | None = argument(
        None, help="instead of a path, a corpus: {name: multi30k, config: en-fr}"
    )
    second: str | None = argument(None, help="text file aligned line by line with `path`")
    languages: list[str] | None = argument(
        None, help="language of each side; a bitext corpus's own if absent, else en, en"
    )
    columns: list[str] | None = argument(
        None, help="the two columns of a dataset; its first two of text if absent"
    )
    max_pairs: int | None = argument(None, help="random sample of at most this many pairs")
    weight: float = argument(
        1.0, help="times each pair is seen an epoch; 0.5 draws half of them anew each epoch"
    )
    swap: bool = argument(
        False, help="swap the sides at random, for sources whose order carries meaning"
    )

    @staticmethod
    def from_shorthand(value: Any) -> dict[str, Any]:
        """A source given as its path alone."""
        return {"path": str(value)}

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.dataset is not None:
            return " ".join(filter(None, (self.dataset.name, self.dataset.config)))
        return str(self.path)


@dataclass(frozen=True)
class DataArguments:
    """What to train on."""

    sources: list[SourceArguments] = argument(
        [], help="files of sentence pairs, or mappings with `path`"
    )
    min_words: int = argument(1, help="skip pairs with a side of fewer words")
    max_words: int | None = argument(100, help="skip pairs with a side of more words")
    max_length: int = argument(100, help="cut a side at this many tokens")
    bad_rows: str = argument("skip", help="what to do with a malformed row", choices=BAD_ROWS)


@dataclass(frozen=True)
class TrainingArguments:
    """The objective and its optimisation."""

    epochs: int = argument(10, help="passes over the data; 0 saves the random table")
    batch_size: int = argument(128, help="pairs in a mini-batch (at-scale release)")
    mega_batch: int = argument(60, help="mini-batches negatives are chosen from")
    anneal_steps: int = argument(
        150, help="mini-batches before the mega-batch grows by one; 0 for full size at once"
    )
    negatives: str = argument("max", help="choice of negatives", choices=("max", "mix", "rand"))
    pool: str = argument(
        "partner_language",
        help="sentences an anchor may get as a negative",
        choices=("partner_language", "opposite_side"),
    )
    exclude: str = argument(
        "duplicates",
        help="never negatives of each other: equal sentences, or all that pairs link together, or "
        "partners: equal ones and any that one is paired with; and_lemmas: or their lemmas (3.5.1)",
        choices=("duplicates", "clusters", "partners", "partners_and_lemmas"),
    )
    similarity: str = argument(
        "cosine",
        help="what the hinge and the choice of negatives compare by; dot products in 3.5.1",
        choices=("cosine", "dot"),
    )
    objective: str = argument(
        "margin",
        help="margin, a hinge on a chosen negative; infonce, a softmax over all of the mini-batch, "
        "which leaves negatives aside; both, their sum",
        choices=("margin", "infonce", "both"),
    )
    margin: float = argument(0.4, help="of the hinge, in units of the similarity")
    temperature: float = argument(0.05, help="of infonce's softmax over cosines")
    matryoshka: list[int] = argument(
        [], help="leading dimensions that are trained as embeddings too, such as [64, 128, 256]"
    )
    scramble: float = argument(
        0.0, help="probability that a pair's tokens are shuffled; nothing to an average"
    )
    first_epoch: str = argument(
        "shuffled",
        help="order of the first epoch; a file's own is a curriculum if its best pairs come first "
        "(3.7.2.4)",
        choices=("shuffled", "file_order"),
    )
    lambda_w: float = argument(0.0, help="regularisation toward the initial embeddings")
    freeze: str = argument(
        "none",
        help="what stays as it starts: the tables of token vectors (3.2.2.1)",
        choices=("none", "tables"),
    )
    lambda_c: float = argument(
        0.0, help="L2 on all other parameters; an identity-RNN's are pulled to their start"
    )
    lambda_all: float = argument(0.0, help="L2 on every parameter (CHARAGRAM, 3.7.1)")
    optimizer: str = argument(
        "adam",
        help="a step costs the rows a batch uses, not the vocabulary",
        choices=("adam", "adagrad"),
    )
    learning_rate: float = argument(1e-3, help="of the optimizer")
    schedule: str = argument(
        "constant", help="learning rate over training", choices=("constant", "linear")
    )
    clip: float = argument(
        0.0, help="largest gradient norm; 0 for no clipping (the released code never clips)"
    )
    precision: str = argument(
        "fp32",
        help="of matrix products; bf16 speeds up the choice of negatives, near-ties may differ, "
        "and infonce, whose cosines then have 8 binary digits",
        choices=("fp32", "bf16"),
    )


@dataclass(frozen=True)
class FinishArguments:
    """What is done to a trained table before it is saved."""

    whiten: float = argument(
        0.0, help="partial whitening: axes are scaled by their eigenvalue to the minus this, 0-0.5"
    )
    sample: int = argument(60_000, help="training sentences the axes are taken from")
    dimension: int | None = argument(None, help="leading axes kept")
    spread: bool = argument(
        False, help="order the axes so that any prefix of the dimensions is a good model"
    )
    drop_apart: bool = argument(False, help="drop the pieces of the languages kept apart")
    significant_bits: int | None = argument(
        None, help="binary digits kept of every number, so that files compress; 8 is nearly free"
    )
    precision: str = argument(
        "float32", help="of the saved weights", choices=("float32", "float16")
    )


@dataclass(frozen=True)
class RunArguments:
    """Checkpoints, logs and model selection."""

    development: str = argument(
        "sts17-en-en",
        help="set that picks the best checkpoint; ws353-tuning is for words (3.5.3)",
        choices=DEVELOPMENT_SETS,
    )
    evaluate_every: int = argument(
        1000, help="mini-batches between evaluations; an epoch's end evaluates too"
    )
    checkpoint_every: int = argument(2000, help="mini-batches between checkpoints")
    keep_checkpoints: int = argument(2, help="checkpoints kept")
    log_every: int = argument(100, help="mini-batches between log lines")


@dataclass(frozen=True)
class Recipe:
    """A whole contrastive training run."""

    data: DataArguments = argument(DataArguments(), help="what to train on")
    tokenizer: TokenizerArguments = argument(TokenizerArguments(), help="how text becomes ids")
    model: ModelArguments = argument(ModelArguments(), help="the encoder")
    parts: list[EncoderArguments] = argument(
        [],
        help="several encoders trained as one (4.5.6), each {tokenizer: ..., model: ...}; instead "
        "of tokenizer and model",
    )
    combine: str = argument(
        "concatenate", help="parts: how their vectors become one", choices=("concatenate", "add")
    )
    training: TrainingArguments = argument(TrainingArguments(), help="the objective")
    finish: FinishArguments = argument(
        FinishArguments(), help="what is done to the trained table before it is saved"
    )
    run: RunArguments = argument(RunArguments(), help="checkpoints, logs and model selection")
    seed: int = argument(1, help="of everything random")

    def __post_init__(self) -> None:
        training, finish, run = self.training, self.finish, self.run
        size = self.model.hidden_size
        refuse_unless(
            [
                (training.batch_size >= 1, "training.batch_size", training.batch_size, ONE),
                (training.mega_batch >= 1, "training.mega_batch", training.mega_batch, ONE),
                (training.epochs >= 0, "training.epochs", training.epochs, ZERO),
                (training.anneal_steps >= 0, "training.anneal_steps", training.anneal_steps, ZERO),
                (
                    0 <= training.margin <= (2 if training.similarity == "cosine" else math.inf),
                    "training.margin",
                    training.margin,
                    "from 0 to 2" if training.similarity == "cosine" else ZERO,
                ),
                (
                    training.temperature > 0,
                    "training.temperature",
                    training.temperature,
                    "positive",
                ),
                (
                    training.objective == "margin" or training.mega_batch == 1,
                    f"training.mega_batch with objective {training.objective}",
                    training.mega_batch,
                    "1: the softmax is over a mini-batch, and batch_size its width",
                ),
                (
                    training.objective == "margin" or training.similarity == "cosine",
                    f"training.similarity with objective {training.objective}",
                    training.similarity,
                    "cosine",
                ),
                (
                    all(a < b for a, b in pairwise([0, *training.matryoshka])),
                    "training.matryoshka",
                    training.matryoshka,
                    "ascending numbers of dimensions, each at least 1",
                ),
                (
                    training.learning_rate > 0,
                    "training.learning_rate",
                    training.learning_rate,
                    "positive",
                ),
                (0 <= training.scramble <= 1, "training.scramble", training.scramble, PORTION),
                (training.lambda_w >= 0, "training.lambda_w", training.lambda_w, ZERO),
                (training.lambda_c >= 0, "training.lambda_c", training.lambda_c, ZERO),
                (training.lambda_all >= 0, "training.lambda_all", training.lambda_all, ZERO),
                (training.clip >= 0, "training.clip", training.clip, ZERO),
                (self.data.max_length >= 1, "data.max_length", self.data.max_length, ONE),
                (
                    min(run.evaluate_every, run.checkpoint_every, run.log_every) >= 1,
                    "run.*_every",
                    0,
                    ONE,
                ),
                (run.keep_checkpoints >= 1, "run.keep_checkpoints", run.keep_checkpoints, ONE),
                (0 <= finish.whiten <= 0.5, "finish.whiten", finish.whiten, "from 0 to 0.5"),
                (finish.sample >= 1, "finish.sample", finish.sample, ONE),
                (
                    finish.significant_bits is None or finish.significant_bits >= 2,
                    "finish.significant_bits",
                    finish.significant_bits,
                    "at least 2",
                ),
                (
                    finish.dimension is None or 1 <= finish.dimension <= size,
                    "finish.dimension",
                    finish.dimension,
                    "from 1 to model.hidden_size",
                ),
                (0 <= self.seed < 2**32, "seed", self.seed, "0 to 2**32 - 1"),
                *(check for source in self.data.sources for check in _checks_of(source)),
            ]
        )
        if training.matryoshka and (finish.whiten or finish.dimension or finish.spread):
            raise RecipeError(
                "training.matryoshka trains the leading dimensions, and finish.whiten, dimension "
                "and spread make others lead: leave one of them out"
            )
        if training.matryoshka and self.parts and self.combine == "concatenate":
            raise RecipeError(
                "the leading dimensions of parts side by side are the first part's alone: leave "
                "training.matryoshka out, or add the parts"
            )
        if training.lambda_w and training.freeze == "tables":
            raise RecipeError(
                "training.lambda_w regularises what training.freeze tables keeps: leave one of "
                "them out"
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


ONE, ZERO, PORTION = "at least 1", "0 or more", "from 0 to 1"


def _checks_of(source: SourceArguments) -> list[Check]:
    return [
        (
            source.languages is None or len(source.languages) == 2,
            f"languages of {source.name}",
            source.languages,
            "two names",
        ),
        (
            source.columns is None or len(source.columns) == 2,
            f"columns of {source.name}",
            source.columns,
            "two names",
        ),
        (source.weight >= 0, f"weight of {source.name}", source.weight, ZERO),
        (
            (source.path is None) != (source.dataset is None),
            "data.sources",
            source.path,
            "each either a path or a dataset",
        ),
    ]


def resolve_path(path: str, data_root: str | Path | None) -> Path:
    """A recipe's path: absolute, or under the data root, or, if it is not there, under the working
    folder."""
    root = data_root if data_root is not None else os.environ.get(DATA_ROOT_VARIABLE)
    if root is not None and (Path(root) / path).exists():
        return Path(root) / path
    if Path(path).exists():
        return Path(path)
    searched = f"{root} or the working folder" if root is not None else "the working folder"
    raise RecipeError(
        f"{path} is not in {searched}; name its folder with --data-root or {DATA_ROOT_VARIABLE}"
    )


def dataset_folder(dataset: DatasetArguments, data_root: str | Path | None) -> Path | None:
    """Where a corpus's files are: the recipe's folder, else the data root's or its `eval` folder
    if the corpus lies there, else None: to be downloaded."""
    if dataset.data_dir is not None:
        return resolve_path(dataset.data_dir, data_root)
    root = data_root if data_root is not None else os.environ.get(DATA_ROOT_VARIABLE)
    if root is None:
        return None
    folders = find_source(dataset.name).folders
    for place in (Path(root), Path(root) / "eval"):
        if any((place / name).exists() for name in folders):
            return place
    return None
