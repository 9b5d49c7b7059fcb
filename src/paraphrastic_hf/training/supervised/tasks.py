"""Supervised tasks: data, models and scores of each kind (thesis, 3.2.4).

A new kind implements `SupervisedTask` and is added to `TASKS`.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.load import builder
from paraphrastic_hf.errors import DataError, RecipeError, counted
from paraphrastic_hf.evaluation.measures.judged import Judged, Ranked
from paraphrastic_hf.evaluation.measures.similarity import pearson, spearman
from paraphrastic_hf.evaluation.own import read_own_pairs
from paraphrastic_hf.io.lines import iterate_lines
from paraphrastic_hf.metrics.resampling import Resampled
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.models.supervised.classifier import ClassifierConfig, ClassifierModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
from paraphrastic_hf.predictors.predict import Shuffle, predict_logits, text_inputs
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.engine.paths import dataset_folder, open_dataset, resolve_path
from paraphrastic_hf.training.supervised.examples import Examples, official_splits
from paraphrastic_hf.training.supervised.parsing import Parsing
from paraphrastic_hf.training.supervised.recipe import SPLITS, SupervisedRecipe
from paraphrastic_hf.training.supervised.tagging import Tagging

logger = logging.getLogger(__name__)


class SupervisedTask(Protocol):
    """Interface of a kind of task. `measure` is the score that selects the checkpoint."""

    measure: str

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        """Read all splits. Raise `DataError` if a split is missing, damaged or empty."""

    def lines(self, splits: Sequence[str]) -> Iterable[str]:
        """Yield the texts of some splits, to train a tokenizer."""

    def examples(self, split: str, tokenizer: TextTokenizer) -> Examples:
        """Return the tokenized rows of a split."""

    def new_model(self, encoder: dict[str, Any]) -> SupervisedModel:
        """Return an untrained model whose encoder has the given configuration."""

    def scores(self, model: SupervisedModel, examples: Any) -> tuple[dict[str, float], Resampled]:
        """Return the scores of a split by name, and the per-example results of `measure`."""


@dataclass(frozen=True)
class TextExamples(Examples):
    """Rows of one or two texts."""

    sides: list[Ragged]  # token ids of each text column
    gold: np.ndarray  # scores or class indices, (rows,)
    max_length: int  # maximum number of tokens per text. Longer texts are truncated

    def inputs(
        self, rows: np.ndarray, device: torch.device, shuffle: Shuffle | None = None
    ) -> dict[str, Tensor]:
        labels = torch.from_numpy(self.gold[rows]).to(device)
        inputs = text_inputs(self.sides, rows, self.max_length, device, shuffle)
        return {**inputs, "labels": labels}


class _TextTask:
    columns: tuple[str, ...]
    gold: str

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        self.recipe = recipe
        chosen = recipe.task.dataset
        self.name = chosen.title
        folder = dataset_folder(chosen, data_root)
        corpus = builder(chosen.name, chosen.config, data_dir=folder, **chosen.options)
        self.features = corpus.info.features
        if not {*self.columns, self.gold} <= {*self.features}:
            raise RecipeError(
                f"task.kind {recipe.task.kind} requires the columns "
                f"{', '.join((*self.columns, self.gold))}, but {self.name} has "
                f"{', '.join(self.features)}. Change task.kind or task.dataset"
            )
        missing = [split for split in SPLITS if split not in official_splits(chosen)]
        if missing:
            raise DataError(f"{self.name} has no {' or '.join(missing)} split. Change task.dataset")
        self.tables = {
            split: self._read(open_dataset(chosen, split, data_root)) for split in SPLITS
        }
        if names_file(recipe.run.development):
            path = resolve_path(recipe.run.development, data_root)
            self.tables["validation"] = self._read(self._rows_of(path))

    def _rows_of(self, path: Path) -> Iterator[dict[str, Any]]:
        raise NotImplementedError

    def _read(self, rows: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
        table = list(rows)
        return {name: [row[name] for row in table] for name in (*self.columns, self.gold)}

    def lines(self, splits: Sequence[str]) -> Iterable[str]:
        for split, name in product(splits, self.columns):
            yield from self.tables[split][name]

    def examples(self, split: str, tokenizer: TextTokenizer) -> TextExamples:
        table = self.tables[split]
        sides = [tokenizer.encode_batch(table[name]) for name in self.columns]
        gold = np.asarray(table[self.gold])
        if gold.dtype.kind == "f":
            gold = gold.astype(np.float32)  # not every device has float64
        longest = self.recipe.task.max_length
        cut = sum(int((np.diff(side.offsets) > longest).sum()) for side in sides)
        if cut:
            logger.warning(
                "%s %s: truncated %s to task.max_length (%s) tokens",
                self.name,
                split,
                counted(cut, "text"),
                longest,
            )
        return TextExamples(sides, gold, longest)

    def _head(self, encoder: dict[str, Any]) -> dict[str, Any]:
        head = self.recipe.head
        return {
            "encoder": encoder,
            "head_size": head.size,
            "head_dropout": head.dropout,
            "max_text_tokens": self.recipe.task.max_length,
        }

    def _logits(self, model: SupervisedModel, examples: TextExamples) -> np.ndarray:
        return predict_logits(model, examples.sides, max_length=examples.max_length)


class Relatedness(_TextTask):
    """Task of predicting a score for two texts, learned as a distribution."""

    measure = "pearson"
    columns = ("sentence1", "sentence2")
    gold = "score"

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        super().__init__(recipe, data_root)
        lowest, highest = recipe.scores
        for split, table in self.tables.items():
            low, high = min(table["score"]), max(table["score"])
            if low < lowest or high > highest:
                raise DataError(
                    f"task.scores is {lowest} to {highest}, but scores of {self.name} {split} "
                    f"are {low:g} to {high:g}. Widen task.scores"
                )

    def new_model(self, encoder: dict[str, Any]) -> RelatednessModel:
        lowest, highest = self.recipe.scores
        config = RelatednessConfig(**self._head(encoder), lowest=lowest, highest=highest)
        return RelatednessModel(config)

    def _rows_of(self, path: Path) -> Iterator[dict[str, Any]]:
        pairs = read_own_pairs(path)
        if not pairs.scores:
            raise DataError(f"{path} has no scores. Each row must have two texts and a score")
        for row in zip(pairs.first, pairs.second, pairs.scores, strict=True):
            yield dict(zip((*self.columns, self.gold), row, strict=True))

    def scores(
        self, model: SupervisedModel, examples: TextExamples
    ) -> tuple[dict[str, float], Resampled]:
        found = self._logits(model, examples)[:, 0].astype(np.float64)
        gold = examples.gold
        return {
            "pearson": pearson(found, gold),
            "spearman": spearman(found, gold),
            "mse": float(np.square(found - gold).mean()),
        }, Ranked(self.name, "", "pearson", found, gold)


class SentenceClasses(_TextTask):
    """Task of classifying single texts, such as sentiment."""

    measure = "accuracy"
    columns: tuple[str, ...] = ("text",)
    gold = "label"

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        super().__init__(recipe, data_root)
        if recipe.task.extra_examples is not None:
            path = resolve_path(recipe.task.extra_examples, data_root)
            rows = list(self._rows_of(path))
            for name, values in self.tables["train"].items():
                values += [row[name] for row in rows]
            logger.info("Added %s of %s", counted(len(rows), "training example"), path)

    def new_model(self, encoder: dict[str, Any]) -> ClassifierModel:
        names = self.features["label"].names
        labels = {"id2label": dict(enumerate(names))}
        labels["label2id"] = {name: number for number, name in enumerate(names)}
        pairs = len(self.columns) == 2
        return ClassifierModel(ClassifierConfig(**self._head(encoder), **labels, pairs=pairs))

    def _rows_of(self, path: Path) -> Iterator[dict[str, Any]]:
        names = self.features["label"].names
        for number, line in iterate_lines(path):
            row = line.split("\t")
            if len(row) != len(self.columns) + 1 or row[0] not in names:
                raise DataError(f"{path}:{number} must be a label ({', '.join(names)}), then texts")
            texts = dict(zip(self.columns, row[1:], strict=True))
            yield {**texts, "label": names.index(row[0])}

    def scores(
        self, model: SupervisedModel, examples: TextExamples
    ) -> tuple[dict[str, float], Resampled]:
        right = (self._logits(model, examples).argmax(1) == examples.gold).astype(float)
        judged = Judged(self.name, "", "accuracy", right[None], np.ones((1, len(right))))
        return {"accuracy": 100 * float(right.mean())}, judged


class PairClasses(SentenceClasses):
    """Task of classifying pairs of texts, such as entailment."""

    columns = ("sentence1", "sentence2")


TASKS: dict[str, type[SupervisedTask]] = {
    "relatedness": Relatedness,
    "entailment": PairClasses,
    "sentiment": SentenceClasses,
    "tagging": Tagging,
    "parsing": Parsing,
}
