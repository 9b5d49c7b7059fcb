from __future__ import annotations

import os
from pathlib import Path

import pytest

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.evaluation.suites.probing import probe, read_probe
from paraphrastic_hf.evaluation.suites.transfer import TASKS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data_dir() -> Path:
    root = os.environ.get("PARAPHRASTIC_DATA")
    if root is None:
        pytest.skip("PARAPHRASTIC_DATA is not set")
    return Path(root) / "eval"


@pytest.fixture(scope="module")
def english() -> SentenceEncoder:
    return SentenceEncoder.from_pretrained("english")


def test_mrpc_of_the_packaged_model(english: SentenceEncoder, data_dir: Path) -> None:
    (row,) = TASKS["MRPC"](english, data_dir)
    assert row.size == 1725
    assert 70 < row.scores["accuracy"] < 74
    assert 79 < row.scores["F1"] < 83


def test_the_packaged_model_encodes_tense_but_not_order(
    english: SentenceEncoder, data_dir: Path
) -> None:
    assert 75 < probe(english, read_probe("past_present", data_dir)) < 85
    assert 48 < probe(english, read_probe("coordination_inversion", data_dir)) < 53
