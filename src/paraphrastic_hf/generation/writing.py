"""Options of beam search and sampling, and generated text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# Upper bounds of options in recipes
MOST_BEAMS, MOST_TOKENS, MOST_OUTPUTS = 1000, 100_000, 100_000


@dataclass(frozen=True)
class GenerationOptions:
    """Options of beam search and sampling.

    Attributes:
        beams: Beam size, at least 1. 1 is greedy search.
        sample: Sample the tokens instead of beam search.
        top_p: With `sample`, probability mass of nucleus sampling, above 0, at most 1.
        temperature: With `sample`, softmax temperature, above 0.
        outputs: Number of sentences per text, at least 1, and at most `beams` without `sample`.
        max_tokens: Maximum number of tokens in a sentence, including the end mark, at least 1.
        seed: Seed of `sample`, 0 or more.
        length_penalty: A beam's log-probability is divided by its length to this power. 1 compares
            means, 0 sums. Values above 1 favor long sentences.

    Raises:
        ValueError: A number is out of range, or `outputs` is larger than `beams`.

    Example:
        >>> GenerationOptions(sample=True, outputs=3, seed=1).outputs
        3
    """

    beams: int = 5
    sample: bool = False
    top_p: float = 0.9
    temperature: float = 1.0
    outputs: int = 1
    max_tokens: int = 100
    seed: int = 0
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        for name in ("beams", "outputs", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")
        if not math.isfinite(self.length_penalty):
            raise ValueError(f"length_penalty must be finite, got {self.length_penalty}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed must be from 0 to 2**63 - 1, got {self.seed}")
        if not self.sample and self.outputs > self.beams:
            raise ValueError(
                f"Without `sample`, `outputs` must be at most `beams` ({self.beams}), "
                f"got {self.outputs}"
            )

    def after(self, texts: int) -> GenerationOptions:
        """Return a copy of the options with another seed, for later texts of a stream.

        Args:
            texts: Number of earlier texts, at least 0. For 0 the options do not change.

        Example:
            >>> how = GenerationOptions(sample=True, seed=1)
            >>> how.after(0) == how, how.after(64) == how
            (True, False)
        """
        if not self.sample or not texts:
            return self
        drawn = np.random.SeedSequence([self.seed, texts]).generate_state(1, np.uint64)
        return replace(self, seed=int(drawn[0] >> np.uint64(1)))

    def options(self) -> dict[str, Any]:
        """Return arguments for transformers' `generate`, without sampling and `max_tokens`."""
        options: dict[str, Any] = {"do_sample": False, "num_beams": 1, "num_return_sequences": 1}
        if not self.sample:
            options |= {"num_beams": self.beams, "num_return_sequences": self.outputs}
            if self.beams > 1:
                options["length_penalty"] = self.length_penalty
        return options


@dataclass(frozen=True)
class GeneratedText:
    """A generated sentence.

    Attributes:
        text: Decoded text of the sentence.
        nats: Mean log-probability of the sentence's tokens in nats, at most 0. NaN if nothing was
            written.
        ids: Token ids of the sentence, without the begin token. The end mark is included unless the
            sentence was cut off.
    """

    text: str
    nats: float
    ids: tuple[int, ...] = ()


NOTHING = GeneratedText("", float("nan"))


# A function of lines and options that translates. With `scores=True`, it also computes `nats`.
Translate = Callable[..., list[list[GeneratedText]]]


def listed(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Return texts as a list. Raise an error for anything but strings."""
    lines = list(texts)
    if isinstance(texts, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"{name} must be a list of strings")
    return lines
