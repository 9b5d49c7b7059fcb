"""Every family on a Hub: saved, pushed, pulled, its card read and its example run, with faults.

`python -m tests.hub.matrix` writes the tables of `docs/hub.md`. The server is local
(`tests/hub/server.py`).
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from huggingface_hub import ModelCard, constants
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

from paraphrastic_hf import (
    LanguageScorer,
    LatentGenerator,
    SentenceEncoder,
    SentenceParser,
    SentencePredictor,
    SyntacticParaphraser,
    Tagger,
    Translator,
)
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.hub.model_files import ModelDetails
from paraphrastic_hf.hub.publish import publish
from paraphrastic_hf.io.markdown import markdown_table
from tests.data_root import write_supervised
from tests.hub.fresh import FRESH, Interpreter, compared, loaded
from tests.hub.server import Fault, Hub, commit_of, pointing, running
from tests.trained import (
    FAMILIES,
    GENERATIVE,
    PARAPHRASERS,
    SUPERVISED,
    TRANSLATORS,
    code_of,
    trained,
)

WEIGHTS = r"^GET .*safetensors"
OTHERS = ("language_model", *SUPERVISED, *TRANSLATORS, *PARAPHRASERS)
ENCODERS = [name for name in FAMILIES if name not in OTHERS]  # includes generative models


class Models:
    """Tiny models of all families, trained on first use in `folder` with data in `root`."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root

    def __call__(self, family: str) -> Path:
        place = self.folder / family
        if not (place / "mine" / "run.json").exists():
            place.mkdir(parents=True, exist_ok=True)
            trained(FAMILIES[family], place, self.root)
        return place / "mine"


def loader(family: str) -> Any:
    """Loader class of this package for a family."""
    if family in TRANSLATORS:
        return Translator
    if family in PARAPHRASERS:
        return TemplatedWriter if family == "parse_generator" else SyntacticParaphraser
    if family in GENERATIVE:
        return LatentGenerator
    if family == "language_model":
        return LanguageScorer
    if family == "tagging":
        return Tagger
    if family == "parsing":
        return SentenceParser
    return SentencePredictor if family in SUPERVISED else SentenceEncoder


def auto_class(family: str) -> Any:
    """Auto class of transformers for a family."""
    if family in (*TRANSLATORS, *PARAPHRASERS):
        return AutoModelForSeq2SeqLM
    if family == "language_model":
        return AutoModelForCausalLM
    if family in ("tagging", "parsing"):
        return AutoModelForTokenClassification
    return AutoModelForSequenceClassification if family in SUPERVISED else AutoModel


def numbers(model: Any) -> np.ndarray:
    """All weights of a loaded model, in order of their names."""
    model = getattr(model, "writer", model)  # a paraphraser
    inner = model if isinstance(model, torch.nn.Module) else model.model
    state = sorted(inner.state_dict().items())
    return np.concatenate([value.float().cpu().numpy().ravel() for _, value in state])


@contextmanager
def hub_of(home: Path, repositories: dict[str, Any] | None = None) -> Iterator[Hub]:
    """A server that this process uses as the Hub, without waits between retries."""
    asleep = time.sleep
    with running(repositories) as hub, pointing(hub, home), pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: asleep(min(seconds, 0.01)))
        yield hub


def push(models: Models, family: str) -> str:
    """Publish a family privately, because its sources have no license. Returns the repository."""
    repository = f"me/{family}"
    details = ModelDetails(hide_paths=True)  # sources lie where this repository does
    publish("model", models(family), repository, private=True, details=details)
    return repository


def check_save(models: Models, family: str, folder: Path) -> None:
    model = loader(family).from_pretrained(models(family))
    model.save_pretrained(folder / "again")
    again = loader(family).from_pretrained(folder / "again")
    np.testing.assert_array_equal(numbers(again), numbers(model))


def check_auto_model(models: Models, family: str) -> None:
    model = auto_class(family).from_pretrained(f"me/{family}")
    own = loader(family).from_pretrained(models(family))
    np.testing.assert_array_equal(numbers(model), numbers(own))


def check_sentence_transformer(models: Models, family: str) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(f"me/{family}", trust_remote_code=True)
    texts = ["the cat sleeps", "a cat is asleep on the mat"]
    own = SentenceEncoder.from_pretrained(models(family)).encode(texts)
    np.testing.assert_allclose(theirs.encode(texts), own, atol=1e-5)


