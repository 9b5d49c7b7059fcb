"""Examples of a supervised task, and the splits of its corpus."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.corpora.load import find_source
from paraphrastic_hf.predictors.predict import Shuffle
from paraphrastic_hf.training.engine.recipe import DatasetArguments


class Examples:
    """Tokenized rows of a split. Subclasses define `gold` and `inputs`."""

    gold: Any

    def __len__(self) -> int:
        return len(self.gold)

    def labels_in(self, rows: np.ndarray) -> int:
        """Return the number of labels in some rows. The loss is averaged over labels."""
        return len(rows)

    def arranged(
        self, order: np.ndarray, batch_size: int, random: np.random.Generator
    ) -> np.ndarray:
        """Return the shuffled row indices `order` of an epoch, rearranged into batches."""
        return order

    def inputs(
        self, rows: np.ndarray, device: torch.device, shuffle: Shuffle | None = None
    ) -> dict[str, Tensor]:
        """Return the inputs of the model by name, including `labels` for the loss."""
        raise NotImplementedError


def official_splits(dataset: DatasetArguments) -> Mapping[str, Any]:
    configs = find_source(dataset.name).configs
    return configs.get(dataset.config or next(iter(configs), "")) or {}
