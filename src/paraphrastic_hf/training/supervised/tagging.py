"""Tagging of words as a supervised task (thesis, 3.7.3)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.readers.tagging import (
    TaggedSentence,
    cut,
    split_in_order,
    tagged_sentences,
)
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.judged import Judged
from paraphrastic_hf.evaluation.measures.tagging import TagCounts, count_right
from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.metrics.resampling import Resampled
from paraphrastic_hf.models.base import NO_LABEL
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.predictors.predict import Shuffle
from paraphrastic_hf.predictors.tagger import predict_tags, tensors
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.sentences import Sentences
from paraphrastic_hf.training.engine.paths import open_dataset, resolve_path
from paraphrastic_hf.training.supervised.examples import Examples, official_splits
from paraphrastic_hf.training.supervised.recipe import SPLITS, SupervisedRecipe

HELD_OUT_SHARE = 0.1


@dataclass(frozen=True)
class WordExamples(Examples):
    """The tagged sentences of a split."""

    gold: list[Any]  # sentences or trees with gold labels
    corpus: Sentences  # tokenized words
    tags: Ragged  # indices of the gold tags, -100 for a tag that does not occur in training
    max_length: int  # maximum number of tokens per word. Longer words are truncated

    def labels_in(self, rows: np.ndarray) -> int:
        tags, mask = self.tags.padded(rows)
        return int(((mask == 1) & (tags != NO_LABEL)).sum())

    def arrays(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        tags, mask = self.tags.padded(rows)
        labels = np.where(mask == 1, tags, NO_LABEL)
        return {**self.corpus.batch(rows, self.max_length), "labels": labels}

    def inputs(
        self, rows: np.ndarray, device: torch.device, shuffle: Shuffle | None = None
    ) -> dict[str, Tensor]:
        """Return the named inputs of the model. Words are never shuffled."""
        return tensors(self.arrays(rows), device)


class WordTask:
    """Base of tasks on words. The sentences of `splits` have `words` and `tags`."""

    measure: str
    reported: tuple[str, ...]  # attributes of the counts to report, in percent or numbers
    recipe: SupervisedRecipe
    splits: dict[str, list[Any]]
    tags: list[str]

    def counts(self, model: Any, examples: Any) -> list[Any]:
        """Return the counts of each sentence, a dataclass of numbers."""
        raise NotImplementedError

    def share(self, counts: Any) -> tuple[int, int]:
        """Return numerator and denominator of `measure` for one sentence."""
        raise NotImplementedError

    def scores(self, model: Any, examples: Any) -> tuple[dict[str, float], Resampled]:
        each = self.counts(model, examples)
        total = type(each[0])(*np.sum([astuple(of) for of in each], 0).tolist())
        judged = Judged("", "", self.measure, *np.array([[self.share(of)] for of in each], float).T)
        return {name: getattr(total, name) for name in self.reported}, judged

    def lines(self, splits: Sequence[str]) -> Iterable[str]:
        for split in splits:
            for sentence in self.splits[split]:
                yield from sentence.words

    def head_settings(self) -> dict[str, Any]:
        """Return the settings of a `WordsConfig` for the recipe's head."""
        head = self.recipe.head
        sizes = {"head_size": head.size, "head_dropout": head.dropout}
        return {**sizes, "max_word_tokens": self.recipe.task.max_length, **head.of_words()}

    def tokenized(self, split: str, tokenizer: TextTokenizer) -> tuple[Sentences, Ragged]:
        """Return the words of a split, and the indices of their tags."""
        number_of = {tag: number for number, tag in enumerate(self.tags)}
        sentences = self.splits[split]
        tags = [[number_of.get(tag, NO_LABEL) for tag in each.tags] for each in sentences]
        return Sentences.of([each.words for each in sentences], tokenizer), Ragged.from_lists(tags)


class Tagging(WordTask):
    """Task of predicting a tag for every word (`task.kind: tagging`)."""

    measure = "accuracy"
    reported = ("accuracy", "unknown_accuracy", "words", "unknown_words")

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        self.recipe = recipe
        self.splits = read_splits(recipe, data_root)
        seen = self.splits["train"]
        self.known = {word for sentence in seen for word in sentence.words}
        self.tags = sorted({tag for sentence in seen for tag in sentence.tags})

    def examples(self, split: str, tokenizer: TextTokenizer) -> WordExamples:
        longest = self.recipe.task.max_length
        return WordExamples(self.splits[split], *self.tokenized(split, tokenizer), longest)

    def new_model(self, encoder: dict[str, Any]) -> TaggerModel:
        return TaggerModel(TaggerConfig.of(encoder, self.tags, **self.head_settings()))

    def counts(self, model: TaggerModel, examples: WordExamples) -> list[TagCounts]:
        pairs = zip(predict_tags(model, examples.corpus), examples.gold, strict=True)
        return [count_right([tags], [sentence], self.known) for tags, sentence in pairs]

    def share(self, counts: TagCounts) -> tuple[int, int]:
        return counts.correct, counts.words


def read_splits(
    recipe: SupervisedRecipe, data_root: str | Path | None
) -> dict[str, list[TaggedSentence]]:
    """Return the training, validation and test sentences of a corpus.

    Missing splits are cut from the end of the first split, in order and at document boundaries.
    Each gets the share `task.held_out` of the sentences.
    """
    task = recipe.task
    chosen, official = task.dataset, official_splits(task.dataset)
    found = {}
    for split in (split for split in SPLITS if split in official):
        rows = open_dataset(chosen, split, data_root)
        found[split] = tagged_sentences(rows, f"{chosen.title} {split}", task.tags or "tags")
    if not found:
        raise DataError(
            f"{chosen.title} has no tagged split. Set task.dataset to a corpus such as treebank"
        )
    first = next(iter(found))
    made = [split for split in SPLITS if split == first or split not in found]
    if len(made) > 1:
        share = HELD_OUT_SHARE if task.held_out is None else task.held_out
        shares = [1 - share * (len(made) - 1), *[share] * (len(made) - 2)]
        found.update(zip(made, split_in_order(found[first], shares), strict=True))
    if names_file(recipe.run.development):
        path = resolve_path(recipe.run.development, data_root)
        found["validation"] = tagged_sentences(_rows_of(path), str(path))
    limit = TaggerConfig.max_words
    return {split: [piece for s in found[split] for piece in cut(s, limit)] for split in SPLITS}


def _rows_of(path: Path) -> Iterator[dict[str, list[str]]]:
    """Yield the sentences of a file with word, tab and tag on each line."""
    for is_blank, lines in groupby(text_lines(path), key=lambda line: not line[1].strip()):
        rows = [] if is_blank else [(number, text.split("\t")) for number, text in lines]
        for number, row in rows:
            if len(row) != 2:
                raise DataError(f"{path}:{number} must be a word, a tab and a tag")
        yield {"tokens": [row[0] for _, row in rows], "tags": [row[1] for _, row in rows]}
