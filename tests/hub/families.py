"""Tiny models of every family, their loaders, and a local Hub for them."""

import time
from contextlib import contextmanager
from typing import Any

import pytest
from huggingface_hub import constants

from paraphrastic_hf import (
    GenerationOptions,
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
from tests.hub.server import pointing, running
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


TEXTS = ["the cat sleeps", "a dog ran over the old bridge near the river .", "le chat dort", "I"]


class Models:
    """Tiny models of all families, trained on first use in `folder` with data in `root`."""

    def __init__(self, folder, root):
        self.folder, self.root = folder, root

    def __call__(self, family):
        place = self.folder / family
        if not (place / "mine" / "run.json").exists():
            place.mkdir(parents=True, exist_ok=True)
            trained(FAMILIES[family], place, self.root)
        return place / "mine"


def loader(family):
    """Loader class of this package for a family."""
    return LOADERS.get(family, SentenceEncoder)


def outputs(family, model):
    """Return a model's output for every text as numbers, or as texts if it has no numbers."""
    short = GenerationOptions(beams=2, max_tokens=12)
    if family in GENERATIVE:
        written = model.translate(TEXTS, to="fr", writing=short)
    elif family in TRANSLATORS:
        written = model.translate(TEXTS, beams=2, max_tokens=12)
    elif family in PARAPHRASERS:
        writer = getattr(model, "writer", model)
        asked = [["( ROOT ( S ( NP ) ( VP ) ( . ) ) )"]] * len(TEXTS)
        parses = [f"( ROOT ( S ( {text} ) ) )" for text in TEXTS]
        lists = writer.write(parses if writer.writes == "parse" else TEXTS, asked, short)
        written = [line[0] for line in lists]
    elif family == "language_model":
        return model.score(TEXTS).nats
    elif family == "tagging":
        return [str(tags) for tags in model.tag([text.split() for text in TEXTS])]
    elif family == "parsing":
        return [str(each) for each in model.parse(TEXTS)]
    elif family in SUPERVISED:
        return model.logits(TEXTS, *([] if family == "sentiment" else [TEXTS[::-1]]))
    else:
        return model.encode(TEXTS)
    return [[each.nats for each in line] for line in written]


@contextmanager
def hub_of(home, repositories=None):
    """A server that this process uses as the Hub, without waits between retries."""
    asleep = time.sleep
    with running(repositories) as hub, pointing(hub, home), pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: asleep(min(seconds, 0.01)))
        yield hub


@contextmanager
def offline():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        yield