def check_pull(hub: Hub, models: Models, family: str, cache: Path) -> None:
    """Loading takes a revision, token and cache, and works offline the second time."""
    key = f"models/me/{family}"
    commit = commit_of(hub.repositories[key])
    options = {"revision": commit, "cache_dir": cache, "token": "hf_test"}
    model = loader(family).from_pretrained(f"me/{family}", **options)
    np.testing.assert_array_equal(
        numbers(model), numbers(loader(family).from_pretrained(models(family)))
    )
    asked = len(hub.requests)
    loader(family).from_pretrained(f"me/{family}", **options, local_files_only=True)
    assert len(hub.requests) == asked


def check_card(hub: Hub, family: str) -> None:
    """huggingface_hub reads the card and its metadata."""
    text = hub.repositories[f"models/me/{family}"]["README.md"].decode()
    data = ModelCard(text).data
    assert data.library_name in ("sentence-transformers", "transformers")
    assert data.pipeline_tag
    assert "paraphrastic" in (data.tags or [])
    assert data.license is None
    assert yaml.safe_load(text.split("---")[1]).keys() >= {"library_name", "pipeline_tag", "tags"}
    if family in OTHERS:
        assert data.eval_results, "the figures of its run are in model-index"


def run_example(hub: Hub, family: str) -> None:
    code = code_of(hub.repositories[f"models/me/{family}"]["README.md"].decode())
    assert f'"me/{family}"' in code
    exec(compile(code, f"card of {family}", "exec"), {"__name__": "card"})


def check_fault(name: str, hub: Hub, models: Models, family: str, cache: Path) -> None:
    """A fault is survived with correct numbers, or refused with a message."""
    make, is_survived = FAULTS[name]
    key = f"models/me/{family}"
    kept = dict(hub.repositories[key])
    hub.faults = make(hub, key)
    try:
        if is_survived:
            model = loader(family).from_pretrained(f"me/{family}", cache_dir=cache)
            own = loader(family).from_pretrained(models(family))
            np.testing.assert_array_equal(numbers(model), numbers(own))
        else:
            with pytest.raises(ModelError):
                loader(family).from_pretrained(f"me/{family}", cache_dir=cache)
        assert all(fault.times < fault.planned for fault in hub.faults), "nothing went wrong"
        if name == "offline after a load that broke off":
            with pytest.raises(ModelError), offline():
                loader(family).from_pretrained(f"me/{family}", cache_dir=cache)
        if name == "none, and offline after one load":
            with offline():
                loader(family).from_pretrained(f"me/{family}", cache_dir=cache)
    finally:
        hub.faults = []
        hub.repositories[key] = kept


@contextmanager
def offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        yield


def _once(matches: str, kind: str, times: int = 1) -> Callable[[Hub, str], list[Fault]]:
    return lambda hub, key: [Fault(matches, kind, times)]


def _moving(hub: Hub, key: str) -> list[Fault]:
    """The branch moves to other weights once a file was fetched."""

    def move() -> None:
        hub.at(key, "main")  # record the first commit
        changed = dict(hub.repositories[key])
        changed["model.safetensors"] = changed["model.safetensors"][:-4] + b"\0\0\0\0"
        hub.repositories[key] = {**changed, "config.json": b'{"model_type": "bert"}'}

    return [Fault(r"^GET .*/config.json", "none", then=move)]


def _lacking(hub: Hub, key: str) -> list[Fault]:
    """The upload of the weights never finished."""
    del hub.repositories[key]["model.safetensors"]
    return []


