"""Build the initial encoder of a recipe, and reject contradictory settings."""

import dataclasses
from pathlib import Path
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from transformers import PreTrainedConfig

from paraphrastic_hf.errors import RecipeError, nearest_name
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingModel
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.families import FAMILIES
from paraphrastic_hf.models.register import encoder_class
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.training.encoder.recipe import EncoderRecipe
from paraphrastic_hf.training.encoder.settings import EncoderArguments, ModelArguments
from paraphrastic_hf.training.encoder.start import resolve_vectors, start_from_vectors
from paraphrastic_hf.training.engine.memory import SMALLEST_TABLE, check_memory


def check_start(recipe: EncoderRecipe, model: SentenceEncoderModel) -> None:
    """Raise RecipeError for settings that the encoder named by `start` does not support."""
    _check_finish(recipe, type(model), f"start {recipe.start}")
    if (recipe.finish.dimension or 0) > model.config.hidden_size:
        raise RecipeError(
            f"finish.dimension must be at most {model.config.hidden_size}, the number of "
            f"dimensions of the model given as start ({recipe.start}), got "
            f"{recipe.finish.dimension}"
        )


def check_encoders(recipe: EncoderRecipe) -> None:
    """Raise RecipeError for contradictory encoder settings, before any text is read.

    A recipe with `start` is checked by `check_start` instead.
    """
    if recipe.start is not None:
        return
    configs = [check_encoder(encoder) for encoder in recipe.encoders]
    if recipe.finish.drop_apart and recipe.tokenizer.kind != "sentencepiece":
        raise RecipeError(
            f"finish.drop_apart requires tokenizer.kind sentencepiece, got {recipe.tokenizer.kind}"
        )
    if not recipe.parts:
        kind = recipe.model.kind
        _check_finish(recipe, encoder_class(kind), f"model.kind {kind}")
        return
    _check_finish(recipe, SentenceEncoderModel, "parts")
    if len({encoder.tokenizer.lowercase for encoder in recipe.parts}) > 1:
        raise RecipeError("tokenizer.lowercase must be the same in all parts")
    if any(encoder.tokenizer.apart for encoder in recipe.parts):
        raise RecipeError("tokenizer.apart requires one tokenizer. Remove apart from all parts")
    try:
        MixedConfig.of(configs, recipe.combine)
    except StrictDataclassError as error:
        raise RecipeError(f"parts: {error.__cause__ or error}") from error


def _check_finish(recipe: EncoderRecipe, kind: type[SentenceEncoderModel], found: str) -> None:
    """Raise RecipeError for keys of the section `finish` that this kind of encoder lacks."""
    if kind is AveragingModel:
        return
    packs = ("int8", "int4") if issubclass(kind, AveragingModel) else ()
    allowed = {"precision": ("float32", "float16", *packs)}
    for name, value in dataclasses.asdict(recipe.finish).items():
        if name != "sample" and value and value not in allowed.get(name, ()):
            raise RecipeError(
                f"finish.{name} ({value!r}) requires an averaging model, got {found}. Remove it"
            )


def check_encoder(encoder: EncoderArguments) -> PreTrainedConfig:
    """Return the configuration that an encoder has with the smallest possible vocabulary.

    Raise RecipeError for contradictory settings or too little memory.
    """
    _check_tokenizer(encoder)
    config = build_config(encoder.model, SMALLEST_TABLE)
    check_memory(encoder_class(encoder.model.kind), config)
    return config


def build_model(
    recipe: EncoderRecipe, tokenizer: TextTokenizer, data_root: str | Path | None = None
) -> SentenceEncoderModel:
    """Build the initial encoder of a recipe: one encoder, or several parts."""
    if not isinstance(tokenizer, MixedTokenizer):
        return build_encoder(recipe.model, tokenizer, data_root)
    parts = [
        build_encoder(encoder.model, part, data_root)
        for encoder, part in zip(recipe.parts, tokenizer.parts, strict=True)
    ]
    return MixedModel.of(parts, recipe.combine)


def build_config(arguments: ModelArguments, vocab_size: int) -> PreTrainedConfig:
    """Return the configuration of an encoder. Raise RecipeError for a key that it does not have."""
    config_class, plain = encoder_class(arguments.kind).config_class, ModelArguments()
    known = _fields(config_class)
    given: dict[str, Any] = {}
    for name, value in dataclasses.asdict(arguments).items():
        if value is None or name in ("kind", "vectors", "bad_vectors", "options"):
            continue
        if name in known:
            given[name] = value
        elif value != getattr(plain, name):  # a user's own encoder may lack packaged keys
            kinds = [kind for kind, it in FAMILIES.items() if name in _fields(it.config_class)]
            raise RecipeError(
                f"model.{name} ({value!r}) does not apply to model.kind {arguments.kind}. "
                f"Remove model.{name}, or set model.kind to {' or '.join(kinds)}"
            )
    for name in arguments.options:
        if name not in known:
            raise RecipeError(f"model.options has no {name}. {nearest_name(name, sorted(known))}")
    try:
        return config_class(**{**given, **arguments.options, "vocab_size": vocab_size})
    except (StrictDataclassError, ValueError, TypeError) as error:
        raise RecipeError(f"model: {error.__cause__ or error}") from error


def _fields(config_class: type) -> set[str]:
    return {field.name for field in dataclasses.fields(config_class)}


def _check_tokenizer(encoder: EncoderArguments) -> None:
    kind, marks = encoder.tokenizer.kind, encoder.tokenizer.marks
    model_class = encoder_class(encoder.model.kind)
    if kind not in (model_class.tokenizer_kinds or [kind]):
        raise RecipeError(
            f"model.kind {encoder.model.kind} cannot read tokenizer.kind {kind}. Set "
            f"tokenizer.kind to {' or '.join(model_class.tokenizer_kinds)}"
        )
    if marks != "none" and kind == "char_ngram":
        raise RecipeError(
            f"tokenizer.marks ({marks}) cannot be used with tokenizer.kind char_ngram, which "
            "already marks the ends of a text with spaces. Remove tokenizer.marks"
        )
    if marks != "none" and model_class.ignores_order:
        readers = [kind for kind, model in FAMILIES.items() if not model.ignores_order]
        raise RecipeError(
            f"tokenizer.marks ({marks}) has no effect with model.kind {encoder.model.kind}, which "
            "ignores word order. Remove tokenizer.marks, or set model.kind to "
            f"{', '.join(readers)}"
        )


def build_encoder(
    arguments: ModelArguments, tokenizer: TextTokenizer, data_root: str | Path | None
) -> SentenceEncoderModel:
    """Build an encoder with the vectors of `model.vectors`, or with random vectors."""
    config = build_config(arguments, tokenizer.vocab_size)
    model_class = encoder_class(arguments.kind)
    check_memory(model_class, config)
    model = model_class(config)
    if arguments.vectors is not None:
        path = resolve_vectors(arguments.vectors, data_root)
        start_from_vectors(model, tokenizer, path, bad_rows=arguments.bad_vectors)
    return model
