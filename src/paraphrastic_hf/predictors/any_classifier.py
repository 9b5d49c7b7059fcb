"""Loader of classifiers of this package or transformers, for adversarial examples (thesis, 6.5)."""

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from paraphrastic_hf.encoders.storage.bounded import loading
from paraphrastic_hf.encoders.storage.locate import OWN, local_directory
from paraphrastic_hf.errors import ModelError, counted, refused
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.models.supervised.classifier import ClassifierModel
from paraphrastic_hf.predictors.predict import SentencePredictor

logger = logging.getLogger(__name__)

UNKNOWN = 1_000_000  # a limit of at least this many tokens means no limit
Classify = Callable[[Sequence[str], Sequence[str] | None], Sequence[str]]


def load_classifier(
    name: str, *, labels: Sequence[str], trust_remote_code: bool = False
) -> Classify:
    """Load a classifier as a function from texts to labels.

    `name` is a directory or Hub repository of a classifier, of this package or of transformers. It
    must be able to predict all `labels`.
    """
    classify: Any
    with refused(ModelError, f"Cannot load the classifier in {name}"):
        config = read_json(local_directory(name) / "config.json")
    if str(config.get("model_type")).startswith(OWN):
        predictor = SentencePredictor.from_pretrained(name)
        if not isinstance(predictor.model, ClassifierModel):
            raise ModelError(f"{name} predicts scores, not labels. Use a classifier")
        classify, known = predictor.predict, list(predictor.model.config.id2label.values())
    else:
        classify, known = _pipeline(name, trust_remote_code)
    missing = [label for label in labels if label not in known]
    if missing:
        raise ModelError(
            f"{name} lacks the label {', '.join(missing)}. Use its labels: {', '.join(known)}"
        )
    return classify  # type: ignore[no-any-return]


def _pipeline(name: str, trust_remote_code: bool) -> tuple[Any, list[str]]:
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
                "Truncated %s of %s to %s tokens, the maximum length of %s",
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
            raise ModelError(f"{name} computes NaN scores")
        return [str(found["label"]) for found in labels]

    return classify, list(loaded.model.config.id2label.values())


def _most_tokens(loaded: Any) -> int | None:
    limits = [loaded.tokenizer.model_max_length]  # about 1e30 if unknown
    limits += [getattr(loaded.model.config, "max_position_embeddings", None) or UNKNOWN]
    for module_name, module in loaded.model.named_modules():
        if module_name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            before = -1 if module.padding_idx is None else module.padding_idx  # as in RoBERTa
            limits.append(module.num_embeddings - before - 1)
    most = min(limits)
    return int(most) if most < UNKNOWN else None
