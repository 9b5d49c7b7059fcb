"""Public names load lazily and have types."""

from __future__ import annotations

import subprocess
import sys

import pytest

import paraphrastic_hf
from paraphrastic_hf.models import GENERATIVE, SENTENCE_TASKS
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel
from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserModel
from paraphrastic_hf.models.seq2seq.scpn import ScpnModel
from paraphrastic_hf.models.supervised.parser import ParserModel
from paraphrastic_hf.models.supervised.tagger import TaggerModel

OTHERS = [
    *(TaggerModel, LanguageModel, GatedConvModel),
    *(ParaphraserModel, ScpnModel, ParserModel),
]
# Encoders are found by their kind (`models/families.py`), so that they need no public name.
MODELS = [*GENERATIVE, *SENTENCE_TASKS, *OTHERS]
LAZY = """
import sys
import paraphrastic_hf
assert {"train", "evaluate", "SentenceEncoder"} <= set(dir(paraphrastic_hf))
assert not {"numpy", "torch", "transformers", "datasets", "sklearn"} & set(sys.modules)
"""


@pytest.mark.parametrize("name", paraphrastic_hf.__all__)
def test_a_public_name_is_listed_and_can_be_imported(name: str) -> None:
    assert name in dir(paraphrastic_hf)
    assert getattr(paraphrastic_hf, name) is not None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_and_its_configuration_is_public(model: type) -> None:
    for each in (model, model.config_class):
        assert getattr(paraphrastic_hf, each.__name__) is each


def test_the_package_imports_no_slow_library() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)
