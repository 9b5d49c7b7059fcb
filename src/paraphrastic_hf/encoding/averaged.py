"""Encoders that are averages though their model is of another kind, as averaging models."""

from __future__ import annotations

from paraphrastic_hf.encoding.directory import averaging_model
from paraphrastic_hf.encoding.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.latent import LatentModel
from paraphrastic_hf.models.pair_terms import SEMANTIC
from paraphrastic_hf.text.marks import MarkedTokenizer


def averaged(encoder: SentenceEncoder) -> SentenceEncoder:
    """Make an averaging model of a generative one whose meaning is an average (`encoder: average`).

    It has the table that the meaning is read from and no decoders, is encoded in C, and loads
    wherever averaging models do. Its vectors point where those of the model point; they are
    longer, since the end mark is no longer counted.

    Args:
        encoder: Any encoder; one of another kind is returned as it is.

    Raises:
        ModelError: It embeds by the variable of a language, or has a mean taken from its vectors.

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
    if model.config.is_centred:
        raise ModelError(
            "the model has a mean taken from its sentence vectors, which an average cannot say: "
            "train it without training.centre"
        )
    tokenizer = encoder.tokenizer
    if isinstance(tokenizer, MarkedTokenizer):
        tokenizer = tokenizer.inner
    table = model.encoder_of(SEMANTIC).encoder.table
    rows = table.weight.detach().float().cpu()[: tokenizer.vocab_size] * table.embedding_dim**0.5
    return SentenceEncoder(averaging_model(rows.numpy()), tokenizer)
