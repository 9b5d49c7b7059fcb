"""Embedding of texts with models that need torch, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from paraphrastic_hf.models.base import SentenceEncoderModel, evaluating
from paraphrastic_hf.text.ragged import Ragged

MAX_PADDED_TOKENS = 2**18  # tokens in a batch, padding included


def length_batches(
    lengths: np.ndarray, batch_size: int, most_tokens: int = MAX_PADDED_TOKENS
) -> Iterator[np.ndarray]:
    """Yield batches of texts of similar length, shortest texts first.

    Args:
        lengths: Number of tokens in each text, (texts,).
        most_tokens: Maximum number of tokens in a batch, including padding. A longer text forms a
            batch alone.

    Yields:
        Indices into `lengths` of the texts in a batch, (n,).

    Example:
        >>> [batch.tolist() for batch in length_batches(np.array([3, 1, 2]), 2)]
        [[1, 2], [0]]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = min(start + batch_size, len(order))
        while stop - start > 1 and (stop - start) * lengths[order[stop - 1]] > most_tokens:
            stop = start + max(1, (stop - start) // 2)
        yield order[start:stop]
        start = stop


def embed_texts(
    model: SentenceEncoderModel,
    texts: Ragged,
    which: np.ndarray,
    *,
    batch_size: int = 1024,
    max_length: int | None = None,
    progress: bool = False,
) -> Tensor:
    """Return embeddings of selected texts, computed in evaluation mode without gradients.

    Args:
        model: Any encoder of this package. Its training mode is restored afterwards.
        texts: Token ids of all texts.
        which: Indices of the texts to embed, (n,).
        max_length: Maximum number of tokens per text. Longer texts are cut.

    Returns:
        (n, dim) float32 in the order of `which`, on the model's device.

    Example:
        >>> from paraphrastic_hf.encoders.static.table import Table
        >>> from paraphrastic_hf.encoders.storage.directory import model_of_table
        >>> texts = Ragged.from_lists([[2, 3], [3]])
        >>> model = model_of_table(Table.of(np.eye(4)))
        >>> embed_texts(model, texts, np.array([1, 0]), batch_size=1, progress=False)
        tensor([[0.0000, 0.0000, 0.0000, 1.0000],
                [0.0000, 0.0000, 0.5000, 0.5000]])
    """
    lengths = texts.lengths(which)
    output: Tensor | None = None
    with (
        evaluating(model),
        torch.inference_mode(),
        tqdm(total=len(which), unit=" texts", disable=not progress) as bar,
    ):
        for chosen in length_batches(lengths, batch_size, model.most_tokens):
            batch = texts.select(which[chosen], max_length)
            vectors = model(
                torch.from_numpy(batch.ids).to(model.device),
                lengths=torch.from_numpy(np.diff(batch.offsets)).to(model.device),
            ).sentence_embedding.float()
            if output is None:
                output = vectors.new_empty(len(which), vectors.shape[1])
            output[torch.from_numpy(chosen).to(model.device)] = vectors
            bar.update(len(chosen))
    empty = torch.empty(0, model.config.hidden_size, device=model.device)
    return empty if output is None else output
