"""Public names load lazily and have types."""

import subprocess
import sys

import pytest

import paraphrastic_hf
from paraphrastic_hf.models import GENERATIVE, SENTENCE_TASKS

# Encoders are found by their kind (`models/families.py`), so that they need no public name.
MODELS = [
    *(model.__name__ for model in (*GENERATIVE, *SENTENCE_TASKS)),
    *("TaggerModel", "ParserModel", "LanguageModel", "GatedConvModel", "ParaphraserModel"),
    "ScpnModel",
]
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


@pytest.mark.parametrize("name", MODELS)
def test_every_model_and_its_configuration_is_public(name):
    config = getattr(paraphrastic_hf, name).config_class
    assert getattr(paraphrastic_hf, config.__name__) is config


def test_the_package_imports_no_slow_library():
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)
