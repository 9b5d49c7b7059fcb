"""Sentences encoded per second, by batch size (thesis, 5.3.1, Table 45).

Encoders of this package that average word vectors cache words. Before each repetition the cache is
cleared and filled with sentences that are not timed. Caches of other encoders cannot be cleared,
which favors these encoders.
"""

import inspect
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.readers.sts_files import read_sts
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.suite import Row, Suite, Task

BATCH_SIZES = (1, 32, 128, 1024, 8192)
REPETITIONS = 5
AT_HAND = 16_384  # sentences that are tokenized in advance
SECONDS = 0.5  # duration of a repetition of one or more batches
THESIS_BATCH = 128

Batch = list[str]


def sentences_per_second(
    work: Callable[[Any], Any],
    batches: Sequence[Any],
    size: int,
    prepare: Callable[[], object] = lambda: None,
) -> float:
    """Measure the speed of encoding: the median over repetitions, after one batch to warm up.

    A repetition encodes each batch of `size` sentences at most once until its time is up. The next
    one continues with the next batch, cyclically. `prepare` runs before each, outside the time.
    """
    work(batches[0])
    rates, at = [], 1
    for _ in range(REPETITIONS):
        prepare()
        start = time.perf_counter()
        done, taken = 0, 0.0
        while done < len(batches) and taken < SECONDS:
            work(batches[(at + done) % len(batches)])
            done, taken = done + 1, time.perf_counter() - start
        rates.append(done * size / taken)
        at += done
    return statistics.median(rates)


def read_sentences(data_dir: Path) -> tuple[list[str], list[str]]:
    """Read the distinct sentences of STS 2012-2016 in random order.

    Return the half that fills the cache, and the half that is timed, which is repeated if it is
    smaller than the largest batch.
    """
    found = {text for pairs in read_sts(data_dir) for text in (*pairs.first, *pairs.second)}
    if not found:
        raise DataError(f"{data_dir} has no sentences of STS")
    distinct = sorted(found)
    random.Random(1).shuffle(distinct)
    met, new = distinct[::2], distinct[1::2] or distinct
    return met, list(islice(cycle(new), max(len(new), BATCH_SIZES[-1])))


