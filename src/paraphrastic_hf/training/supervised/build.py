"""Build the initial model of a supervised recipe: an encoder and a new head."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.training.encoder.build import build_encoder
from paraphrastic_hf.training.encoder.start import settings_from_start
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe
from paraphrastic_hf.training.supervised.tasks import SupervisedTask


def build_supervised(
    recipe: SupervisedRecipe,
    task: SupervisedTask,
    tokenizer: TextTokenizer,
    start: SentenceEncoder | None,
    data_root: str | Path | None = None,
) -> SupervisedModel:
    """Return the initial model of a recipe, frozen as `training.freeze` asks."""
    if start is None:
        encoder: SentenceEncoderModel = build_encoder(recipe.model, tokenizer, data_root)
    else:
        encoder = with_parts(start.model, recipe, tokenizer, data_root)
    settings = settings_from_start(encoder, recipe.model)
    try:
        model = task.new_model(settings)
    except StrictDataclassError as error:
        raise RecipeError(f"head: {error.__cause__ or error}") from error
    model.encoder.load_state_dict(encoder.state_dict())
    if recipe.training.freeze == "encoder":
        model.encoder.requires_grad_(False)
    elif recipe.training.freeze == "tables":
        for table in model.tables():
            table.requires_grad_(False)
    return model


def with_parts(
    encoder: SentenceEncoderModel,
    recipe: SupervisedRecipe,
    tokenizer: TextTokenizer,
    data_root: str | Path | None,
) -> SentenceEncoderModel:
    """Return a trained encoder, concatenated with the recipe's parts if it has any."""
    if not isinstance(tokenizer, MixedTokenizer) or not recipe.parts:
        return encoder
    if isinstance(encoder, MixedModel):
        raise RecipeError(
            f"start ({recipe.start}) is a mixture, which cannot be extended: remove parts"
        )
    made = [
        build_encoder(part.model, part_tokenizer, data_root)
        for part, part_tokenizer in zip(recipe.parts, tokenizer.parts[1:], strict=True)
    ]
    parts = [encoder, *made]
    model = MixedModel(MixedConfig.of([part.config for part in parts], "concatenate"))  # type: ignore[misc]
    for ours, part in zip(model.parts, parts, strict=True):
        ours.load_state_dict(part.state_dict())
    return model
