"""What other libraries ask of an encoder besides `encode`: the methods by which sentence-
transformers' evaluators and functions run on it, and those of a scikit-learn transformer.

Neither library is imported here, but for the one class that scikit-learn asks for by name.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from paraphrastic_hf.encoding.vectors import pairwise_cosine, unit_length
from paraphrastic_hf.errors import nearest_name


class CardData:
    """Where sentence-transformers' evaluators leave their scores.

    Attributes:
        base_model: The name of the encoder.
        metrics: The scores of each evaluator that has run, by its name.
    """

    def __init__(self, base_model: str | None) -> None:
        self.base_model = base_model
        self.metrics: dict[str, dict[str, float]] = {}

    def set_evaluation_metrics(
        self, evaluator: Any, metrics: dict[str, float], epoch: int = 0, step: int = 0
    ) -> None:
        """Keep the scores of an evaluator; those of its last run count."""
        self.metrics[getattr(evaluator, "name", "") or type(evaluator).__name__] = dict(metrics)


class Conventions(ABC):
    """Base of `SentenceEncoder`: all that follows from `encode` alone.

    Attributes:
        name: Of the encoder.
        model_card_data: The scores that sentence-transformers' evaluators have found.
    """

    # What can be set by `set_params`; `transform` encodes by it.
    _settings = {"normalize": False, "truncate_dim": None, "batch_size": 1024}

    def __init__(self) -> None:
        self.name: str | None = None
        self._parameters: dict[str, Any] = dict(self._settings)
        self.model_card_data = CardData(None)

    @abstractmethod
    def encode(self, texts: Any, **options: Any) -> Any:
        """Encode texts as vectors."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numbers an embedding has."""

    def encode_query(self, texts: str | Sequence[str], **options: Any) -> Any:
        """Encode questions, for a search among what `encode_document` gives; the same as `encode`,
        as nothing here is trained to tell the two apart.

        Args:
            texts: One text or many.
            options: Those of `encode`.

        Returns:
            (texts, dim), or (dim,) for one text.
        """
        return self.encode(texts, **options)

    def encode_document(self, texts: str | Sequence[str], **options: Any) -> Any:
        """Encode what is searched; the same as `encode`.

        Args:
            texts: One text or many.
            options: Those of `encode`.

        Returns:
            (texts, dim), or (dim,) for one text.
        """
        return self.encode(texts, **options)

    def similarity(self, first: Any, second: Any) -> Any:
        """Cosine of every text or vector of one side with every one of the other.

        Args:
            first: Texts, or vectors as an array, a tensor or a list, (n, dim). One text or one
                vector, (dim,), is a list of one.
            second: The other side, (m, dim) or m texts.

        Returns:
            (n, m), from -1 to 1; 0 where a side has no known token. A tensor where a side is one,
            else an array.

        Raises:
            TypeError: A side holds anything but texts or numbers.
            ValueError: The vectors have another dimension than the encoder's or the other side's.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.similarity(["a cat sleeps", "bread is dear"], ["a cat is asleep"]).shape
            (2, 1)
        """
        one, other = self._two_sides(first, second)
        return _like(unit_length(one) @ unit_length(other).T, first, second)

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        """Cosine of each text or vector of one side with the one at the same place of the other.

        Args:
            first: Texts, or vectors, (n, dim), as `similarity` takes them.
            second: The other side, as many.

        Returns:
            (n,), from -1 to 1; 0 where a side has no known token. A tensor where a side is one,
            else an array.

        Raises:
            TypeError: A side holds anything but texts or numbers.
            ValueError: The two sides differ in length or dimension.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.similarity_pairwise(["a cat sleeps"], ["a cat is asleep"]).shape
            (1,)
        """
        one, other = self._two_sides(first, second)
        if len(one) != len(other):
            raise ValueError(f"the two sides must be equally many, got {len(one)} and {len(other)}")
        return _like(pairwise_cosine(one, other), first, second)

    @property
    def similarity_fn_name(self) -> str:
        """What `similarity` computes, as sentence-transformers calls it."""
        return "cosine"

    def get_embedding_dimension(self) -> int:
        """How many numbers an embedding has."""
        return self.dimension

    def get_sentence_embedding_dimension(self) -> int:
        """How many numbers an embedding has; the older name in sentence-transformers."""
        return self.dimension

    def fit(self, texts: Sequence[str], labels: Any = None, **_: Any) -> Self:
        """Do nothing, as a transformer of scikit-learn that needs no fitting does.

        Args:
            texts: Left alone.
            labels: Left alone.
        """
        return self

    def transform(self, texts: Sequence[str]) -> Any:
        """Encode texts with the settings of `set_params`, as a step of a scikit-learn `Pipeline`.

        Args:
            texts: A list, an array or a column of texts.

        Returns:
            (texts, dim) float32.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.set_params(truncate_dim=64).transform(["a cat", "a dog"]).shape
            (2, 64)
        """
        return self.encode(texts, **self._parameters)

    def fit_transform(self, texts: Sequence[str], labels: Any = None, **_: Any) -> Any:
        """Encode texts as `transform` does; there is nothing to fit.

        Args:
            texts: A list, an array or a column of texts.
            labels: Left alone.

        Returns:
            (texts, dim) float32.
        """
        return self.transform(texts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings of `transform`: `normalize`, `truncate_dim` and `batch_size`.

        Args:
            deep: Makes no difference, as no setting has settings of its own.
        """
        return dict(self._parameters)

    def set_params(self, **settings: Any) -> Self:
        """Change settings of `transform`, which a grid of scikit-learn's names `encoder__normalize`
        where the step of the pipeline is `encoder`.

        Args:
            settings: `normalize`, `truncate_dim` or `batch_size`, as `encode` takes them.

        Raises:
            ValueError: There is no such setting.
        """
        for name in settings:
            if name not in self._parameters:
                near = nearest_name(name, self._parameters)
                raise ValueError(f"SentenceEncoder has no setting {name!r}: {near}")
        self._parameters |= settings
        return self

    def __sklearn_clone__(self) -> Self:
        """An encoder with the same table and settings of its own; nothing is learned in `fit`."""
        clone = copy.copy(self)
        clone._parameters = dict(self._parameters)
        return clone

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(two_d_array=False, string=True),
            requires_fit=False,
        )

    def _two_sides(self, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
        one, other = self._vectors(first), self._vectors(second)
        if one.shape[1] != other.shape[1]:
            raise ValueError(
                f"the vectors of the two sides have {one.shape[1]} and {other.shape[1]} numbers; "
                "compare texts or vectors of one encoder"
            )
        return one, other

    def _vectors(self, side: Any) -> np.ndarray:
        """Texts or vectors as vectors, (n, dim) float32."""
        if _are_texts(side):
            return np.asarray(self.encode([side] if isinstance(side, str) else side))
        rows = _array(side) if hasattr(side, "shape") else [_array(row) for row in side]
        try:
            vectors = np.atleast_2d(np.asarray(rows))
        except ValueError as error:
            raise TypeError(f"similarity takes texts or vectors: {error}") from error
        if vectors.dtype.kind not in "fiu":
            raise TypeError(f"similarity takes texts or vectors, got {vectors.dtype} in a list")
        if vectors.ndim != 2:
            raise ValueError(f"vectors must be (n, dim) or (dim,), got shape {vectors.shape}")
        return vectors.astype(np.float32, copy=False)


def _are_texts(side: Any) -> bool:
    if isinstance(side, str):
        return True
    kind = getattr(getattr(side, "dtype", None), "kind", None)
    if kind is not None or hasattr(side, "detach"):
        return kind in ("U", "O", "T")  # of numpy's arrays, those of strings
    return not len(side) or isinstance(side[0], str)


def _array(vector: Any) -> Any:
    """A tensor as an array; all else as it is."""
    return vector.detach().cpu().float().numpy() if hasattr(vector, "detach") else vector


def _like(scores: np.ndarray, *sides: Any) -> Any:
    """Scores as a tensor where a side is one, or a list of them; on its device."""
    for side in sides:
        part = side[0] if isinstance(side, list) and side else side
        if hasattr(part, "detach"):
            import torch

            return torch.from_numpy(scores).to(part.device)
    return scores
