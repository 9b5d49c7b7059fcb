"""Paraphrastic representations: sentences that mean the same lie near each other.

Importing this package registers its models with transformers' Auto classes. It imports neither
torch nor transformers itself; the public names load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.extras import missing_extra
from paraphrastic_hf.registration import register_on_first_use

if TYPE_CHECKING:
    from paraphrastic_hf.data.load import load_dataset
    from paraphrastic_hf.encoding.encoder import SentenceEncoder
    from paraphrastic_hf.encoding.locate import packaged_model
    from paraphrastic_hf.encoding.predict import SentencePredictor
    from paraphrastic_hf.encoding.tagger import Tagger
    from paraphrastic_hf.metrics.scorer import SimileScorer
    from paraphrastic_hf.mining.bitext import mine
    from paraphrastic_hf.models.averaging import AveragingConfig, AveragingModel

__version__ = "0.1.0"

_PUBLIC = {
    "load_dataset": "paraphrastic_hf.data.load",
    "SentenceEncoder": "paraphrastic_hf.encoding.encoder",
    "packaged_model": "paraphrastic_hf.encoding.locate",
    "SentencePredictor": "paraphrastic_hf.encoding.predict",
    "SimileScorer": "paraphrastic_hf.metrics.scorer",
    "Tagger": "paraphrastic_hf.encoding.tagger",
    "mine": "paraphrastic_hf.mining.bitext",
    "AveragingConfig": "paraphrastic_hf.models.averaging",
    "AveragingModel": "paraphrastic_hf.models.averaging",
}
__all__ = [
    "AveragingConfig",
    "AveragingModel",
    "SentenceEncoder",
    "SentencePredictor",
    "SimileScorer",
    "Tagger",
    "__version__",
    "load_dataset",
    "mine",
    "packaged_model",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_PUBLIC[name])
    except ModuleNotFoundError as error:
        raise missing_extra(error) or error from None
    return getattr(module, name)


register_on_first_use()
