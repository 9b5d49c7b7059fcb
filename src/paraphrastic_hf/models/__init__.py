"""Models, one file per family."""

from typing import Any

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

from paraphrastic_hf.models.base import ParaphrasticModel, SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.families import FAMILIES
from paraphrastic_hf.models.generative.bgt import BGTModel
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.mgt import MGTModel
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnModel
from paraphrastic_hf.models.seq2seq.ssru import SsruModel
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.models.supervised.classifier import ClassifierModel
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessModel
from paraphrastic_hf.models.supervised.tagger import TaggerModel
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.mixed_auto import MixtureTokenizer

MODEL_CLASSES: tuple[type[SentenceEncoderModel], ...] = (*FAMILIES.values(), MixedModel)
GENERATIVE: tuple[type[LatentModel], ...] = (BGTModel, MGTModel)
SENTENCE_TASKS: tuple[type[SupervisedModel], ...] = (RelatednessModel, ClassifierModel)

_BY_AUTO_CLASS: dict[Any, tuple[type[ParaphrasticModel], ...]] = {
    AutoModel: (*MODEL_CLASSES, *GENERATIVE),
    AutoModelForSeq2SeqLM: (*GENERATIVE, GatedConvModel, ParaphraserModel, ScpnModel, SsruModel),
    AutoModelForSequenceClassification: SENTENCE_TASKS,
    AutoModelForTokenClassification: (TaggerModel, ParserModel),
    AutoModelForCausalLM: (LanguageModel,),
}
for _auto_class, _model_classes in _BY_AUTO_CLASS.items():
    for _model_class in _model_classes:
        _config_class = _model_class.config_class
        AutoConfig.register(_config_class.model_type, _config_class, exist_ok=True)
        _auto_class.register(_config_class, _model_class, exist_ok=True)

# Other tokenizers are stock classes. `register` uses only the config's class name.
AutoTokenizer.register(AveragingConfig, slow_tokenizer_class=CharNgramTokenizer, exist_ok=True)
AutoTokenizer.register(MixedConfig, slow_tokenizer_class=MixtureTokenizer, exist_ok=True)
