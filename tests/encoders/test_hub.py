"""Loading models from the Hub and pushing them, with the server of `tests/hub/server.py`."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from paraphrastic_hf import (
    AveragingConfig,
    AveragingModel,
    LanguageModel,
    LanguageModelConfig,
    LanguageScorer,
    RelatednessConfig,
    RelatednessModel,
    SentenceEncoder,
    SentencePredictor,
    SimileScorer,
    Tagger,
    TaggerConfig,
    TaggerModel,
)
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests import fresh
from tests.hub.server import environment, folder_files, serve

TEXTS = ["the cat sleeps"]
PROGRAM = """
import json, sys
import numpy as np
from paraphrastic_hf import SentenceEncoder
encoder = SentenceEncoder.from_pretrained(sys.argv[1], **json.loads(sys.argv[3]))
np.save(sys.argv[2], encoder.encode(["the cat sleeps"]))
"""
EVERY_KIND = """
import sys
from paraphrastic_hf import LanguageScorer, SentencePredictor, SimileScorer, Tagger
from paraphrastic_hf.encoders.load import load_encoder
options = {"revision": "old", "cache_dir": sys.argv[1], "token": "hf_secret"}
assert LanguageScorer.from_pretrained("someone/language", **options).score(["the cat"]).nats < 0
assert SentencePredictor.from_pretrained("someone/scores", **options).predict(["a"], ["b"]) > 0
assert len(Tagger.from_pretrained("someone/tags", **options).tag([["the", "cat"]])[0]) == 2
assert load_encoder("someone/sp", **options).name == "sp"
assert SimileScorer("someone/sp", **options).score(["the cat"], ["the cat"]).score > 0.99
"""
PUSH = """
import sys
from paraphrastic_hf import SentenceEncoder
encoder = SentenceEncoder.from_pretrained(sys.argv[1])
print(encoder.push_to_hub("me/mine", private=True, commit_message="First"))
encoder.with_dimension(4).push_to_hub("me/small")
encoder.push_to_hub("me/packed", precision="int4")
"""


@pytest.fixture
def encoder(subword):
    torch.manual_seed(0)
    config = AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8)
    return SentenceEncoder(AveragingModel(config), subword)


@pytest.fixture
def served(encoder, tmp_path):
    """A model, and another on its branch `old`."""
    encoder.save_pretrained(tmp_path / "served")
    encoder.with_dimension(4).save_pretrained(tmp_path / "old")
    return {
        "models/someone/sp": folder_files(tmp_path / "served"),
        "models/someone/sp@old": folder_files(tmp_path / "old"),
    }


@pytest.fixture
def endpoint(served):
    with serve(served) as address:
        yield address


def load(
    name: str, endpoint: str, tmp_path: Path, **options: Any
) -> subprocess.CompletedProcess[str]:
    given = name, str(tmp_path / "vector.npy"), json.dumps(options)
    return fresh.run(PROGRAM, *given, environment=environment(endpoint, tmp_path / "home"))


@pytest.mark.slow
def test_a_revision_is_cached_and_loaded_offline(encoder, endpoint, tmp_path):
    options = {"revision": "old", "cache_dir": str(tmp_path / "cache")}
    done = load("someone/sp", endpoint, tmp_path, **options, local_files_only=True)
    assert "ModelError: someone/sp" in done.stderr
    for again in ({}, {"local_files_only": True}):
        done = load("someone/sp", endpoint, tmp_path, **options, **again)
        assert done.returncode == 0, done.stderr[-3000:]
        vector = np.load(tmp_path / "vector.npy")
        np.testing.assert_allclose(vector, encoder.encode(TEXTS)[:, :4], atol=1e-7)
    assert any((tmp_path / "cache").rglob("model.safetensors"))
    assert not any((tmp_path / "home").rglob("model.safetensors"))


@pytest.mark.slow
def test_every_kind_of_model_takes_hub_options(served, subword, tmp_path):
    words = WordTokenizer(["the", "cat"])
    inner = AveragingConfig(vocab_size=words.vocab_size, hidden_size=4).to_dict()
    marked = MarkedTokenizer(words, "both", opens_prompts=True)
    special = {"bos_token_id": marked.special.start, "eos_token_id": marked.special.end}
    config = LanguageModelConfig(vocab_size=marked.vocab_size, hidden_size=8, **special)
    made = {
        "scores": SentencePredictor(RelatednessModel(RelatednessConfig(encoder=inner)), words),
        "tags": Tagger(TaggerModel(TaggerConfig.of(inner, ["A", "B"], head_size=4)), words),
        "language": LanguageScorer(LanguageModel(config), marked),
    }
    for name, kind in made.items():
        kind.save_pretrained(tmp_path / name)
        served[f"models/someone/{name}@old"] = folder_files(tmp_path / name)
    tokens = {key.partition("@")[0]: "hf_secret" for key in served}
    with serve(served, tokens=tokens) as endpoint:
        for name in ("someone/sp", "someone/absent"):  # without a token
            assert f"ModelError: {name}" in load(name, endpoint, tmp_path).stderr
        variables = environment(endpoint, tmp_path / "home")
        done = fresh.run(EVERY_KIND, str(tmp_path / "cache"), environment=variables)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
def test_a_model_is_pushed_with_its_card_and_loads_again(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "mine")
    (tmp_path / "mine" / "README.md").write_text("# Mine")
    repositories: dict[str, dict[str, bytes]] = {}
    with serve(repositories) as endpoint:
        variables = environment(endpoint, tmp_path / "home")
        done = fresh.run(PUSH, str(tmp_path / "mine"), environment=variables)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.strip().startswith(f"{endpoint}/me/mine/commit/")
        pushed = repositories["models/me/mine"]
        assert pushed["README.md"] == b"# Mine"
        assert "README.md" not in repositories["models/me/small"]  # the card is of another model
        packed = repositories["models/me/packed"]["model.safetensors"]
        assert len(packed) < len(pushed["model.safetensors"]) / 3  # int4 and a scale per row
        done = load("me/mine", endpoint, tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
    np.testing.assert_array_equal(np.load(tmp_path / "vector.npy"), encoder.encode(TEXTS))


def test_a_misspelled_option_gets_a_suggestion(encoder, tmp_path):
    classes = SentenceEncoder, SentencePredictor, Tagger, LanguageScorer
    for loaded in (SimileScorer, load_encoder, *(each.from_pretrained for each in classes)):
        with pytest.raises(TypeError, match="'revision'"):
            loaded(str(tmp_path), revison="main")
    for call in (
        lambda: encoder.push_to_hub("me/mine", privat=True),
        lambda: SimileScorer(encoder, revision="main"),  # options need a name
    ):
        with pytest.raises(TypeError):
            call()
