"""Changes to a trained averaging or window model before saving (recipe section `finish`)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.encoders.batches import embed_texts
from paraphrastic_hf.encoders.merged import merged_table
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.models.encoders.window import WindowModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe


def finish(
    model: SentenceEncoderModel,
    tokenizer: TextTokenizer,
    corpus: Any,
    recipe: EncoderRecipe,
    others: Sequence[np.ndarray] = (),
) -> tuple[SentenceEncoderModel, TextTokenizer]:
    """Apply the recipe's `finish` section. Return the model and tokenizer to save.

    A window model is divided by a power of two, so that its embeddings have a mean length from 1 to
    2. Cosines do not change, but classifiers over long vectors fit badly. Other models that do not
    average are returned unchanged. `others` are the tables of the runs in `finish.merge_with`.
    """
    asked = recipe.finish

    def embedded(members: np.ndarray) -> Tensor:
        sample = _sample(members, asked.sample, recipe.seed)
        return embed_texts(model, corpus.sentences, sample, max_length=recipe.data.max_length)

    if isinstance(model, WindowModel):
        length = embedded(np.ones(len(corpus.sentences))).norm(dim=1).mean().item()
        return model.scaled(2.0 ** -math.floor(math.log2(length))), tokenizer
    if type(model) is not AveragingModel:
        return model, tokenizer
    table = own_table = model.embedding.weight.detach()
    if others:
        table = torch.from_numpy(merged_table([table.float().cpu().numpy(), *others]))
        model = with_table(model, table)
    if asked.whiten or asked.dimension is not None:
        own = [name not in recipe.tokenizer.apart for name in corpus.languages]
        vectors = embedded(np.asarray(own)[corpus.language])
        table = whitened(table, vectors, asked.whiten, asked.dimension)
    if asked.nested_dimensions:
        table = table[:, spread(table.shape[1])]
    if asked.drop_apart and isinstance(tokenizer, SubwordTokenizer):
        tokenizer, kept = tokenizer.without_apart()
        table = table[torch.from_numpy(kept)]
    if asked.significant_bits is not None:
        table = rounded(table, asked.significant_bits)
    return model if table is own_table else with_table(model, table), tokenizer


def whitened(
    table: Tensor, sentences: Tensor, power: float, dimension: int | None = None
) -> Tensor:
    """Rotate a token table to the principal axes of sentence vectors, and scale each axis.

    Let C = V diag(e) V^T be the second moment of unit sentence vectors. The table W becomes W V
    diag(e ** -power), with its mean row length unchanged. Power 0 only rotates. Power 0.5 gives all
    axes the same variance. Only the `dimension` leading axes are kept.
    """
    units = torch.nn.functional.normalize(sentences.double(), dim=1)
    values, axes = torch.linalg.eigh(units.T @ units / len(units))
    values, axes = values.flip(0).clamp(min=1e-9), axes.flip(1)
    turned = (table.double() @ axes * values**-power)[:, :dimension]
    return (turned * (table.norm(dim=1).mean() / turned.norm(dim=1).mean())).float()


def spread(size: int) -> list[int]:
    """Return an order of the principal axes in which every prefix covers all axes evenly.

    The first 64 principal axes give much worse cosines than 64 axes spread over all. The order is
    the reversed van der Corput sequence: indices sorted by their binary digits read from the right,
    in descending order.

    Example:
        >>> spread(8)
        [7, 3, 5, 1, 6, 2, 4, 0]
    """
    digits = max(1, (size - 1).bit_length())
    mirrored = (int(f"{number:0{digits}b}"[::-1], 2) for number in range(2**digits))
    return [number for number in mirrored if number < size][::-1]


def rounded(table: Tensor, bits: int) -> Tensor:
    """Round numbers to `bits` significant binary digits."""
    fraction, exponent = torch.frexp(table)
    return torch.ldexp(torch.round(fraction * 2**bits) / 2**bits, exponent)


def with_table(model: AveragingModel, table: Tensor) -> AveragingModel:
    sizes = {"vocab_size": table.shape[0], "hidden_size": table.shape[1]}
    settings = {**model.config.to_dict(), **sizes}
    changed = AveragingModel(AveragingConfig.from_dict(settings))
    with torch.no_grad():
        changed.embedding.weight.copy_(table)
    return changed.eval()


def _sample(members: np.ndarray, count: int, seed: int) -> np.ndarray:
    rows = np.flatnonzero(members)
    return np.sort(np.random.default_rng(seed).choice(rows, min(count, len(rows)), replace=False))
