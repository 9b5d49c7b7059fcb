"""Encoder families, keyed by the value of `model.kind` in recipes.

A new family needs a file in `models/encoders/` with the name of its kind, and a line here. Families
outside this package use `register_encoder`.
"""

from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingModel
from paraphrastic_hf.models.encoders.char_cnn import CharCnnModel
from paraphrastic_hf.models.encoders.charagram import CharagramModel
from paraphrastic_hf.models.encoders.gated import GatedModel
from paraphrastic_hf.models.encoders.projection import ProjectionModel
from paraphrastic_hf.models.encoders.recurrent import RecurrentModel
from paraphrastic_hf.models.encoders.weighted import WeightedModel
from paraphrastic_hf.models.encoders.window import WindowModel

FAMILIES: dict[str, type[SentenceEncoderModel]] = {
    "averaging": AveragingModel,
    "weighted": WeightedModel,
    "window": WindowModel,
    "projection": ProjectionModel,
    "recurrent": RecurrentModel,
    "gated": GatedModel,
    "charagram": CharagramModel,
    "char_cnn": CharCnnModel,
}


def families_by_type() -> dict[str, type[SentenceEncoderModel]]:
    """Return the families, keyed by the `model_type` of their configurations."""
    return {model.config_class.model_type: model for model in FAMILIES.values()}
