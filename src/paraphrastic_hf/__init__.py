"""Sentence embeddings that place paraphrases close together.

Importing this package registers its models with transformers' Auto classes, without importing torch
or transformers. Public names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.extras import missing_extra
from paraphrastic_hf.registration import register_on_first_use

if TYPE_CHECKING:
    from paraphrastic_hf.corpora.load import load_dataset
    from paraphrastic_hf.encoders.contributions import TokenContributions, token_contributions
    from paraphrastic_hf.encoders.encoder import SentenceEncoder
    from paraphrastic_hf.encoders.storage.locate import packaged_model
    from paraphrastic_hf.evaluation.own import evaluate_pairs
    from paraphrastic_hf.evaluation.run import evaluate
    from paraphrastic_hf.generation.latent import LatentGenerator
    from paraphrastic_hf.generation.likelihood import LanguageScorer
    from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
    from paraphrastic_hf.generation.paraphrase_filter import Paraphrase
    from paraphrastic_hf.generation.translate import Translator
    from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
    from paraphrastic_hf.metrics.quality import QualityEstimator
    from paraphrastic_hf.metrics.scorer import SimileScorer
    from paraphrastic_hf.mining.alignment import align
    from paraphrastic_hf.mining.bitext import mine
    from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
    from paraphrastic_hf.models.encoders.char_cnn import CharCnnConfig, CharCnnModel
    from paraphrastic_hf.models.encoders.charagram import CharagramConfig, CharagramModel
    from paraphrastic_hf.models.encoders.gated import GatedConfig, GatedModel
    from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
    from paraphrastic_hf.models.encoders.projection import ProjectionConfig, ProjectionModel
    from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig, RecurrentModel
    from paraphrastic_hf.models.encoders.weighted import WeightedConfig, WeightedModel
    from paraphrastic_hf.models.encoders.window import WindowConfig, WindowModel
    from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
    from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
    from paraphrastic_hf.models.register import register_encoder
    from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig, GatedConvModel
    from paraphrastic_hf.models.seq2seq.language_model import LanguageModel, LanguageModelConfig
    from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig, ParaphraserModel
    from paraphrastic_hf.models.seq2seq.scpn import ScpnConfig, ScpnModel
    from paraphrastic_hf.models.supervised.classifier import ClassifierConfig, ClassifierModel
    from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
    from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
    from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
    from paraphrastic_hf.predictors.parser import SentenceParser
    from paraphrastic_hf.predictors.predict import SentencePredictor
    from paraphrastic_hf.predictors.tagger import Tagger
    from paraphrastic_hf.training.engine.run import train
    from paraphrastic_hf.training.kinds import Recipe, load_recipe
    from paraphrastic_hf.training.search import tune

__version__ = "0.2.0"

_MODULES = {  # public names by module
    "corpora.load": "load_dataset",
    "encoders.contributions": "TokenContributions token_contributions",
    "encoders.encoder": "SentenceEncoder",
    "encoders.storage.locate": "packaged_model",
    "evaluation.own": "evaluate_pairs",
    "evaluation.run": "evaluate",
    "generation.latent": "LatentGenerator",
    "generation.likelihood": "LanguageScorer",
    "generation.paraphrase": "SyntacticParaphraser",
    "generation.paraphrase_filter": "Paraphrase",
    "generation.translate": "Translator",
    "generation.writing": "GeneratedText GenerationOptions",
    "metrics.quality": "QualityEstimator",
    "metrics.scorer": "SimileScorer",
    "mining.alignment": "align",
    "mining.bitext": "mine",
    "models.encoders.averaging": "AveragingConfig AveragingModel",
    "models.encoders.char_cnn": "CharCnnConfig CharCnnModel",
    "models.encoders.charagram": "CharagramConfig CharagramModel",
    "models.encoders.gated": "GatedConfig GatedModel",
    "models.encoders.mixed": "MixedConfig MixedModel",
    "models.encoders.projection": "ProjectionConfig ProjectionModel",
    "models.encoders.recurrent": "RecurrentConfig RecurrentModel",
    "models.encoders.weighted": "WeightedConfig WeightedModel",
    "models.encoders.window": "WindowConfig WindowModel",
    "models.generative.bgt": "BGTConfig BGTModel",
    "models.generative.mgt": "MGTConfig MGTModel",
    "models.register": "register_encoder",
    "models.seq2seq.gated_conv": "GatedConvConfig GatedConvModel",
    "models.seq2seq.language_model": "LanguageModel LanguageModelConfig",
    "models.seq2seq.paraphraser": "ParaphraserConfig ParaphraserModel",
    "models.seq2seq.scpn": "ScpnConfig ScpnModel",
    "models.supervised.classifier": "ClassifierConfig ClassifierModel",
    "models.supervised.parser": "ParserConfig ParserModel",
    "models.supervised.relatedness": "RelatednessConfig RelatednessModel",
    "models.supervised.tagger": "TaggerConfig TaggerModel",
    "predictors.parser": "SentenceParser",
    "predictors.predict": "SentencePredictor",
    "predictors.tagger": "Tagger",
    "training.engine.run": "train",
    "training.kinds": "Recipe load_recipe",
    "training.search": "tune",
}
_PUBLIC = {
    name: f"paraphrastic_hf.{module}"
    for module, names in _MODULES.items()
    for name in names.split()
}
__all__ = [
    "AveragingConfig",
    "AveragingModel",
    "BGTConfig",
    "BGTModel",
    "MGTConfig",
    "MGTModel",
    "CharCnnConfig",
    "CharCnnModel",
    "CharagramConfig",
    "CharagramModel",
    "ClassifierConfig",
    "ClassifierModel",
    "GatedConfig",
    "GatedConvConfig",
    "GatedConvModel",
    "GatedModel",
    "GeneratedText",
    "GenerationOptions",
    "LanguageModel",
    "LanguageModelConfig",
    "LanguageScorer",
    "LatentGenerator",
    "MixedConfig",
    "MixedModel",
    "Paraphrase",
    "ParaphraserConfig",
    "ParaphraserModel",
    "ParserConfig",
    "ParserModel",
    "ProjectionConfig",
    "ProjectionModel",
    "QualityEstimator",
    "Recipe",
    "RecurrentConfig",
    "RecurrentModel",
    "RelatednessConfig",
    "RelatednessModel",
    "ScpnConfig",
    "ScpnModel",
    "SentenceEncoder",
    "SentenceParser",
    "SentencePredictor",
    "SimileScorer",
    "SyntacticParaphraser",
    "Tagger",
    "TaggerConfig",
    "TaggerModel",
    "TokenContributions",
    "Translator",
    "WeightedConfig",
    "WeightedModel",
    "WindowConfig",
    "WindowModel",
    "align",
    "evaluate",
    "evaluate_pairs",
    "load_dataset",
    "load_recipe",
    "mine",
    "packaged_model",
    "register_encoder",
    "token_contributions",
    "train",
    "tune",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_PUBLIC[name])
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)


register_on_first_use()
