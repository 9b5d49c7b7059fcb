"""Embedding of texts with models that need torch, in batches of similar length."""

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
    """Yield indices, (n,), of texts of similar length, shortest first, at most `most_tokens` tokens
    with padding. A longer text forms a batch alone.
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
    """Return embeddings, (n, dim) float32, of texts cut to `max_length` tokens, in eval mode."""
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
