"""Small encoders and tables of random numbers."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from paraphrastic_hf import (
    AveragingConfig,
    AveragingModel,
    RecurrentConfig,
    RecurrentModel,
    SentenceEncoder,
)
from paraphrastic_hf.text.contract import TextTokenizer


def averaging(tokenizer: TextTokenizer, size: int = 8) -> SentenceEncoder:
    torch.manual_seed(0)
    config = AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=size)
    return SentenceEncoder(AveragingModel(config).eval(), tokenizer)


def recurrent(tokenizer: TextTokenizer, **settings: object) -> SentenceEncoder:
    """An LSTM, which has no fast path and no table."""
    torch.manual_seed(0)
    config = RecurrentConfig(vocab_size=tokenizer.vocab_size, **{"hidden_size": 4, **settings})
    return SentenceEncoder(RecurrentModel(config).eval(), tokenizer)


def random_rows(tokenizer: TextTokenizer, size: int = 5) -> np.ndarray:
    """A table with a row per token, (vocab, size) float32."""
    shape = (tokenizer.vocab_size, size)
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def with_rows(tokenizer: TextTokenizer, size: int = 5) -> SentenceEncoder:
    return SentenceEncoder.from_table(random_rows(tokenizer, size), tokenizer, "random")


def row_means(table: np.ndarray, texts: Iterable[Sequence[int]]) -> np.ndarray:
    """Mean row of the ids of each text in float64, zeros for a text without ids."""
    wide = np.asarray(table, np.float64)
    means = [wide[list(ids)].sum(0) / max(1, len(ids)) for ids in texts]
    return np.array(means).reshape(-1, wide.shape[1])
