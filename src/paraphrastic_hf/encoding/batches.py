"""Any model, any tokenizer: texts to vectors in batches of like length, with bounded padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from tqdm.auto import tqdm

from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.ragged import Ragged

MAX_PADDED_TOKENS = 2**18


def length_batches(lengths: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """Rows sorted by length, `batch_size` at a time, fewer where the rows are very long.

    Raises:
        ValueError: `batch_size` is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = min(start + batch_size, len(order))
        while stop - start > 1 and (stop - start) * lengths[order[stop - 1]] > MAX_PADDED_TOKENS:
            stop = start + max(1, (stop - start) // 2)
        yield order[start:stop]
        start = stop


def embed_rows(
    model: SentenceEncoderModel,
    texts: Ragged,
    rows: np.ndarray,
    *,
    batch_size: int = 1024,
    max_length: int | None = None,
    progress: bool = False,
) -> Tensor:
    """Embeddings of some rows, without gradient and without dropout.

    Args:
        model: Any encoder of this package; its training mode is put back.
        texts: Token ids.
        rows: Which rows, (n,), in the order wanted back.
        batch_size: Texts at a time.
        max_length: Cut each text at this many tokens.
        progress: Show a progress bar.

    Returns:
        (n, dim) float32, on the model's device.
    """
    lengths = texts.lengths(rows)
    was_training = model.training
    model.eval()
    output: Tensor | None = None
    try:
        with (
            torch.inference_mode(),
            tqdm(total=len(rows), unit=" texts", disable=not progress) as bar,
        ):
            for chosen in length_batches(lengths, batch_size):
                batch = texts.select(rows[chosen], max_length)
                vectors = model(
                    torch.from_numpy(batch.ids).to(model.device),
                    lengths=torch.from_numpy(np.diff(batch.offsets)).to(model.device),
                ).sentence_embedding.float()
                if output is None:
                    output = vectors.new_empty(len(rows), vectors.shape[1])
                output[torch.from_numpy(chosen).to(model.device)] = vectors
                bar.update(len(chosen))
    finally:
        model.train(was_training)
    empty = torch.empty(0, model.config.hidden_size, device=model.device)
    return empty if output is None else output
