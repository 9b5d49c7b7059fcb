"""Registration of encoders defined outside this package."""

from typing import Any, TypeVar

from transformers import AutoConfig, AutoModel

from paraphrastic_hf.config.recipe import ENCODER_KINDS, imported
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.families import FAMILIES

Encoder = TypeVar("Encoder", bound=type[SentenceEncoderModel])


def register_encoder(model_class: Encoder) -> Encoder:
    """Register an encoder class of your own for recipes, `SentenceEncoder` and `AutoModel`.

    Recipes name the class by the `model_type` of its config. Its source file is saved with the
    weights, unless the class is defined in a notebook.

    Args:
        model_class: A subclass of `TableModel` or `SentenceEncoderModel`. Its `config_class` needs
            its own `model_type` and the fields `vocab_size` and `hidden_size`.

    Returns:
        The class, so that this works as a decorator.

    Raises:
        TypeError: If `model_class` or `config_class` does not meet these conditions.
        ValueError: If the `model_type` is missing or already used.

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
        raise TypeError(f"An encoder must be a subclass of SentenceEncoderModel, got {model_class}")
    config_class = model_class.config_class
    kind = config_class.model_type
    if not kind or kind.startswith("paraphrastic-"):  # this prefix is taken by our models
        raise ValueError(f"{config_class.__name__} must have its own model_type, got {kind!r}")
    is_again = kind in FAMILIES  # such as a notebook cell that runs twice
    AutoConfig.register(kind, config_class, exist_ok=is_again)
    AutoModel.register(config_class, model_class, exist_ok=is_again)
    if model_class.__module__ != "__main__":  # transformers cannot copy the code of a notebook
        config_class.register_for_auto_class()
        model_class.register_for_auto_class("AutoModel")
    FAMILIES[kind] = model_class
    if kind not in ENCODER_KINDS:
        ENCODER_KINDS.insert(0, kind)
    return model_class


def encoder_class(kind: str) -> type[SentenceEncoderModel]:
    """Return the encoder class of a kind. A kind `module:Class` is imported and registered."""
    if kind in FAMILIES:
        return FAMILIES[kind]
    found: Any = imported(kind, "model.kind")
    try:
        return register_encoder(found)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"model.kind {kind}: {error}") from error
