"""Constituency parsing as a supervised task (thesis, 6.2.2)."""

from collections import Counter
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.readers.syntax import parsed_sentences
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.measures.bracketing import BracketCounts, count_brackets
from paraphrastic_hf.io.lines import text_lines
from paraphrastic_hf.models.base import NO_LABEL
from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
from paraphrastic_hf.predictors.parser import predict_trees
from paraphrastic_hf.syntax.parse_tree import Tree
from paraphrastic_hf.syntax.spans import spans_of
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.engine.paths import open_dataset, resolve_path
from paraphrastic_hf.training.engine.recipe import DatasetArguments
from paraphrastic_hf.training.supervised.examples import official_splits
from paraphrastic_hf.training.supervised.recipe import SPLITS, SupervisedRecipe
from paraphrastic_hf.training.supervised.tagging import WordExamples, WordTask

MAX_TRAINING_WORDS = 80  # the number of spans is quadratic. 33 sentences are longer
WINDOW = 50  # number of batches whose sentences are sorted by length together
RAREST_CHAIN = 2  # minimum number of occurrences of a span label in training


@dataclass(frozen=True)
class TreeExamples(WordExamples):
    """The parsed sentences of a split."""

    phrases: list[np.ndarray]  # start, end and label index, (phrases, 3), by sentence

    def labels_in(self, rows: np.ndarray) -> int:
        return int(self.tags.lengths(rows).sum())

    def arranged(
        self, order: np.ndarray, batch_size: int, random: np.random.Generator
    ) -> np.ndarray:
        """Return the rows in batches of similar lengths, which need fewer LSTM steps."""
        lengths = self.tags.lengths(order)
        window = WINDOW * batch_size
        by_length = np.lexsort([lengths, np.arange(len(order)) // window])
        whole = len(order) // batch_size
        batches = order[by_length][: whole * batch_size].reshape(whole, batch_size)
        return np.concatenate(
            [random.permutation(batches).ravel(), order[by_length][whole * batch_size :]]
        )

    def arrays(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        chosen = [self.phrases[row] for row in rows]
        owner = np.repeat(np.arange(len(rows)), [len(each) for each in chosen])
        phrases = np.column_stack([owner, np.concatenate(chosen)])
        return {**super().arrays(rows), "phrases": phrases}


class Parsing(WordTask):
    """Task of predicting the constituency tree of a sentence (`task.kind: parsing`)."""

    measure = "f1"
    reported = (
        *("f1", "precision", "recall", "exact_match", "template_match", "tag_accuracy"),
        "sentences",
    )

    def __init__(self, recipe: SupervisedRecipe, data_root: str | Path | None) -> None:
        self.recipe = recipe
        self.trees = {split: _read(recipe.task.dataset, split, data_root) for split in SPLITS}
        for more in recipe.task.extra_corpora:
            self.trees["train"] += _read(more, more.split, data_root)
        if names_file(recipe.run.development):
            path = resolve_path(recipe.run.development, data_root)
            rows = ({"tree": line} for _, line in text_lines(path) if line.strip())
            self.trees["validation"] = parsed_sentences(rows, str(path), ParserConfig.max_words)
        is_short = [len(tree.words()) <= MAX_TRAINING_WORDS for tree in self.trees["train"]]
        self.trees["train"] = list(compress(self.trees["train"], is_short))
        self.splits = {split: list(map(spans_of, trees)) for split, trees in self.trees.items()}
        seen = self.splits["train"]
        self.tags = sorted({tag for tree in seen for tag in tree.tags})
        chains = Counter(label for tree in seen for *_, label in tree.phrases)
        self.labels = sorted(label for label, count in chains.items() if count >= RAREST_CHAIN)

    def examples(self, split: str, tokenizer: TextTokenizer) -> TreeExamples:
        number_of = {label: number for number, label in enumerate(self.labels, 1)}
        phrases = [
            np.array(
                [(i, j, number_of.get(label, NO_LABEL)) for i, j, label in tree.phrases], np.int64
            ).reshape(-1, 3)
            for tree in self.splits[split]
        ]
        longest = self.recipe.task.max_length
        return TreeExamples(self.trees[split], *self.tokenized(split, tokenizer), longest, phrases)

    def new_model(self, encoder: dict[str, Any]) -> ParserModel:
        config = ParserConfig.of(encoder, self.tags, self.labels, **self.head_settings())
        return ParserModel(config)

    def counts(self, model: ParserModel, examples: TreeExamples) -> list[BracketCounts]:
        words = [tree.words() for tree in examples.gold]
        pairs = zip(predict_trees(model, examples.corpus, words), examples.gold, strict=True)
        return [count_brackets([tree], [right]) for tree, right in pairs]

    def share(self, counts: BracketCounts) -> tuple[int, int]:
        return 2 * counts.right, counts.found + counts.gold


def _read(chosen: DatasetArguments, split: str, data_root: str | Path | None) -> list[Tree]:
    if split not in official_splits(chosen):
        raise DataError(
            f"{chosen.title} has no {split} split of trees. Set task.dataset to a corpus such as "
            "gum, and list this one in task.extra_corpora"
        )
    rows = open_dataset(chosen, split, data_root)
    return parsed_sentences(rows, f"{chosen.title} {split}", ParserConfig.max_words)
