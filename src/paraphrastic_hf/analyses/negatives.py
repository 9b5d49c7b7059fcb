"""Negatives of the same sentences in mega-batches of several sizes (thesis, 4.5.5, Table 31)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from paraphrastic_hf.analyses.report import Analysis, Cell, Table, bars_figure
from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.losses.negatives import select_negatives
from paraphrastic_hf.losses.pool import Pool

SIZES = (1, 20, 40)  # sizes in Table 31


@dataclass(frozen=True)
class Negative:
    """The negative of a sentence in a mega-batch, with cosines to the sentence."""

    is_first: bool  # whether the sentence is the first side of its pair
    sentence: str
    partner: str
    text: str  # of the negative
    cosine: float
    partner_cosine: float


def negatives_of(
    encoder: Any,
    pairs: Sequence[tuple[str, str]],
    *,
    sizes: Sequence[int] = SIZES,
    batch_size: int = 100,
) -> dict[int, list[Negative]]:
    """Choose negatives from mega-batches of several sizes for the same sentences (mining `max`).

    Pairs are cut into mega-batches of the largest size. Remaining pairs are dropped. Smaller
    mega-batches consist of the first mini-batches of the largest. Only the sentences of the first
    mini-batch get negatives, unless they have none in the smallest mega-batch.
    """
    if not sizes or min(sizes) < 1 or batch_size < 2:
        raise DataError(
            f"sizes must be >= 1 and batch_size >= 2, got {list(sizes)} and {batch_size}"
        )
    largest = max(sizes) * batch_size
    if len(pairs) < largest:
        raise DataError(
            f"A mega-batch of {max(sizes)} mini-batches of {batch_size} pairs requires "
            f"{largest:,} pairs, got {counted(len(pairs), 'pair')}. Give more pairs or smaller "
            "sizes"
        )
    found: dict[int, list[Negative]] = {size: [] for size in sorted(set(sizes))}
    for start in range(0, len(pairs) - largest + 1, largest):
        texts = [text for pair in pairs[start : start + largest] for text in pair]
        vectors = torch.from_numpy(np.asarray(encoder.encode(texts), np.float32))
        vectors = torch.nn.functional.normalize(vectors, dim=1)
        _, group = np.unique(texts, return_inverse=True)
        anchors = torch.arange(2 * batch_size)
        chosen = {}
        for size in found:
            sentences = 2 * size * batch_size
            pool = Pool(
                vectors[:sentences],
                torch.zeros(sentences, dtype=torch.long),
                torch.from_numpy(group[:sentences]),
            )
            chosen[size] = select_negatives(pool, "max", "partner_language", None, rows=anchors)
        # A larger mega-batch contains the smaller ones, so sentences with a negative keep one.
        has_one = chosen[min(found)] >= 0
        for size, numbers in chosen.items():
            for anchor, number in torch.stack([anchors, numbers], 1)[has_one].tolist():
                partner = anchor ^ 1
                near, far = (
                    float((vectors[anchor] @ vectors[other]).clip(-1, 1))
                    for other in (number, partner)
                )
                shown = (texts[anchor], texts[partner], texts[number])
                found[size].append(Negative(anchor % 2 == 0, *shown, near, far))
    return found


def negatives(
    encoder: Any,
    pairs: Sequence[tuple[str, str]],
    *,
    name: str,
    sizes: Sequence[int] = SIZES,
    batch_size: int = 100,
    count: int = 5,
) -> Analysis:
    """Compare the negatives of mega-batches of several sizes."""
    found = negatives_of(encoder, pairs, sizes=sizes, batch_size=batch_size)
    rows: list[list[Cell]] = []
    means: dict[int, float] = {}
    for size, each in found.items():
        if not each:
            raise DataError("All sentences are equal, so none has a negative. Give other pairs")
        nearer = float(np.mean([one.cosine > one.partner_cosine for one in each]))
        means[size] = float(np.mean([one.cosine for one in each]))
        partner = float(np.mean([one.partner_cosine for one in each]))
        rows.append([size, len(each), means[size], partner, 100 * nearer])
    shown = [same for same in zip(*found.values(), strict=True) if same[0].is_first][:count]
    examples: list[list[Cell]] = [
        [same[0].sentence, same[0].partner, *(one.text for one in same)] for same in shown
    ]
    columns = ["M", "sentences", "cosine of negative", "cosine of paraphrase", "negative closer, %"]
    return Analysis(
        "negatives",
        f"Negatives of {name} by size of the mega-batch",
        [
            Table("sizes", "Cosines, and how often the negative is closer", columns, rows),
            Table(
                "examples",
                f"The first {len(examples)} sentences",
                ["sentence", "paraphrase", *(f"M = {size}" for size in found)],
                examples,
            ),
        ],
        bars_figure(
            {f"M = {size}": mean for size, mean in means.items()},
            "cosine of a sentence and its negative",
            size=(6.5, 1.2 + 0.35 * len(means)),
        ),
        [
            f"A mini-batch has {batch_size} pairs, and a mega-batch M mini-batches. The same "
            "sentences get a negative from each.",
            "The encoder is the saved one. During training, negatives are chosen by the encoder "
            "as it learns.",
        ],
        {"model": name, "pairs": len(pairs), "sizes": list(found), "batch_size": batch_size},
    )
