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
    from paraphrastic_hf.corpora.load import load_dataset as load_dataset
    from paraphrastic_hf.encoders.contributions import TokenContributions as TokenContributions
    from paraphrastic_hf.encoders.contributions import token_contributions as token_contributions
    from paraphrastic_hf.encoders.encoder import SentenceEncoder as SentenceEncoder
    from paraphrastic_hf.encoders.storage.locate import packaged_model as packaged_model
    from paraphrastic_hf.evaluation.own import evaluate_pairs as evaluate_pairs
    from paraphrastic_hf.evaluation.run import evaluate as evaluate
    from paraphrastic_hf.generation.latent import LatentGenerator as LatentGenerator
    from paraphrastic_hf.generation.likelihood import LanguageScorer as LanguageScorer
    from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser as SyntacticParaphraser
    from paraphrastic_hf.generation.templates import Paraphrase as Paraphrase
    from paraphrastic_hf.generation.translate import Translator as Translator
    from paraphrastic_hf.generation.writing import GeneratedText as GeneratedText
    from paraphrastic_hf.generation.writing import GenerationOptions as GenerationOptions
    from paraphrastic_hf.metrics.quality import QualityEstimator as QualityEstimator
    from paraphrastic_hf.metrics.scorer import SimileScorer as SimileScorer
    from paraphrastic_hf.mining.alignment import align as align
    from paraphrastic_hf.mining.bitext import mine as mine
    from paraphrastic_hf.models.encoders.averaging import AveragingConfig as AveragingConfig
    from paraphrastic_hf.models.encoders.averaging import AveragingModel as AveragingModel
    from paraphrastic_hf.models.encoders.char_cnn import CharCnnConfig as CharCnnConfig
    from paraphrastic_hf.models.encoders.char_cnn import CharCnnModel as CharCnnModel
    from paraphrastic_hf.models.encoders.charagram import CharagramConfig as CharagramConfig
    from paraphrastic_hf.models.encoders.charagram import CharagramModel as CharagramModel
    from paraphrastic_hf.models.encoders.gated import GatedConfig as GatedConfig
    from paraphrastic_hf.models.encoders.gated import GatedModel as GatedModel
    from paraphrastic_hf.models.encoders.mixed import MixedConfig as MixedConfig
    from paraphrastic_hf.models.encoders.mixed import MixedModel as MixedModel
    from paraphrastic_hf.models.encoders.projection import ProjectionConfig as ProjectionConfig
    from paraphrastic_hf.models.encoders.projection import ProjectionModel as ProjectionModel
    from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig as RecurrentConfig
    from paraphrastic_hf.models.encoders.recurrent import RecurrentModel as RecurrentModel
    from paraphrastic_hf.models.encoders.weighted import WeightedConfig as WeightedConfig
    from paraphrastic_hf.models.encoders.weighted import WeightedModel as WeightedModel
    from paraphrastic_hf.models.encoders.window import WindowConfig as WindowConfig
    from paraphrastic_hf.models.encoders.window import WindowModel as WindowModel
    from paraphrastic_hf.models.generative.bgt import BGTConfig as BGTConfig
    from paraphrastic_hf.models.generative.bgt import BGTModel as BGTModel
    from paraphrastic_hf.models.generative.mgt import MGTConfig as MGTConfig
    from paraphrastic_hf.models.generative.mgt import MGTModel as MGTModel
    from paraphrastic_hf.models.register import register_encoder as register_encoder
    from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig as GatedConvConfig
    from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvModel as GatedConvModel
    from paraphrastic_hf.models.seq2seq.language_model import LanguageModel as LanguageModel
    from paraphrastic_hf.models.seq2seq.language_model import (
        LanguageModelConfig as LanguageModelConfig,
    )
    from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig as ParaphraserConfig
    from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserModel as ParaphraserModel
    from paraphrastic_hf.models.seq2seq.scpn import ScpnConfig as ScpnConfig
    from paraphrastic_hf.models.seq2seq.scpn import ScpnModel as ScpnModel
    from paraphrastic_hf.models.supervised.classifier import ClassifierConfig as ClassifierConfig
    from paraphrastic_hf.models.supervised.classifier import ClassifierModel as ClassifierModel
    from paraphrastic_hf.models.supervised.parser import ParserConfig as ParserConfig
    from paraphrastic_hf.models.supervised.parser import ParserModel as ParserModel
    from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig as RelatednessConfig
    from paraphrastic_hf.models.supervised.relatedness import RelatednessModel as RelatednessModel
    from paraphrastic_hf.models.supervised.tagger import TaggerConfig as TaggerConfig
    from paraphrastic_hf.models.supervised.tagger import TaggerModel as TaggerModel
    from paraphrastic_hf.predictors.parser import SentenceParser as SentenceParser
    from paraphrastic_hf.predictors.predict import SentencePredictor as SentencePredictor
    from paraphrastic_hf.predictors.tagger import Tagger as Tagger
    from paraphrastic_hf.training.engine.run import train as train
    from paraphrastic_hf.training.kinds import Recipe as Recipe
    from paraphrastic_hf.training.kinds import load_recipe as load_recipe
    from paraphrastic_hf.training.search import tune as tune

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
    "generation.templates": "Paraphrase",
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
__all__ = [*sorted(_PUBLIC), "__version__"]


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
