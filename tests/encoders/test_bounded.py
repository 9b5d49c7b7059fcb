"""A model directory cannot cause more memory and time use than its weights file warrants."""

import json
import shutil
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import ModelError, ParaphrasticError
from paraphrastic_hf.text.word import WordTokenizer
from tests.bert import save_bert
from tests.robustness.subjects import SUBJECTS

FAMILIES = (
    *("word", "recurrent", "mixture", "relatedness", "entailment", "tagging", "parsing"),
    *("language_model", "bgt", "mgt", "marian", "gated_conv", "scpn"),
)
LAYERS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_layers", "layers")
SECONDS = 20  # on a busy machine; a model of a million layers takes minutes


def counts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every integer in a config, with its container and key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(items):
        if isinstance(each, (dict, list)):
            yield from counts(each)
        elif type(each) is int:
            yield value, key


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_counts_in_a_config_are_bounded(family, tmp_path):
    """Each count is set to a million and to 10^12. Either must be refused quickly or read
    correctly."""
    subject, good = SUBJECTS[family], tmp_path / "good"
    good.mkdir()
    subject.make(good)
    config = json.loads((good / "config.json").read_text())
    refused = []
    for holder, key in counts(config):
        right = holder[key]
        for wrong in (10**6, 10**12):
            holder[key] = wrong
            shutil.copytree(good, tmp_path / "bad")
            (tmp_path / "bad" / "config.json").write_text(json.dumps(config))
            start = time.monotonic()
            try:
                subject.read(tmp_path / "bad")
            except ParaphrasticError:
                refused.append((key, wrong))
            assert time.monotonic() - start < SECONDS, (key, wrong)
            shutil.rmtree(tmp_path / "bad")
        holder[key] = right
    assert {wrong for _, wrong in refused} == {10**6, 10**12}
    for key in set(config) & set(LAYERS):
        assert {(key, 10**6), (key, 10**12)} <= set(refused)


@pytest.mark.parametrize("normalize", [False, True])
def test_overflowing_vectors_are_refused(normalize):
    rows = np.array([[0, 0], [0, 0], [3e38, 3e38], [1e30, -1e30]], np.float32)
    encoder = SentenceEncoder.from_table(rows, WordTokenizer(["cat", "dog"]), "huge")
    with pytest.raises(ModelError):
        encoder.encode(["cat cat", "dog"], normalize_embeddings=normalize)
    found = encoder.encode(["dog", "cat", ""], normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0], rtol=1e-6)


@pytest.mark.parametrize("name", ["relatedness", "entailment", "language_model"])
def test_overflowing_predictions_are_refused(name, tmp_path):
    SUBJECTS[name].make(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    save_file({k: v * 0 + 3e38 for k, v in weights.items()}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError):
        SUBJECTS[name].read(tmp_path)


@pytest.mark.parametrize("count", [10**6, 10**12])
def test_layers_of_sentence_transformers_models_are_bounded(count, tmp_path):
    pytest.importorskip("sentence_transformers")
    model = save_bert(tmp_path)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"num_hidden_layers": count}))
    with pytest.raises(ModelError):
        load_encoder(str(model))
