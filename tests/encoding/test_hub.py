"""Loading a model by Hub name, from the small server of `tests/hub.py`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests import fresh
from tests.hub import environment, folder_files, serve

PROGRAM = """
import sys
import numpy as np
from paraphrastic_hf import SentenceEncoder
np.save(sys.argv[2], SentenceEncoder.from_pretrained(sys.argv[1]).encode(["the cat sleeps"]))
"""


@pytest.fixture
def encoder(subword: SubwordTokenizer) -> SentenceEncoder:
    config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8)
    return SentenceEncoder(AveragingModel(config), subword)


@pytest.fixture
def endpoint(encoder: SentenceEncoder, tmp_path: Path) -> Iterator[str]:
    encoder.save_pretrained(tmp_path / "served")
    with serve({"models/someone/sp": folder_files(tmp_path / "served")}) as address:
        yield address


def load(name: str, endpoint: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    variables = environment(endpoint, tmp_path / "home")
    return fresh.run(PROGRAM, name, str(tmp_path / "vector.npy"), environment=variables)


def test_a_hub_name_loads_the_same_model(
    encoder: SentenceEncoder, endpoint: str, tmp_path: Path
) -> None:
    done = load("someone/sp", endpoint, tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = encoder.encode(["the cat sleeps"])
    np.testing.assert_array_equal(np.load(tmp_path / "vector.npy"), expected)


def test_a_name_that_is_nowhere_is_a_clear_error(endpoint: str, tmp_path: Path) -> None:
    done = load("someone/absent", endpoint, tmp_path)
    assert (
        "ModelError: someone/absent is neither a model directory nor a Hub repository"
        in done.stderr
    )
