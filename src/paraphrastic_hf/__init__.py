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
    from paraphrastic_hf.metrics.scorer import SimileScorer
    from paraphrastic_hf.mining.bitext import mine
    from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
    from paraphrastic_hf.models.encoders.char_cnn import CharCnnConfig, CharCnnModel
    from paraphrastic_hf.models.encoders.charagram import CharagramConfig, CharagramModel
    from paraphrastic_hf.models.encoders.gated import GatedConfig, GatedModel
    from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
    from paraphrastic_hf.models.encoders.projection import ProjectionConfig, ProjectionModel
    from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig, RecurrentModel
    from paraphrastic_hf.models.encoders.weighted import WeightedConfig, WeightedModel
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

__version__ = "0.1.0"

_PUBLIC = {
    "load_dataset": "paraphrastic_hf.corpora.load",
    "TokenContributions": "paraphrastic_hf.encoders.contributions",
    "token_contributions": "paraphrastic_hf.encoders.contributions",
    "SentenceEncoder": "paraphrastic_hf.encoders.encoder",
    "packaged_model": "paraphrastic_hf.encoders.storage.locate",
    "SentenceParser": "paraphrastic_hf.predictors.parser",
    "SentencePredictor": "paraphrastic_hf.predictors.predict",
    "Tagger": "paraphrastic_hf.predictors.tagger",
    "evaluate": "paraphrastic_hf.evaluation.run",
    "evaluate_pairs": "paraphrastic_hf.evaluation.own",
    "LatentGenerator": "paraphrastic_hf.generation.latent",
    "LanguageScorer": "paraphrastic_hf.generation.likelihood",
    "Paraphrase": "paraphrastic_hf.generation.paraphrase_filter",
    "SyntacticParaphraser": "paraphrastic_hf.generation.paraphrase",
    "Translator": "paraphrastic_hf.generation.translate",
    "GenerationOptions": "paraphrastic_hf.generation.writing",
    "GeneratedText": "paraphrastic_hf.generation.writing",
    "SimileScorer": "paraphrastic_hf.metrics.scorer",
    "mine": "paraphrastic_hf.mining.bitext",
    "AveragingConfig": "paraphrastic_hf.models.encoders.averaging",
    "AveragingModel": "paraphrastic_hf.models.encoders.averaging",
    "BGTConfig": "paraphrastic_hf.models.generative.bgt",
    "BGTModel": "paraphrastic_hf.models.generative.bgt",
    "MGTConfig": "paraphrastic_hf.models.generative.mgt",
    "MGTModel": "paraphrastic_hf.models.generative.mgt",
    "CharCnnConfig": "paraphrastic_hf.models.encoders.char_cnn",
    "CharCnnModel": "paraphrastic_hf.models.encoders.char_cnn",
    "CharagramConfig": "paraphrastic_hf.models.encoders.charagram",
    "CharagramModel": "paraphrastic_hf.models.encoders.charagram",
    "register_encoder": "paraphrastic_hf.models.register",
    "ClassifierConfig": "paraphrastic_hf.models.supervised.classifier",
    "ClassifierModel": "paraphrastic_hf.models.supervised.classifier",
    "GatedConfig": "paraphrastic_hf.models.encoders.gated",
    "GatedModel": "paraphrastic_hf.models.encoders.gated",
    "GatedConvConfig": "paraphrastic_hf.models.seq2seq.gated_conv",
    "GatedConvModel": "paraphrastic_hf.models.seq2seq.gated_conv",
    "LanguageModel": "paraphrastic_hf.models.seq2seq.language_model",
    "LanguageModelConfig": "paraphrastic_hf.models.seq2seq.language_model",
    "MixedConfig": "paraphrastic_hf.models.encoders.mixed",
    "MixedModel": "paraphrastic_hf.models.encoders.mixed",
    "ParaphraserConfig": "paraphrastic_hf.models.seq2seq.paraphraser",
    "ParaphraserModel": "paraphrastic_hf.models.seq2seq.paraphraser",
    "ParserConfig": "paraphrastic_hf.models.supervised.parser",
    "ParserModel": "paraphrastic_hf.models.supervised.parser",
    "ProjectionConfig": "paraphrastic_hf.models.encoders.projection",
    "ProjectionModel": "paraphrastic_hf.models.encoders.projection",
    "RecurrentConfig": "paraphrastic_hf.models.encoders.recurrent",
    "RecurrentModel": "paraphrastic_hf.models.encoders.recurrent",
    "RelatednessConfig": "paraphrastic_hf.models.supervised.relatedness",
    "RelatednessModel": "paraphrastic_hf.models.supervised.relatedness",
    "ScpnConfig": "paraphrastic_hf.models.seq2seq.scpn",
    "ScpnModel": "paraphrastic_hf.models.seq2seq.scpn",
    "TaggerConfig": "paraphrastic_hf.models.supervised.tagger",
    "TaggerModel": "paraphrastic_hf.models.supervised.tagger",
    "WeightedConfig": "paraphrastic_hf.models.encoders.weighted",
    "WeightedModel": "paraphrastic_hf.models.encoders.weighted",
    "Recipe": "paraphrastic_hf.training.kinds",
    "load_recipe": "paraphrastic_hf.training.kinds",
    "train": "paraphrastic_hf.training.engine.run",
    "tune": "paraphrastic_hf.training.search",
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
