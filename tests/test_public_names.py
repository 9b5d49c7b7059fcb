"""Public names load lazily and have types."""

import subprocess
import sys

import pytest

import paraphrastic_hf
from paraphrastic_hf import (
    GatedConvModel,
    LanguageModel,
    ParaphraserModel,
    ParserModel,
    ScpnModel,
    TaggerModel,
)
from paraphrastic_hf.models import GENERATIVE, SENTENCE_TASKS

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
def test_a_public_name_is_listed_and_can_be_imported(name):
    assert name in dir(paraphrastic_hf)
    assert getattr(paraphrastic_hf, name) is not None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_model_and_its_configuration_is_public(model):
    for each in (model, model.config_class):
        assert getattr(paraphrastic_hf, each.__name__) is each


def test_the_package_imports_no_slow_library():
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)