def _truncated(hub: Hub, key: str) -> list[Fault]:
    """Half of the weights were uploaded, with a matching checksum."""
    whole = hub.repositories[key]["model.safetensors"]
    hub.repositories[key]["model.safetensors"] = whole[: len(whole) // 2]
    return []


FAULTS: dict[str, tuple[Callable[[Hub, str], list[Fault]], bool]] = {
    "500 from the listing": (_once("^GET /api/models", "500", 2), True),
    "500 from the weights": (_once(WEIGHTS, "500", 3), True),
    "500 from every request": (_once("/", "500", 10**6), False),
    "a cut connection": (_once(WEIGHTS, "cut", 2), True),
    "a stalled connection": (_once(WEIGHTS, "stall"), True),
    "a revision that moves between two files": (_moving, True),
    "a repository without weights": (_lacking, False),
    "a repository with half of the weights": (_truncated, False),
    "offline after a load that broke off": (_once(WEIGHTS, "500", 10**6), False),
    "none, and offline after one load": (_once("^HEAD", "none"), True),
}


COLUMNS = ("save", "AutoModel", "SentenceTransformer", "push", "pull", "card", "example")
WRITTEN = "<!-- written by python -m {} -->"
END = "<!-- end -->"
PAGE = Path(__file__).parents[2] / "docs" / "hub.md"


def attempt(check: Callable[[], Any]) -> str:
    """Return `yes`, or the error in a few words."""
    try:
        check()
    except Exception as error:
        return f"no: {type(error).__name__}"
    return "yes"


def family_row(hub: Hub, models: Models, family: str, folder: Path) -> list[str]:
    """Table row of what works for a family."""
    found = [attempt(lambda: check_save(models, family, folder / "saved"))]
    pushed = attempt(lambda: push(models, family))
    found.append(attempt(lambda: check_auto_model(models, family)))
    is_encoder = family in ENCODERS
    found.append(
        attempt(lambda: check_sentence_transformer(models, family)) if is_encoder else "none"
    )
    found.append(pushed)
    found.append(attempt(lambda: check_pull(hub, models, family, folder / "cache")))
    found.append(attempt(lambda: check_card(hub, family)))
    found.append(attempt(lambda: run_example(hub, family)))
    return [family.replace("_", " "), *found]


def fresh_rows(hub: Hub, names: Sequence[str], folder: Path) -> list[list[str]]:
    """Table rows of what loads with and without this package."""
    autos = {f"me/{name}": str(auto_class(name).__name__) for name in names}
    found = loaded(Interpreter(hub, folder), autos)
    return [
        [
            name.replace("_", " "),
            *compared(found["absent"][f"me/{name}"], found["present"][f"me/{name}"]),
        ]
        for name in names
    ]


def main() -> None:
    chosen = sys.argv[1:] or list(FAMILIES)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        models = Models(place / "models", write_supervised(place / "data"))
        with hub_of(place / "home") as hub:
            rows = [family_row(hub, models, family, place / family) for family in chosen]
            print(*rows, sep="\n", flush=True)
            outcomes: dict[str, list[str]] = {fault: [] for fault in FAULTS}
            for fault, family in itertools.product(FAULTS, chosen):
                cache = place / "caches" / f"{family}-{fault}"
                done = attempt(lambda: check_fault(fault, hub, models, family, cache))  # noqa: B023
                outcomes[fault].append(done if done == "yes" else f"{family}, {done}")
            print(outcomes, flush=True)
            fresh = fresh_rows(hub, chosen, place)
    end = {True: "survived", False: "refused"}
    faults = [
        [fault, end[FAULTS[fault][1]], str(len(done)), str(sum(it != "yes" for it in done))]
        for fault, done in outcomes.items()
    ]
    tried = sum(len(done) for done in outcomes.values())
    failed = sum(it != "yes" for done in outcomes.values() for it in done)
    faults.append(["all", "", str(tried), str(failed)])
    write_page(
        "tests.hub.matrix",
        markdown_table(["family", *COLUMNS], grouped(rows), "l" * 8),
        markdown_table(["fault", "result", "tried", "failures"], faults, "llrr"),
        markdown_table(["family", *FRESH], grouped(fresh), "llll"),
    )


def grouped(rows: Sequence[list[str]]) -> list[list[str]]:
    """Join the rows that differ only in the first cell."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, *results in rows:
        names.setdefault((*results,), []).append(name)
    return [[", ".join(of), *results] for results, of in names.items()]


def write_page(module: str, *parts: Sequence[str]) -> None:
    """Replace the part of `docs/hub.md` that a module wrote."""
    text = "\n\n".join("\n".join(lines) for lines in parts)
    page = PAGE.read_text(encoding="utf-8")
    before, mark, rest = page.partition(WRITTEN.format(module))
    after = rest[rest.index(END) :]
    PAGE.write_text(f"{before}{mark}\n\n{text}\n\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
