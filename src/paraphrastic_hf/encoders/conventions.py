"""`encode` and `similarity` with the names of sentence-transformers, whose evaluators and functions
run on an encoder that has them.

How texts become vectors is left to the encoder (`_embed`). sentence-transformers is not imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.output import delivered
from paraphrastic_hf.encoders.vectors import as_array, cosine_matrix, pairwise_cosine
from paraphrastic_hf.errors import refuse_keywords

ASK_NOTHING = ("pool", "chunk_size")  # that sentence-transformers passes on as None


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
    """Base of `SentenceEncoder`: all that follows from its vectors alone.

    Attributes:
        name: Of the encoder.
        model_card_data: The scores that sentence-transformers' evaluators have found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.name: str | None = None
        self.model_card_data = CardData(None)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numbers an embedding has."""

    @abstractmethod
    def _embed(
        self,
        texts: Sequence[str],
        *,
        batch_size: int,
        normalize: bool,
        progress: bool,
        apart: bool,
        device: Any,
    ) -> np.ndarray:
        """Embeddings of texts, (texts, dim) float32."""

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = 1024,
        normalize: bool = False,
        progress: bool = False,
        apart: bool = False,
        truncate_dim: int | None = None,
        precision: str | None = "float32",
        convert_to_tensor: bool = False,
        convert_to_numpy: bool = True,
        device: Any = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        normalize_embeddings: bool = False,
        show_progress_bar: bool | None = None,
        **unknown: Any,
    ) -> Any:
        """Encode texts as vectors, their embeddings.

        The names from `truncate_dim` on are those of sentence-transformers, and mean the same.

        Args:
            texts: One text or many. The empty text, and one without a known token, gives zeros.
            batch_size: How many texts a batch has, where there are batches. It changes the speed
                and not the vectors.
            normalize: Whether to scale vectors to unit length (zeros stay zeros).
            progress: Whether to show a progress bar.
            apart: Whether the texts are in a language that training kept apart (thesis 5.3.2).
            truncate_dim: How many leading dimensions are kept, before vectors are scaled; all if
                None.
            precision: `float32`; `int8` or `uint8`, steps of the range of these texts; `binary` or
                `ubinary`, one bit a number.
            convert_to_tensor: Whether to return one tensor.
            convert_to_numpy: Whether to return an array; if False, a list of tensors.
            device: Where tensors go, and where a model that does not average computes; an average
                is computed where it is.
            prompt: What to put before each text; nothing if None.
            prompt_name: None, since models of this package have no prompts with names.
            normalize_embeddings: Another name of `normalize`.
            show_progress_bar: Another name of `progress`.
            **unknown: Refused, with the most similar name.

        Returns:
            (texts, dim) float32, or (dim,) for one text.

        Raises:
            TypeError: `texts` holds anything but strings, or there is no option of a name.
            ValueError: `batch_size` is below 1; `truncate_dim` is out of range; there is no such
                precision; or a prompt is asked for by name.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.encode(["A cat sleeps.", "Un chat dort."], normalize=True).shape
            (2, 512)
        """
        if unknown:
            asked = [key for key in unknown if key not in ASK_NOTHING or unknown[key] is not None]
            refuse_keywords(asked, Conventions.encode)
        if prompt is None and prompt_name is not None:
            raise ValueError(f"the model has no prompt {prompt_name!r}, nor any other: give prompt")
        chosen = _listed(texts)
        if prompt:
            chosen = [prompt + text for text in chosen]
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}")
        normalize, in_c = normalize or normalize_embeddings, truncate_dim is None
        vectors = self._embed(
            chosen,
            batch_size=batch_size,
            normalize=normalize and in_c,
            progress=progress or bool(show_progress_bar),
            apart=apart,
            device=device,
        )
        output = delivered(
            vectors,
            normalize=normalize and not in_c,
            truncate_dim=truncate_dim,
            precision=precision,
            as_tensor=convert_to_tensor,
            as_array=convert_to_numpy,
            device=device,
        )
        return output[0] if isinstance(texts, str) else output

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
        return _like(cosine_matrix(one, other), first, second)

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
        rows: Any = as_array(side) if hasattr(side, "ndim") else list(_listed(side))
        if _are_texts(rows):
            return np.asarray(self.encode(rows))
        try:
            if isinstance(rows, list):
                rows = [as_array(row) for row in rows]
            vectors = np.atleast_2d(np.asarray(rows))
        except ValueError as error:
            raise TypeError(f"similarity takes texts or vectors: {error}") from error
        if vectors.dtype.kind not in "fiu":
            raise TypeError(f"similarity takes texts or vectors, got {vectors.dtype} in a list")
        if vectors.ndim != 2:
            raise ValueError(f"vectors must be (n, dim) or (dim,), got shape {vectors.shape}")
        return vectors.astype(np.float32, copy=False)


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    """Texts as a sequence; one text is a list of one.

    Raises:
        TypeError: They have no order (a set), are a table, or are no texts at all.
    """
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, (bytes, Mapping, set, frozenset)) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a string or a list of strings, got {type(texts).__name__}")
    if getattr(texts, "ndim", 1) != 1:
        raise TypeError(
            f"texts must be a list of strings, or one column; got {type(texts).__name__} of "
            f"{getattr(texts, 'ndim', None)} dimensions"
        )
    return texts


def _are_texts(rows: Any) -> bool:
    """Whether rows are for `encode`, which refuses what is no text, and not vectors or numbers."""
    if hasattr(rows, "dtype"):
        return rows.dtype.kind in ("U", "O", "T") and rows.ndim == 1
    return not all(
        hasattr(row, "ndim")
        or isinstance(row, (list, tuple))
        or (isinstance(row, (int, float, np.number)) and np.isfinite(row))
        for row in rows[:1] or [""]
    )


def _like(scores: np.ndarray, *sides: Any) -> Any:
    """Scores as a tensor where a side is one, or a list of them; on its device."""
    for side in sides:
        part = side[0] if isinstance(side, list) and side else side
        if hasattr(part, "detach"):
            import torch

            return torch.from_numpy(scores).to(part.device)
    return scores
