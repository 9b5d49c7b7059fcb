"""What each token adds to the cosine of two texts.

An averaging model (thesis, 3.3) gives the mean of a text's token vectors, x_1 ... x_n for one text
and y_1 ... y_m for the other. The cosine of the two means is then a sum over pairs of tokens,

    cos(mean x, mean y) = sum_ij  x_i . y_j / (n m |mean x| |mean y|),

so each pair has a share in it that is exact and not an estimate, and the shares of a token's pairs
sum to its own. A share says what is in the sum, and not what the cosine would be without the token:
that would change the lengths of the means as well. `left_out` computes just that, for any encoder,
at the price of one more text for each word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import checked_vectors, pairwise_cosine
from paraphrastic_hf.errors import ModelError


@dataclass(frozen=True, eq=False)
class TokenContributions:
    """The cosine of two texts, taken apart into pairs of their tokens.

    Attributes:
        first: Tokens of the first text that the model knows, in their order, as its tokenizer
            writes them.
        second: Known tokens of the second text, in their order.
        pairs: Share of each pair in the cosine, (tokens of first, tokens of second) float64; their
            sum is the cosine. Zeros where the vector of a text is zero.

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
        """The cosine of the two texts, -1 to 1: the sum of all pairs."""
        return float(np.clip(self.pairs.sum(), -1, 1))

    def of_first(self) -> np.ndarray:
        """Share of each token of the first text in the cosine, (tokens,); they sum to it."""
        return np.asarray(self.pairs.sum(1))

    def of_second(self) -> np.ndarray:
        """Share of each token of the second text in the cosine, (tokens,); they sum to it."""
        return np.asarray(self.pairs.sum(0))


def token_contributions(encoder: SentenceEncoder, first: str, second: str) -> TokenContributions:
    """Take the cosine of two texts apart into what every pair of their tokens adds to it.

    This is exact for models that average the rows of one table, and only for these (thesis, 3.3).

    Args:
        encoder: An averaging model, whose tokens may be words, pieces or character n-grams.
        first: Any text.
        second: The text that it is compared with.

    Raises:
        ModelError: The encoder does more than average; `left_out` serves every encoder.
        TypeError: A text is no string.

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
            f"{encoder.name or 'this encoder'} does more than average token vectors, so its cosine "
            "is no sum over tokens; left_out says what each word changes"
        )
    for text in (first, second):
        if not isinstance(text, str):
            raise TypeError(f"a text must be a string, got {type(text).__name__}")
    ids = encoder.tokenizer.encode_batch([first, second])
    names = encoder.tokenizer.tokens()
    parts = [_parts(table[ids[side]].astype(np.float64)) for side in (0, 1)]
    tokens = [tuple(names[i] for i in ids[side]) for side in (0, 1)]
    return TokenContributions(tokens[0], tokens[1], parts[0] @ parts[1].T)


def left_out(encoder: Any, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
    """Leave out one word at a time, and see by how much the cosine of two texts falls.

    Words are what stands between white space. This needs nothing of an encoder but `encode`. The
    numbers do not sum to the cosine, and a negative one says that the texts are nearer without the
    word.

    Args:
        encoder: A `SentenceEncoder`, or any object with `encode` such as a `SentenceTransformer`.
        first: Any text.
        second: The text that it is compared with.

    Returns:
        For each word of the first text, and for each of the second, the cosine of the whole texts
        minus that without the word, (words,) each, from -2 to 2.

    Raises:
        ModelError: The encoder gives NaN, infinity, or not one vector for each text.

    Example:
        >>> encoder = SentenceEncoder.from_pretrained("english")
        >>> of_first, of_second = left_out(encoder, "A cat sleeps.", "The cat is asleep.")
        >>> of_first.round(2).tolist()
        [-0.0, 0.38, 0.15]
    """
    shorter = [_without_each(first.split()), _without_each(second.split())]
    texts = [first, second, *shorter[0], *shorter[1]]
    vectors = checked_vectors(encoder.encode(texts), len(texts)).astype(np.float64)
    whole = pairwise_cosine(vectors[:1], vectors[1:2])
    start, end = 2, 2 + len(shorter[0])
    return (
        whole
        - pairwise_cosine(
            vectors[start:end], np.broadcast_to(vectors[1], vectors[start:end].shape)
        ),
        whole - pairwise_cosine(vectors[end:], np.broadcast_to(vectors[0], vectors[end:].shape)),
    )


def _parts(rows: np.ndarray) -> np.ndarray:
    """The rows, each divided by their number and by the length of their mean: they sum to a vector
    of length 1, or are zeros."""
    if not len(rows):
        return rows
    total = rows.sum(0)
    length = float(np.linalg.norm(total))
    return rows / length if length > 0 else np.zeros_like(rows)


def _without_each(words: Sequence[str]) -> list[str]:
    return [" ".join([*words[:i], *words[i + 1 :]]) for i in range(len(words))]
