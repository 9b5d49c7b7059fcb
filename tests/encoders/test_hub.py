"""Loading models from the Hub and pushing them, with the server of `tests/hub/server.py`."""

import numpy as np
import pytest

from paraphrastic_hf import (
    LanguageScorer,
    SentenceEncoder,
    SentencePredictor,
    SimileScorer,
    Tagger,
)
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import ModelError
from tests.hub.server import folder_files, pointing, running
from tests.made import averaging

TEXTS = ["the cat sleeps"]


@pytest.fixture
def encoder(subword):
    return averaging(subword)


def score_with(name, **options):
    return SimileScorer(name, **options).model


@pytest.mark.parametrize("load", [SentenceEncoder.from_pretrained, load_encoder, score_with])
def test_a_private_revision_is_cached_and_loaded_offline(load, encoder, tmp_path):
    """`tests/hub/test_hub_families.py` does it with every family."""
    for name, saved in (("sp", encoder), ("sp@old", encoder.with_dimension(4))):
        saved.save_pretrained(tmp_path / name)
    served = {f"models/someone/{name}": folder_files(tmp_path / name) for name in ("sp", "sp@old")}
    options = {"revision": "old", "cache_dir": str(tmp_path / "cache")}
    with (
        running(served, tokens={"models/someone/sp": "hf_secret"}) as hub,
        pointing(hub, tmp_path / "home", token=None),
    ):
        for name in ("someone/sp", "someone/absent"):  # without a token
            with pytest.raises(ModelError, match=name):
                SentenceEncoder.from_pretrained(name, **options)
        for more in ({}, {"local_files_only": True}):
            vectors = load("someone/sp", **options, token="hf_secret", **more).encode(TEXTS)
            np.testing.assert_allclose(vectors, encoder.encode(TEXTS)[:, :4], atol=1e-7)
    assert any((tmp_path / "cache").rglob("model.safetensors"))
    assert not any((tmp_path / "home").rglob("model.safetensors"))


# huggingface_hub uploads large files with a deprecated call of its HTTP library
@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
def test_a_model_is_pushed_with_its_card_and_loads_again(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "mine")
    (tmp_path / "mine" / "README.md").write_text("# Mine")
    mine = SentenceEncoder.from_pretrained(tmp_path / "mine")
    with running() as hub, pointing(hub, tmp_path / "home"):
        address = mine.push_to_hub("me/mine", private=True, commit_message="First")
        mine.with_dimension(4).push_to_hub("me/small")
        mine.push_to_hub("me/packed", precision="int4")
        again = SentenceEncoder.from_pretrained("me/mine")
    assert address.startswith(f"{hub.address}/me/mine/commit/")
    pushed, small, packed = (
        hub.repositories[f"models/me/{k}"] for k in ("mine", "small", "packed")
    )
    assert pushed["README.md"] == b"# Mine"
    assert "README.md" not in small  # the card is of another model
    # int4 and a scale per row
    assert len(packed["model.safetensors"]) < len(pushed["model.safetensors"]) / 3
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


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