def _task(encoder: Any, data_dir: Path, *, size: int) -> list[Row]:
    met, sentences = read_sentences(data_dir)
    batches = [sentences[i : i + size] for i in range(0, len(sentences) - size + 1, size)]
    checked_vectors(encoder.encode(batches[0]), size)
    remembers = isinstance(encoder, SentenceEncoder) and encoder.forget()
    rows = []
    whole = encoder
    for device in devices_of(whole):
        if device == "CUDA" and isinstance(whole, SentenceEncoder):
            encoder = SentenceEncoder(whole.model_apart(), whole.tokenizer)
        with _on(encoder, device):
            speed = partial(sentences_per_second, _encode(encoder, size, device), batches, size)
            if remembers:
                scores = {"text": speed(partial(_meet, encoder, met))}
                scores["text, no word known"] = speed(encoder.forget)
            else:
                scores = {"text": speed()}
            prepared = _prepared(encoder, device)
            if prepared is not None:
                cut, embed = prepared
                few = [cut(batch) for batch in batches[: max(1, AT_HAND // size)]]
                scores["tokens"] = sentences_per_second(embed, few, size)
        rows.append(Row(machine(device), f"batches of {size}", size, scores))
    return rows


def _meet(encoder: SentenceEncoder, texts: list[str]) -> None:
    encoder.forget()
    encoder.encode(texts)


def devices_of(encoder: Any) -> list[str]:
    """Return the devices to measure on: the CPU, and CUDA if the encoder can run there."""
    import torch

    has_cuda = torch.cuda.is_available() and (
        isinstance(encoder, SentenceEncoder) or _torch_model(encoder) is not None
    )
    return ["CPU", "CUDA"] if has_cuda else ["CPU"]


def machine(device: str) -> str:
    """Return the name of the processor or of the GPU."""
    if device == "CUDA":
        import torch

        return f"CUDA, {torch.cuda.get_device_name()}"
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        found = []
    name = found[0] if found else platform.processor() or platform.machine()
    return f"CPU, {name}, {counted(os.cpu_count() or 1, 'thread')}"


def _torch_model(encoder: Any) -> Any:
    model = encoder.model if isinstance(encoder, SentenceEncoder) else encoder
    return model if hasattr(model, "parameters") and hasattr(model, "to") else None


@contextmanager
def _on(encoder: Any, device: str) -> Iterator[None]:
    """Move the encoder's torch model (if any) to a device. Move it back on exit."""
    needs_no_torch = isinstance(encoder, SentenceEncoder) and not encoder.needs_torch
    model = None if device == "CPU" and needs_no_torch else _torch_model(encoder)
    if model is None:
        yield
        return
    before = next(model.parameters()).device
    model.to(device.lower())
    try:
        yield
    finally:
        model.to(before)


def _encode(encoder: Any, size: int, device: str) -> Callable[[Batch], Any]:
    """Return a function that encodes one batch. It passes `batch_size` if `encode` accepts it."""
    try:
        takes_size = "batch_size" in inspect.signature(encoder.encode).parameters
    except (TypeError, ValueError):
        takes_size = False
    work = partial(encoder.encode, batch_size=size) if takes_size else encoder.encode
    return _finished(work, device)


def _prepared(
    encoder: Any, device: str
) -> tuple[Callable[[Batch], Any], Callable[[Any], Any]] | None:
    """Return a function that tokenizes a batch and one that embeds its tokens.

    Return None if the encoder does not offer these two steps separately.
    """
    import numpy as np
    import torch

    if isinstance(encoder, SentenceEncoder):
        from paraphrastic_hf.encoders.batches import embed_texts

        model = encoder.model_apart()

        def embed(ids: Any) -> Any:
            return embed_texts(model, ids, np.arange(len(ids)), batch_size=len(ids))

        return encoder.tokenizer.encode_batch, _finished(embed, device)
    if not (hasattr(encoder, "preprocess") and hasattr(encoder, "forward")):
        return None

    def forward(features: Any) -> Any:
        with torch.inference_mode():
            return encoder.forward(
                {k: v.to(encoder.device) if torch.is_tensor(v) else v for k, v in features.items()}
            )["sentence_embedding"]

    return encoder.preprocess, _finished(forward, device)


def _finished(work: Callable[[Any], Any], device: str) -> Callable[[Any], Any]:
    """Wrap a function so that it returns only after CUDA has finished."""
    if device != "CUDA":
        return work
    import torch

    def wait(batch: Any) -> Any:
        result = work(batch)
        torch.cuda.synchronize()
        return result

    return wait


def _headline(rows: Sequence[Row]) -> dict[str, float]:
    """Return speeds by device: from text for each batch size, from tokens for batch size 128."""
    figures = {}
    for row in rows:
        device = row.group.partition(",")[0]
        figures[f"{device}, {row.size}"] = row.scores["text"]
        if row.size == THESIS_BATCH and "tokens" in row.scores:
            figures[f"{device}, {row.size} tokens"] = row.scores["tokens"]
    return figures


TASKS: dict[str, Task] = {f"batches of {size}": partial(_task, size=size) for size in BATCH_SIZES}

SPEED = Suite(
    "Sentences encoded per second, by batch size (5.3.1)",
    "Sentences per second, median of 5",
    TASKS,
    _headline,
    notes=(
        "Table 45, batches of 128 on a Quadro GP100: SP with 300 dimensions 855,571, with 1,024 "
        "683,204; Schwenk (2018) 2,601; Chidambaram et al. (2018) 3,049.",
        "Each batch is one call of `encode` with distinct sentences of STS 2012-2016, new ones in "
        "each repetition while they last. Text: strings to vectors. Tokens: ids to vectors; for "
        "averaging models with torch, whereas text is encoded without it.",
        "Averaging encoders of this package cache words. Before each repetition the cache is "
        "cleared and filled with other sentences of STS, as many as are timed; `text, no word "
        "known` omits this. Other encoders keep their caches between repetitions.",
        "Groups of rows are devices: the CPU, and CUDA if available, where tokens include the "
        "copy to the GPU.",
    ),
    is_kept=False,
    hub_task=None,
)
