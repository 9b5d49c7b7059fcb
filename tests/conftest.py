"""Settings and fixtures of all tests."""

import os
import tempfile

# Tests do not reach the network, and code copied by `trust_remote_code=True` stays out of the
# user's cache. transformers reads both variables at import, so this comes first.
# ruff: noqa: E402
os.environ["HF_HUB_OFFLINE"] = "1"
# Tests run on the CPU, except in `make test-gpu`.
if os.environ.get("TEST_GPU") != "1":
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
_remote_code = tempfile.TemporaryDirectory(prefix="remote-code-")
os.environ["HF_MODULES_CACHE"] = _remote_code.name
# Matrices are small and tests run in parallel, so more threads would slow them down. Libraries read
# these when they are loaded, also in child processes.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import pytest
import torch
from hypothesis import settings

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.texts import SENTENCES

# Times depend on the machine, and a run must be repeatable.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=100
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def sentences():
    return SENTENCES


@pytest.fixture(scope="session")
def subword(sentences):
    """A SentencePiece tokenizer with every character of `sentences`, even `<`."""
    return SubwordTokenizer.train(sentences, vocab_size=400, character_coverage=1.0)


@pytest.fixture(scope="session")
def word(sentences):
    return WordTokenizer.train(sentences, vocab_size=150)


@pytest.fixture(scope="session")
def char_ngram(sentences):
    return CharNgramTokenizer.train(sentences, vocab_size=400)


@pytest.fixture(scope="session")
def english() -> SentenceEncoder:
    """The packaged model. Tests do not change it."""
    return SentenceEncoder.from_pretrained("english")


@pytest.fixture
def model():
    torch.manual_seed(0)
    return AveragingModel(AveragingConfig(vocab_size=20, hidden_size=6)).eval()
