"""Encoders from outside this package, to be trained and used as those of the thesis are."""

from __future__ import annotations

from typing import Any, TypeVar

from transformers import AutoConfig, AutoModel

from paraphrastic_hf.config.encoder_kinds import ENCODER_KINDS
from paraphrastic_hf.config.named_code import imported
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.families import FAMILIES

Encoder = TypeVar("Encoder", bound=type[SentenceEncoderModel])


def register_encoder(model_class: Encoder) -> Encoder:
    """Make an encoder of your own one that recipes train and `SentenceEncoder` loads.

    `AutoConfig` and `AutoModel` know it, too, and its file is saved beside the weights, unless it
    is defined in a notebook. A recipe names it by the `model_type` of its configuration.

    Args:
        model_class: A subclass of `TableModel`, or of `SentenceEncoderModel`, whose `config_class`
            has a `model_type` of its own and the fields `vocab_size` and `hidden_size`.

    Returns:
        The class, so that this can decorate it.

    Raises:
        TypeError: It is no such class.
        ValueError: Its `model_type` is missing or another model's.

    Example:
        >>> from paraphrastic_hf.models.table import TableConfig, TableModel
        >>> class PlainConfig(TableConfig):
        ...     model_type = "plain"
        >>> @register_encoder
        ... class PlainModel(TableModel):
        ...     config_class = PlainConfig
        >>> AutoModel.from_config(PlainConfig(vocab_size=9, hidden_size=4)).num_parameters()
        36
        >>> ENCODER_KINDS.remove("plain"), FAMILIES.pop("plain").__name__  # for other examples
        (None, 'PlainModel')
    """
    if not (isinstance(model_class, type) and issubclass(model_class, SentenceEncoderModel)):
        raise TypeError(f"an encoder must be a subclass of SentenceEncoderModel, got {model_class}")
    config_class = model_class.config_class
    kind = config_class.model_type
    if not kind or kind.startswith("paraphrastic-"):  # the second would replace a model of ours
        raise ValueError(f"{config_class.__name__} must have a model_type of its own, got {kind!r}")
    is_again = kind in FAMILIES  # as where a notebook runs a cell twice
    AutoConfig.register(kind, config_class, exist_ok=is_again)
    AutoModel.register(config_class, model_class, exist_ok=is_again)
    if model_class.__module__ != "__main__":  # a notebook, which transformers cannot copy
        config_class.register_for_auto_class()
        model_class.register_for_auto_class("AutoModel")
    FAMILIES[kind] = model_class
    if kind not in ENCODER_KINDS:
        ENCODER_KINDS.insert(0, kind)
    return model_class


def encoder_class(kind: str) -> type[SentenceEncoderModel]:
    """Return the class of an encoder; one that is named `module:Class` is imported and registered.

    Raises:
        RecipeError: It cannot be imported, or is no encoder.
    """
    if kind in FAMILIES:
        return FAMILIES[kind]
    found: Any = imported(kind, "model.kind")
    try:
        return register_encoder(found)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model.kind {kind}: {error}") from error
