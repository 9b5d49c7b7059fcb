"""Encoders made from an averaging one by a change of its table: shorter, smaller, more even."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from paraphrastic_hf.encoders.static.table import Table


class Variants(ABC):
    """Base of `SentenceEncoder`: what changes its table alone."""

    @abstractmethod
    def _exact_table(self) -> Table:
        """The table to make others from."""

    @abstractmethod
    def _with_table(self, table: Table, suffix: str) -> Self:
        """An encoder with the same tokenizer, its name with a suffix."""

    def with_norm_power(self, power: float) -> Self:
        """This averaging encoder with the lengths of its rows raised to a power.

        Training with negatives makes rows long that tell topics apart. Below 1 the words of a text
        count more evenly, as they should when translations are judged (recipes/beyond-bleu-2019).

        Args:
            power: 0 makes all rows equally long; 1 changes nothing.

        Raises:
            ModelError: The encoder is no averaging model, or it is rounded.
            ValueError: `power` is NaN or infinite.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> even = SentenceEncoder.from_pretrained("english").with_norm_power(0.5)
        """
        return self._with_table(self._exact_table().with_norm_power(power), f"norms{power:g}")

    def with_precision(self, precision: str) -> Self:
        """This averaging encoder with two bytes a number, one or half a one; float32 has four.

        How far that is off is in its `rounding_error`. The packaged models are held in int4, in
        which they are saved, so that bfloat16 and float32 are exact for them. Of a table of floats
        a row is moved by some hundredths of its length in int8 and by up to some tenths in int4.
        Its `model` has the rounded numbers as float32, as what is saved has where none is asked
        for.

        Args:
            precision: `float32`, `bfloat16`, `int8` or `int4`, as `packing.packed` rounds to them.

        Raises:
            ModelError: The encoder is no averaging model, or it is rounded already.
            ValueError: `precision` is none of these.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> SentenceEncoder.from_pretrained("english").with_precision("int4").dimension
            512
        """
        return self._with_table(self._exact_table().with_precision(precision), precision)

    def with_dimension(self, dimension: int) -> Self:
        """This averaging encoder with its leading dimensions alone, so much smaller and faster.

        The packaged models are made for it: any prefix is a good model (recipes/default).

        Args:
            dimension: How many, from 1 to those it has.

        Raises:
            ModelError: The encoder is no averaging model, or it is rounded.
            ValueError: `dimension` is out of range.

        Example:
            >>> from paraphrastic_hf import SentenceEncoder
            >>> SentenceEncoder.from_pretrained("english").with_dimension(128).dimension
            128
        """
        return self._with_table(self._exact_table().with_dimension(dimension), str(dimension))
