"""Classifiers of this package and of transformers behind one call: what adversarial examples attack
(thesis, 6.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoding.bounded import loading
from paraphrastic_hf.encoding.locate import local_directory, packaged_names
from paraphrastic_hf.encoding.predict import SentencePredictor
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.classifier import ClassifierModel
from paraphrastic_hf.text.files import read_json

Classify = Callable[[Sequence[str], Sequence[str] | None], Sequence[str]]


def load_classifier(
    name: str, *, labels: Sequence[str], trust_remote_code: bool = False
) -> Classify:
    """From texts to labels, by a model of this package or a pipeline of transformers.

    Args:
        name: A directory, or a Hub repository.
        labels: Those of the examples, which must be the model's.
        trust_remote_code: Whether Python code that comes with the model may run.

    Raises:
        ModelError: It is no classifier, or knows no label of the examples.
    """
    classify: Any
    try:
        predictor = SentencePredictor.from_pretrained(name)
    except ModelError:
        if name in packaged_names() or _kind_of(name).startswith("paraphrastic"):
            raise  # transformers would look for it on the Hub, or name its own classes
        classify, known = _pipeline(name, trust_remote_code)
    else:
        if not isinstance(predictor.model, ClassifierModel):
            raise ModelError(f"{name} gives scores, not labels: name a classifier")
        classify, known = predictor.predict, list(predictor.model.config.id2label.values())
    missing = [label for label in labels if label not in known]
    if missing:
        raise ModelError(
            f"{name} gives the labels {', '.join(known)}, and the examples have "
            f"{', '.join(missing)}: write the labels of the examples as the model does"
        )
    return classify  # type: ignore[no-any-return]


def _kind_of(name: str) -> str:
    """The model type of a directory; empty for what is none."""
    try:
        return str(read_json(Path(name) / "config.json").get("model_type"))
    except (OSError, ValueError, AttributeError):
        return ""


def _pipeline(name: str, trust_remote_code: bool) -> tuple[Any, list[str]]:
    """A text-classification pipeline of transformers, and its labels."""
    from transformers import pipeline

    directory = local_directory(name)
    with loading(directory, "the classifier"):
        loaded = pipeline(
            "text-classification", model=str(directory), trust_remote_code=trust_remote_code
        )

    def classify(texts: Sequence[str], second: Sequence[str] | None) -> list[str]:
        given: Any = list(texts)
        if second is not None:
            pairs = zip(texts, second, strict=True)
            given = [{"text": first, "text_pair": other} for first, other in pairs]
        labels = loaded(given, truncation=True)
        if not all(math.isfinite(found["score"]) for found in labels):
            raise ModelError(f"{name} gives NaN, so that no label is likelier than another")
        return [str(found["label"]) for found in labels]

    return classify, list(loaded.model.config.id2label.values())
