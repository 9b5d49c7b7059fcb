"""Classifiers of this package and of transformers behind one call: what adversarial examples attack
(thesis, 6.5)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.storage.bounded import loading
from paraphrastic_hf.encoders.storage.locate import local_directory, packaged_names
from paraphrastic_hf.errors import ModelError, counted
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.models.supervised.classifier import ClassifierModel
from paraphrastic_hf.predictors.predict import SentencePredictor

logger = logging.getLogger(__name__)

UNKNOWN = 1_000_000  # tokens; a limit of more is none
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

    most = _most_tokens(loaded)
    limits = {} if most is None else {"truncation": True, "max_length": most}

    def classify(texts: Sequence[str], second: Sequence[str] | None) -> list[str]:
        given: Any = list(texts)
        ids = loaded.tokenizer(given, second and list(second), verbose=False)["input_ids"]
        cut = sum(len(each) > most for each in ids) if most is not None else 0
        if cut:
            logger.warning(
                "%s of %s are longer than the %s tokens that %s reads: it saw their beginning only",
                f"{cut:,}",
                counted(len(given), "text"),
                f"{most:,}",
                name,
            )
        if second is not None:
            pairs = zip(texts, second, strict=True)
            given = [{"text": first, "text_pair": other} for first, other in pairs]
        labels = loaded(given, **limits)
        if not all(math.isfinite(found["score"]) for found in labels):
            raise ModelError(f"{name} gives NaN, so that no label is likelier than another")
        return [str(found["label"]) for found in labels]

    return classify, list(loaded.model.config.id2label.values())


def _most_tokens(loaded: Any) -> int | None:
    """The most tokens that a pipeline's tokenizer and position embeddings allow; None for any."""
    limits = [loaded.tokenizer.model_max_length]  # about 1e30 if it is not known
    limits += [getattr(loaded.model.config, "max_position_embeddings", None) or UNKNOWN]
    for module_name, module in loaded.model.named_modules():
        if module_name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            before = -1 if module.padding_idx is None else module.padding_idx  # as in RoBERTa
            limits.append(module.num_embeddings - before - 1)
    most = min(limits)
    return int(most) if most < UNKNOWN else None
