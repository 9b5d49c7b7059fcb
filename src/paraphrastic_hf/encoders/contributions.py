"""Contribution of each token to the cosine of two texts.

An averaging model (thesis, 3.3) embeds a text as the mean of its token vectors: x_1 ... x_n for one
text and y_1 ... y_m for the other. The cosine of the two means is a sum over pairs of tokens:

    cos(mean x, mean y) = sum_ij  x_i . y_j / (n m |mean x| |mean y|)

Each pair's share is its term of this sum. A token's share is the sum over the token's pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine
from paraphrastic_hf.errors import ModelError


@dataclass(frozen=True, eq=False)
class TokenContributions:
    """The cosine of two texts, split into the shares of token pairs.

    Attributes:
        first: Known tokens of the first text, in order.
        second: Known tokens of the second text, in order.
        pairs: Share of each pair, (tokens of first, tokens of second) float64. The shares sum to
            the cosine. They are all 0 if one of the texts has a zero embedding.

    Example:
        >>> encoder = SentenceEncoder.from_pretrained("english")
        >>> found = token_contributions(encoder, "A cat sleeps.", "The cat is asleep.")
        >>> found.first[found.of_first().argmax()]
        '▁cat'
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    pairs: np.ndarray

    @property
    def cosine(self) -> float:
        """Cosine of the two texts, -1 to 1."""
        return float(np.clip(self.pairs.sum(), -1, 1))

    def of_first(self) -> np.ndarray:
        """Return the share of each token of the first text, summed over its pairs, (tokens,)."""
        return np.asarray(self.pairs.sum(1))

    def of_second(self) -> np.ndarray:
        """Return the share of each token of the second text, summed over its pairs, (tokens,)."""
        return np.asarray(self.pairs.sum(0))


def token_contributions(encoder: SentenceEncoder, first: str, second: str) -> TokenContributions:
    """Split the cosine of two texts into the shares of all pairs of their tokens.

    The split is exact. It exists only for models that average token vectors (thesis, 3.3).

    Args:
        encoder: Averaging model with any tokenizer.
        first: First text.
        second: Second text.

    Raises:
        ModelError: If the encoder is not an averaging model. Use `left_out` for other models.
        TypeError: If an argument is not a string.

    Example:
        >>> from paraphrastic_hf.text.word import WordTokenizer
        >>> rows = np.array([[0, 0], [0, 0], [3, 0], [0, 4]])  # padding, unknown, cat, dog
        >>> encoder = SentenceEncoder.from_table(rows, WordTokenizer(["cat", "dog"]))
        >>> token_contributions(encoder, "cat dog", "dog").pairs
        array([[0. ],
               [0.8]])
    """
    table = encoder.table()
    if table is None:
        raise ModelError(
            f"{encoder.name or 'this encoder'} is not an averaging model. Use `left_out`"
        )
    for text in (first, second):
        if not isinstance(text, str):
            raise TypeError(f"A text must be a string, got {type(text).__name__}")
    ids = encoder.tokenizer.encode_batch([first, second])
    names = encoder.tokenizer.tokens()
    parts = [_parts(table[ids[side]].astype(np.float64)) for side in (0, 1)]
    tokens = [tuple(names[i] for i in ids[side]) for side in (0, 1)]
    return TokenContributions(tokens[0], tokens[1], parts[0] @ parts[1].T)


def left_out(encoder: Any, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """Return how much the cosine of two texts falls when a word is removed, (words,) for each text,
    -2 to 2. Words are separated by white space. `encoder` is any object with `encode`.
    """
    shorter = [_without_each(first.split()), _without_each(second.split())]
    texts = [first, second, *shorter[0], *shorter[1]]
    vectors = checked_vectors(encoder.encode(texts), len(texts)).astype(np.float64)
    whole = pairwise_cosine(vectors[:1], vectors[1:2])
    end = 2 + len(shorter[0])
    return (
        whole - pairwise_cosine(vectors[2:end], vectors[1:2]),
        whole - pairwise_cosine(vectors[end:], vectors[:1]),
    )


def _parts(rows: np.ndarray) -> np.ndarray:
    """Divide each row by the length of the sum of all rows. If that sum is zero, return zeros."""
    if not len(rows):
        return rows
    total = rows.sum(0)
    length = float(np.linalg.norm(total))
    return rows / length if length > 0 else np.zeros_like(rows)


def _without_each(words: Sequence[str]) -> list[str]:
    return [" ".join([*words[:i], *words[i + 1 :]]) for i in range(len(words))]
