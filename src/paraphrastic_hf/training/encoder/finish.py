"""What is done to an averaging model's table after training, before it is saved.

All of it is linear in the rows, or a rounding of them, so it costs nothing when the model is used:
tables of other runs are averaged with it (`encoders/merged.py`); the pieces of languages that were
kept apart are dropped; principal components of sentence vectors are brought nearer to one scale
(partial whitening), the leading ones first, of which some may be kept; the axes are put in an order
in which any prefix of the dimensions is a good smaller model; and numbers are rounded, so that
files compress.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.encoders.batches import embed_texts
from paraphrastic_hf.encoders.merged import merged_table
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe


class SentenceCorpus(Protocol):
    """What finishing asks of the text that a run has trained on."""

    @property
    def sentences(self) -> Ragged:
        """Ids of all sentences."""

    @property
    def language(self) -> np.ndarray:
        """Number of each sentence's language, (N,)."""

    @property
    def languages(self) -> list[str]:
        """Names of the languages, by number."""


def finish(
    model: SentenceEncoderModel,
    tokenizer: TextTokenizer,
    corpus: SentenceCorpus,
    recipe: EncoderRecipe,
    others: Sequence[np.ndarray] = (),
) -> tuple[SentenceEncoderModel, TextTokenizer]:
    """The model and tokenizer to save, as the recipe's `finish` asks.

    Only an averaging model has something to do; a recipe that asks others for it is refused before
    training (`build.check_encoders`).

    Args:
        others: The tables of the runs that `finish.merge_with` names, (vocab, dim) each.
    """
    asked = recipe.finish
    if not isinstance(model, AveragingModel):
        return model, tokenizer
    if others:
        own_table = model.embedding.weight.detach().float().cpu().numpy()
        model = with_table(model, torch.from_numpy(merged_table([own_table, *others])))
    if asked.whiten or asked.dimension is not None:
        own = [name not in recipe.tokenizer.apart for name in corpus.languages]
        sample = _sample(np.asarray(own)[corpus.language], asked.sample, recipe.seed)
        vectors = embed_texts(model, corpus.sentences, sample, max_length=recipe.data.max_length)
        table = model.embedding.weight.detach()
        model = with_table(model, whitened(table, vectors, asked.whiten, asked.dimension))
    if asked.nested_dimensions:
        table = model.embedding.weight.detach()
        model = with_table(model, table[:, spread(table.shape[1])])
    if asked.drop_apart and isinstance(tokenizer, SubwordTokenizer):
        tokenizer, kept = tokenizer.without_apart()
        model = with_table(model, model.embedding.weight.detach()[torch.from_numpy(kept)])
    if asked.significant_bits is not None:
        table = model.embedding.weight.detach()
        model = with_table(model, rounded(table, asked.significant_bits))
    return model, tokenizer


def whitened(
    table: Tensor, sentences: Tensor, power: float, dimension: int | None = None
) -> Tensor:
    """The table turned to the principal axes of sentence vectors, each scaled by its eigenvalue.

    With C = V diag(e) V^T the second moment of unit sentence vectors, rows become
    W V diag(e ** -power): power 0 is a rotation, 0.5 makes all axes equally wide.

    Args:
        table: (vocab, dim).
        sentences: Vectors of sentences by this table, (n, dim).
        power: 0 to 0.5.
        dimension: Axes kept, the widest first; all if None.

    Returns:
        (vocab, dimension), of the same mean length as `table`'s rows.
    """
    units = torch.nn.functional.normalize(sentences.double(), dim=1)
    values, axes = torch.linalg.eigh(units.T @ units / len(units))
    values, axes = values.flip(0).clamp(min=1e-9), axes.flip(1)
    turned = (table.double() @ axes * values**-power)[:, :dimension]
    return (turned * (table.norm(dim=1).mean() / turned.norm(dim=1).mean())).float()


def spread(size: int) -> list[int]:
    """An order of the axes in which every prefix takes them evenly, the last one first.

    Principal axes are the wrong ones to cut: the widest tell topics apart, and cosines of the first
    64 alone are much worse than those of 64 among all. The order is van der Corput's, backwards:
    numbers by their binary digits read from the right.

    Example:
        >>> spread(8)
        [7, 3, 5, 1, 6, 2, 4, 0]
    """
    digits = max(1, (size - 1).bit_length())
    mirrored = (int(f"{number:0{digits}b}"[::-1], 2) for number in range(2**digits))
    return [number for number in mirrored if number < size][::-1]


def rounded(table: Tensor, bits: int) -> Tensor:
    """Numbers with at most `bits` significant binary digits; half precision has 11, float 24."""
    fraction, exponent = torch.frexp(table)
    return torch.ldexp(torch.round(fraction * 2**bits) / 2**bits, exponent)


def with_table(model: AveragingModel, table: Tensor) -> AveragingModel:
    """A model like this one with another table."""
    settings = {
        **model.config.to_dict(),
        "vocab_size": table.shape[0],
        "hidden_size": table.shape[1],
    }
    changed = AveragingModel(AveragingConfig.from_dict(settings))
    with torch.no_grad():
        changed.embedding.weight.copy_(table)
    return changed.eval()


def _sample(members: np.ndarray, count: int, seed: int) -> np.ndarray:
    rows = np.flatnonzero(members)
    return np.sort(np.random.default_rng(seed).choice(rows, min(count, len(rows)), replace=False))
