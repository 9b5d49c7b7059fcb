"""Tiny models of every family, their loaders, and a local Hub for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

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
from paraphrastic_hf.generation.templated import TemplatedWriter
from tests.hub.server import Hub, pointing, running
from tests.trained import FAMILIES, GENERATIVE, PARAPHRASERS, SUPERVISED, TRANSLATORS, trained

OTHERS = ("language_model", *SUPERVISED, *TRANSLATORS, *PARAPHRASERS)
ENCODERS = [name for name in FAMILIES if name not in OTHERS]  # includes generative models
LOADERS: dict[str, Any] = {
    **dict.fromkeys(TRANSLATORS, Translator),
    **dict.fromkeys(PARAPHRASERS, SyntacticParaphraser),
    "parse_generator": TemplatedWriter,
    **dict.fromkeys(GENERATIVE, LatentGenerator),
    "language_model": LanguageScorer,
    **dict.fromkeys(SUPERVISED, SentencePredictor),
    "tagging": Tagger,
    "parsing": SentenceParser,
}


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
    return LOADERS.get(family, SentenceEncoder)


@contextmanager
def hub_of(home: Path, repositories: dict[str, Any] | None = None) -> Iterator[Hub]:
    """A server that this process uses as the Hub, without waits between retries."""
    asleep = time.sleep
    with running(repositories) as hub, pointing(hub, home), pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: asleep(min(seconds, 0.01)))
        yield hub


@contextmanager
def offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        yield
