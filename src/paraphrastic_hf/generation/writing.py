"""How sentences are searched or sampled, what is asked, and what a model wrote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

# that a recipe may ask for
MOST_BEAMS, MOST_TOKENS, MOST_OUTPUTS = 1000, 100_000, 100_000


@dataclass(frozen=True)
class GenerationOptions:
    """Options of beam search, or of sampling.

    Attributes:
        beams: Beginnings kept at each step; 1 takes the likeliest token each time.
        sample: Draw each token instead, from the likeliest that share `top_p` of the probability.
        top_p: That share, above 0, at most 1.
        temperature: Above 0; below 1 likelier tokens are drawn more often, above 1 less often.
        outputs: Sentences written from each text, 1 or more; at most `beams` unless drawn.
        max_tokens: Most tokens of a sentence, its end included, 1 or more.
        seed: Number that every draw follows from.
        length_penalty: Power of its length by which a beam's log-probability is divided; 1 compares
            means over tokens, 0 sums, and above 1 long sentences win more often.

    Raises:
        ValueError: A number is out of range, or `outputs` larger than `beams`.

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
                f"{self.outputs} sentences from each text need as many beams, got {self.beams}; "
                "raise beams, or sample"
            )

    def after(self, texts: int) -> GenerationOptions:
        """The same with draws of their own, for what comes after some texts of one stream.

        Args:
            texts: How many texts were written from before, at least 0; after none, it is the same.

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
        """What transformers' `generate` calls the settings of a search; `search.py` draws samples,
        and sets `max_tokens`."""
        options: dict[str, Any] = {"do_sample": False, "num_beams": 1, "num_return_sequences": 1}
        if not self.sample:
            options |= {"num_beams": self.beams, "num_return_sequences": self.outputs}
            if self.beams > 1:
                options["length_penalty"] = self.length_penalty
        return options


@dataclass(frozen=True)
class GeneratedText:
    """A sentence that a model wrote.

    Attributes:
        text: The sentence, as the tokenizer normalized its pieces.
        nats: Mean over its tokens of ln of their probability, at most 0. NaN where nothing was
            written.
        ids: Its tokens, the end mark last unless it was cut off, without the token that begins
            every sentence.
    """

    text: str
    nats: float
    ids: tuple[int, ...] = ()


NOTHING = GeneratedText("", float("nan"))


class Translate(Protocol):
    """From lines to the translations of each."""

    def __call__(
        self, lines: Sequence[str], writing: GenerationOptions, *, scores: bool = True
    ) -> list[list[GeneratedText]]:
        """Translate lines.

        Args:
            scores: Whether `nats` of each translation is wanted.
        """


def listed(texts: Iterable[str], name: str = "texts") -> list[str]:
    """The texts as a list, whatever holds them."""
    lines = list(texts)
    if isinstance(texts, str) or not all(isinstance(line, str) for line in lines):
        raise TypeError(f"{name} must be a list of strings")
    return lines
