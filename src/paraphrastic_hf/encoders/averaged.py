"""Encoders that are averages though their model is of another kind, as averaging models."""

from __future__ import annotations

from typing import cast

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.layers.latent import AverageEncoder
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC, Purpose
from paraphrastic_hf.text.marks import MarkedTokenizer


def averaged(encoder: SentenceEncoder) -> SentenceEncoder:
    """Make an averaging model of a generative one whose meaning is an average (`encoder: average`).

    It has the table that the meaning is read from and no decoders, is encoded in C, and loads
    wherever averaging models do. Its vectors point where those of the model point, and are as long
    as those of an SP, from which another such model may begin.

    Args:
        encoder: Any encoder; one of another kind is returned as it is.

    Raises:
        ModelError: It embeds by the variable of a language, has a mean taken from its vectors, or
            leaves another token out of the average than the end mark of its tokenizer.

    Example:
        >>> encoder = averaged(SentenceEncoder.from_pretrained("runs/average"))  # doctest: +SKIP
        >>> encoder.save_pretrained("runs/table")  # doctest: +SKIP
    """
    model = None if encoder.table(slice(0, 0)) is not None else encoder.model
    if not isinstance(model, LatentModel) or model.config.encoder_kind != "average":
        return encoder
    if model.variable != SEMANTIC:
        raise ModelError(
            f"the variable {model.variable} is no average: have the model read {SEMANTIC!r} "
            "(`read_variable`)"
        )
    if model.config.is_centered:
        raise ModelError(
            "the model has a mean taken from its sentence vectors, which an average cannot say: "
            "train it without training.center"
        )
    reading = model.encoder_of(SEMANTIC).encoder
    average = cast(AverageEncoder, reading.shared if isinstance(reading, Purpose) else reading)
    tokenizer = encoder.tokenizer
    marks = (*tokenizer.special.start, *tokenizer.special.end)
    if marks != (() if average.end is None else (average.end,)):
        raise ModelError(
            f"the model leaves token {average.end} out of the average, and its tokenizer adds "
            f"{list(marks)}: load the two that belong together"
        )
    if isinstance(tokenizer, MarkedTokenizer):
        tokenizer = tokenizer.inner
    rows = average.table.weight.detach().float().cpu()[: tokenizer.vocab_size].clone()
    rows[0] = 0  # padding
    table = SentenceEncoder.from_table(
        rows.numpy(), tokenizer, name=encoder.name, num_threads=encoder.num_threads
    )
    table.origin = encoder.origin
    table.model_card_data.base_model = encoder.name
    return table
