"""Encoder families (thesis, 3.1.2, 3.6.2, 4.4 and 5.1.1), by their value of `model.kind` in
recipes.

A new family needs a file in `models/encoders/`, named after its kind, and a line here. Families
outside this package use `register_encoder`.
"""

from __future__ import annotations

from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingModel
from paraphrastic_hf.models.encoders.char_cnn import CharCnnModel
from paraphrastic_hf.models.encoders.charagram import CharagramModel
from paraphrastic_hf.models.encoders.gated import GatedModel
from paraphrastic_hf.models.encoders.projection import ProjectionModel
from paraphrastic_hf.models.encoders.recurrent import RecurrentModel
from paraphrastic_hf.models.encoders.weighted import WeightedModel

FAMILIES: dict[str, type[SentenceEncoderModel]] = {
    "averaging": AveragingModel,
    "weighted": WeightedModel,
    "projection": ProjectionModel,
    "recurrent": RecurrentModel,
    "gated": GatedModel,
    "charagram": CharagramModel,
    "char_cnn": CharCnnModel,
}


def families_by_type() -> dict[str, type[SentenceEncoderModel]]:
    """Return the families by the `model_type` of their configurations."""
    return {model.config_class.model_type: model for model in FAMILIES.values()}
