"""Encoders, one family a file. The families over one table are listed in `families.py`."""

from __future__ import annotations

from paraphrastic_hf.extras import require

require("train", "torch", "transformers", what="a model as a torch module")

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.families import FAMILIES
from paraphrastic_hf.models.generative.bgt import BGTModel
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.mgt import MGTModel
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel, LanguageModelConfig
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnModel
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.models.supervised.classifier import ClassifierModel
from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessModel
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.mixed_auto import MixtureTokenizer

MODEL_CLASSES: tuple[type[SentenceEncoderModel], ...] = (*FAMILIES.values(), MixedModel)
GENERATIVE: tuple[type[LatentModel], ...] = (BGTModel, MGTModel)
SENTENCE_TASKS: tuple[type[SupervisedModel], ...] = (RelatednessModel, ClassifierModel)

for _model_class in (*MODEL_CLASSES, *GENERATIVE):
    _config_class = _model_class.config_class
    AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
    AutoModel.register(_config_class, _model_class, exist_ok=True)

for _generative_class in GENERATIVE:
    AutoModelForSeq2SeqLM.register(_generative_class.config_class, _generative_class, exist_ok=True)

for _task_class in SENTENCE_TASKS:
    _config_class = _task_class.config_class
    AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
    AutoModelForSequenceClassification.register(_config_class, _task_class, exist_ok=True)

AutoConfig.register(TaggerConfig.model_type, TaggerConfig, exist_ok=True)
AutoModelForTokenClassification.register(TaggerConfig, TaggerModel, exist_ok=True)

AutoConfig.register(ParserConfig.model_type, ParserConfig, exist_ok=True)
AutoModelForTokenClassification.register(ParserConfig, ParserModel, exist_ok=True)

AutoConfig.register(LanguageModelConfig.model_type, LanguageModelConfig, exist_ok=True)
AutoModelForCausalLM.register(LanguageModelConfig, LanguageModel, exist_ok=True)

for _writer in (GatedConvModel, ParaphraserModel, ScpnModel):
    AutoConfig.register(_writer.config_class.model_type, _writer.config_class, exist_ok=True)
    AutoModelForSeq2SeqLM.register(_writer.config_class, _writer, exist_ok=True)

# The other tokenizers are stock classes. Any config will do: it is found by its own name.
AutoTokenizer.register(AveragingConfig, slow_tokenizer_class=CharNgramTokenizer, exist_ok=True)
AutoTokenizer.register(MixedConfig, slow_tokenizer_class=MixtureTokenizer, exist_ok=True)
