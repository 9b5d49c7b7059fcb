"""The methods of a scikit-learn transformer, by which an encoder is a step of a `Pipeline`, is
cloned, and has settings that a search can choose.

scikit-learn is not imported here, but for the classes that it asks for itself.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from paraphrastic_hf.errors import nearest_name

SETTINGS = {"normalize": False, "truncate_dim": None, "batch_size": 1024}


class Estimator(ABC):
    """Base of an encoder that scikit-learn can use."""

    def __init__(self) -> None:
        super().__init__()
        self._settings: dict[str, Any] = dict(SETTINGS)  # that `transform` encodes by

    @abstractmethod
    def encode(self, texts: Any, **options: Any) -> Any:
        """Encode texts as vectors, (texts, dim)."""

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
        return self.encode(texts, **self._settings)

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
        return dict(self._settings)

    def set_params(self, **settings: Any) -> Self:
        """Change settings of `transform`, which a grid of scikit-learn's names `encoder__normalize`
        where the step of the pipeline is `encoder`.

        Args:
            settings: `normalize`, `truncate_dim` or `batch_size`, as `encode` takes them.

        Raises:
            ValueError: There is no such setting.
        """
        for name in settings:
            if name not in self._settings:
                near = nearest_name(name, self._settings)
                raise ValueError(f"SentenceEncoder has no setting {name!r}: {near}")
        self._settings |= settings
        return self

    def __sklearn_clone__(self) -> Self:
        """An encoder with the same table and settings of its own; nothing is learned in `fit`."""
        clone = copy.copy(self)
        clone._settings = dict(self._settings)
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
