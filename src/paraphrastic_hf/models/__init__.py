"""Encoders, one family a file. `MODEL_CLASSES` is the registry: a new family adds its line here."""

from __future__ import annotations

from transformers import AutoConfig, AutoModel

from paraphrastic_hf.models.averaging import AveragingModel
from paraphrastic_hf.models.base import SentenceEncoderModel

MODEL_CLASSES: tuple[type[SentenceEncoderModel], ...] = (AveragingModel,)

for _model_class in MODEL_CLASSES:
    _config_class = _model_class.config_class
    AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
    AutoModel.register(_config_class, _model_class, exist_ok=True)
