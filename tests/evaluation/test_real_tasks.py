from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.evaluation.suites.probing import probe, read_probe
from paraphrastic_hf.evaluation.suites.transfer import TASKS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def english() -> SentenceEncoder:
    return SentenceEncoder.from_pretrained("english")


def test_mrpc_of_the_packaged_model(english: SentenceEncoder, official: Path) -> None:
    (row,) = TASKS["MRPC"](english, official)
    assert row.size == 1725
    assert 70 < row.scores["accuracy"] < 74
    assert 79 < row.scores["F1"] < 83


def test_the_packaged_model_encodes_tense_but_not_order(
    english: SentenceEncoder, official: Path
) -> None:
    assert 75 < probe(english, read_probe("past_present", official)) < 85
    assert 48 < probe(english, read_probe("coordination_inversion", official)) < 53
