"""Every family on a Hub: saved, pushed, pulled, its card read and its example run, with faults."""

from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from sentence_transformers import SentenceTransformer
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.hub.cards import ModelDetails
from paraphrastic_hf.hub.publish import publish
from tests.hub.families import ENCODERS, hub_of, loader, offline
from tests.hub.server import Fault, commit_of
from tests.trained import FAMILIES, PARAPHRASERS, SUPERVISED, TRANSLATORS, code_of

# huggingface_hub uploads large files with a deprecated call of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
QUICK = ("word", "bgt", "tagging", "marian")
WEIGHTS = r"^GET .*safetensors"
AUTO_CLASSES: dict[str, Any] = {
    **dict.fromkeys((*TRANSLATORS, *PARAPHRASERS), AutoModelForSeq2SeqLM),
    "language_model": AutoModelForCausalLM,
    **dict.fromkeys(SUPERVISED, AutoModelForSequenceClassification),
    **dict.fromkeys(("tagging", "parsing"), AutoModelForTokenClassification),
}


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with hub_of(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES
    ]
)
def family(request, hub, models):
    """A family whose model is published privately, because its sources have no license."""
    name = str(request.param)
    if f"models/me/{name}" not in hub.repositories:
        details = ModelDetails(hide_paths=True)  # sources lie where this repository does
        publish("model", models(name), f"me/{name}", private=True, details=details)
    return name


def assert_equal_weights(model, folder, family):
    """Compare a loaded model with the one that the family's loader reads from a folder."""

    def numbers(loaded):
        loaded = getattr(loaded, "writer", loaded)  # a paraphraser
        inner = loaded if isinstance(loaded, torch.nn.Module) else loaded.model
        state = sorted(inner.state_dict().items())
        return np.concatenate([value.float().cpu().numpy().ravel() for _, value in state])

    own = loader(family).from_pretrained(folder)
    np.testing.assert_array_equal(numbers(model), numbers(own))


def test_a_family_saves_what_it_loads(family, models, tmp_path):
    model = loader(family).from_pretrained(models(family))
    model.save_pretrained(tmp_path / "again")
    assert_equal_weights(model, tmp_path / "again", family)


def test_a_family_is_loaded_at_a_revision_and_again_offline(family, hub, models, tmp_path):
    commit = commit_of(hub.repositories[f"models/me/{family}"])
    options = {"revision": commit, "cache_dir": tmp_path, "token": "hf_test"}
    model = loader(family).from_pretrained(f"me/{family}", **options)
    assert_equal_weights(model, models(family), family)
    asked = len(hub.requests)
    loader(family).from_pretrained(f"me/{family}", **options, local_files_only=True)
    assert len(hub.requests) == asked


def test_other_libraries_load_a_family_by_name(family, models):
    model = AUTO_CLASSES.get(family, AutoModel).from_pretrained(f"me/{family}")
    assert_equal_weights(model, models(family), family)
    if family in ENCODERS:
        theirs = SentenceTransformer(f"me/{family}", trust_remote_code=True)
        texts = ["the cat sleeps", "a cat is asleep on the mat"]
        own = SentenceEncoder.from_pretrained(models(family)).encode(texts)
        np.testing.assert_allclose(theirs.encode(texts), own, atol=1e-5)


@pytest.mark.slow
def test_a_card_is_valid_and_its_example_runs_as_printed(family, hub):
    text = hub.repositories[f"models/me/{family}"]["README.md"].decode()
    data = ModelCard(text).data
    assert data.library_name in ("sentence-transformers", "transformers")
    assert data.pipeline_tag
    assert "paraphrastic" in (data.tags or [])
    assert data.license is None
    assert family in ENCODERS or data.eval_results, "the figures of its run are in model-index"
    code = code_of(text)
    assert f'"me/{family}"' in code
    exec(compile(code, f"card of {family}", "exec"), {"__name__": "card"})


def once(matches, kind, times=1):
    return lambda hub, key: [Fault(matches, kind, times)]


def moving(hub, key):
    """The branch moves to other weights once a file was fetched."""

    def move():
        hub.at(key, "main")  # record the first commit
        changed = dict(hub.repositories[key])
        changed["model.safetensors"] = changed["model.safetensors"][:-4] + b"\0\0\0\0"
        hub.repositories[key] = {**changed, "config.json": b'{"model_type": "bert"}'}

    return [Fault(r"^GET .*/config.json", "none", then=move)]


def lacking(hub, key):
    """The upload of the weights never finished."""
    del hub.repositories[key]["model.safetensors"]
    return []


def truncated(hub, key):
    """Half of the weights were uploaded, with a matching checksum."""
    whole = hub.repositories[key]["model.safetensors"]
    hub.repositories[key]["model.safetensors"] = whole[: len(whole) // 2]
    return []


SURVIVED = {
    "500 from the listing": once("^GET /api/models", "500", 2),
    "500 from the weights": once(WEIGHTS, "500", 3),
    "a cut connection": once(WEIGHTS, "cut", 2),
    "a stalled connection": once(WEIGHTS, "stall"),
    "a revision that moves between two files": moving,
    "none, and offline after one load": once("^HEAD", "none"),
}
REFUSED = {
    "500 from every request": once("/", "500", 10**6),
    "a repository without weights": lacking,
    "a repository with half of the weights": truncated,
    "offline after a load that broke off": once(WEIGHTS, "500", 10**6),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", [*SURVIVED, *REFUSED])
@pytest.mark.parametrize("family", ["word", "bgt", "gated_conv"], indirect=True)
def test_faults_are_survived_or_refused(fault, family, hub, models, tmp_path):
    key = f"models/me/{family}"
    kept = dict(hub.repositories[key])
    hub.faults = (SURVIVED | REFUSED)[fault](hub, key)

    def load():
        return loader(family).from_pretrained(f"me/{family}", cache_dir=tmp_path)

    try:
        if fault in SURVIVED:
            assert_equal_weights(load(), models(family), family)
        else:
            with pytest.raises(ModelError):
                load()
        assert all(fault.times < fault.planned for fault in hub.faults), "nothing went wrong"
        if fault.startswith("none"):
            with offline():
                load()
        elif fault.startswith("offline"):
            with pytest.raises(ModelError), offline():
                load()
    finally:
        hub.faults = []
        hub.repositories[key] = kept
