"""`SentenceEncoder`: a model directory as one object with `encode` and `similarity`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paraphrastic_hf.encoding.locate import holds_model, local_directory, packaged_model
from paraphrastic_hf.encoding.static import StaticEncoder, serves
from paraphrastic_hf.encoding.table import (
    check_finite,
    packed,
    read_table,
    rounding_error,
    row_lengths,
    shortened,
    unpacked,
    width,
)
from paraphrastic_hf.encoding.vectors import pairwise_cosine, unit_length
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.normalize import normalize as normalize_text
from paraphrastic_hf.text.subword import SubwordTokenizer

EVEN_MODELS = {"simile": ("english", 0.5)}  # packaged models with rows of other lengths

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel


class SentenceEncoder:
    """A sentence encoder with its tokenizer.

    Args:
        model: Any encoder of this package.
        tokenizer: Its tokenizer.
        num_threads: Threads of `encode`; -1 for one a core. Those of torch, which encodes with
            models that do not average, are `torch.set_num_threads`'s.

    Attributes:
        name: Of the directory or repository it was loaded from, for reports.
        rounding_error: How far rows are from those of the exact table, as a share of their length:
            the furthest; 0 but for `with_precision`.

    Example:
        >>> encoder = SentenceEncoder.from_pretrained("runs/sp")  # doctest: +SKIP
        >>> encoder.similarity(["a cat sleeps"], ["a cat is sleeping"])  # doctest: +SKIP
        array([0.93], dtype=float32)
    """

    def __init__(
        self, model: SentenceEncoderModel, tokenizer: TextTokenizer, *, num_threads: int = -1
    ) -> None:
        _check_rows(sum(len(table.weight) for table in model.tables()), tokenizer)
        self._model: SentenceEncoderModel | None = model
        self._directory: Path | None = None
        self._table: np.ndarray | None = None
        self.tokenizer = tokenizer
        self.name: str | None = None
        self.rounding_error = 0.0
        is_mean = type(model).__name__ == "AveragingModel"
        self._set_threads(num_threads, is_mean and serves(tokenizer))

    def _set_threads(self, num_threads: int, is_fast: bool) -> None:
        if num_threads < 1 and num_threads != -1:
            raise ValueError(f"num_threads must be at least 1, or -1 for all, got {num_threads}")
        if num_threads > 0 and isinstance(self.tokenizer, SubwordTokenizer):
            self.tokenizer.num_threads = num_threads
        self._num_threads = num_threads
        self._static = StaticEncoder(self.tokenizer, num_threads=num_threads) if is_fast else None

    @classmethod
    def from_pretrained(
        cls, name: str | os.PathLike[str] | None = None, *, num_threads: int = -1
    ) -> SentenceEncoder:
        """Load a model directory, a Hub repository written by this package, or a packaged model.

        Without a name it is the packaged English model, which needs no download; `simile` is the
        same with even rows (`with_norm_power`).

        An averaging model is ready without torch, which is imported when `model` is asked for.

        Args:
            name: Directory, packaged model or repository, in this order.
            num_threads: As of the class.

        Raises:
            ModelError: It is not there, or not one of ours, or damaged.
            ValueError: `num_threads` is 0 or below -1.
        """
        if name in EVEN_MODELS and not holds_model(str(name)):
            source, power = EVEN_MODELS[str(name)]
            encoder = cls.from_pretrained(packaged_model(source), num_threads=num_threads)
            encoder = encoder.with_norm_power(power)
            encoder.name = str(name)
            return encoder
        name = packaged_model() if name is None else name
        directory = local_directory(name)
        tokenizer = load_tokenizer(directory)
        table = read_table(directory) if serves(tokenizer) else None
        if table is None:
            from paraphrastic_hf.encoding.directory import load_model

            encoder = cls(load_model(directory), tokenizer, num_threads=num_threads)
            encoder.name = Path(name).name
            return encoder
        encoder = cls.from_table(table, tokenizer, str(directory), num_threads=num_threads)
        encoder._directory, encoder.name = directory, Path(name).name
        return encoder

    @classmethod
    def from_table(
        cls,
        table: np.ndarray,
        tokenizer: TextTokenizer,
        name: str | None = None,
        *,
        num_threads: int = -1,
    ) -> SentenceEncoder:
        """An averaging encoder of given rows.

        Args:
            table: A row an entry of the tokenizer, (vocab, dim) float32.
            tokenizer: Its tokenizer.
            name: For reports.
            num_threads: As of the class.

        Raises:
            ModelError: Not as many rows as entries, or a number that is not finite.
        """
        table = np.ascontiguousarray(table, np.float32)
        _check_rows(len(table), tokenizer)
        check_finite(table, name or "this encoder")
        if not serves(tokenizer):
            from paraphrastic_hf.encoding.directory import averaging_model

            encoder = cls(averaging_model(table), tokenizer, num_threads=num_threads)
        else:
            encoder = cls.__new__(cls)
            encoder._model, encoder._directory, encoder._table = None, None, shortened(table)
            encoder.rounding_error = 0.0
            encoder.tokenizer = tokenizer
            encoder._set_threads(num_threads, True)
        encoder.name = name
        return encoder

    def with_norm_power(self, power: float) -> SentenceEncoder:
        """This averaging encoder with the lengths of its rows raised to a power.

        Training with negatives gives the words that tell topics apart long rows, and function words
        short ones. Below 1 the words of a text count more evenly, as they should when translations
        are judged (recipes/beyond-bleu-2019).

        Args:
            power: 0 makes all rows equally long; 1 changes nothing.

        Raises:
            ModelError: The encoder is no averaging model, or it is rounded.
            ValueError: `power` is no number.

        Example:
            >>> even = SentenceEncoder.from_pretrained("english").with_norm_power(0.5)
        """
        if not np.isfinite(power):
            raise ValueError(f"power must be a number, got {power}")
        table = self._rows_to_change()
        norms = row_lengths(table)
        factors = np.where(norms > 0, norms, 1) ** (power - 1)
        name = None if self.name is None else f"{self.name}-norms{power:g}"
        rows = table * factors.astype(np.float32)[:, None]
        return self.from_table(rows, self.tokenizer, name, num_threads=self._num_threads)

    def with_precision(self, precision: str) -> SentenceEncoder:
        """This averaging encoder with a table of two bytes or one a number, where float32 has four.

        How far that is off is in `rounding_error` of what is returned. Of the packaged English
        model, whose numbers have five binary digits, bfloat16 is exact; int8 is off by 0.043 of a
        row's length at most, which moves no cosine of STS-B dev by more than 0.0024. It saves
        memory (the packaged models' tables have two bytes a number anyway); the speed is the same.
        Saved, the numbers are the rounded ones, as float32; `model` holds them so, too.

        Args:
            precision: `float32`, `bfloat16` (two bytes a number, 8 binary digits) or `int8` (one
                byte, 127 steps up and down to the largest number of a row).

        Raises:
            ModelError: The encoder is no averaging model, its tokens cross white space, or it is
                rounded already.
            ValueError: `precision` is none of these.

        Example:
            >>> small = SentenceEncoder.from_pretrained("english").with_precision("int8")
            >>> small.rounding_error < 0.05
            True
        """
        table = self._rows_to_change()
        if not serves(self.tokenizer):
            raise ModelError(
                f"only the fast path reads packed tables, and it does not serve "
                f"{type(self.tokenizer).__name__}"
            )
        changed = self.from_table(table, self.tokenizer, num_threads=self._num_threads)
        changed.name = None if self.name is None else f"{self.name}-{precision}"
        if precision != "float32":
            changed._table = packed(table, precision)
            changed.rounding_error = rounding_error(changed._table, table)
        return changed

    def with_dimension(self, dimension: int) -> SentenceEncoder:
        """This averaging encoder with its leading dimensions alone, so much smaller and faster.

        The packaged models are made for it: any prefix is a good model (recipes/default).

        Args:
            dimension: How many, from 1 to those it has.

        Raises:
            ModelError: The encoder is no averaging model, or it is rounded.
            ValueError: `dimension` is out of range.

        Example:
            >>> SentenceEncoder.from_pretrained("english").with_dimension(128).dimension
            128
        """
        if not 1 <= dimension <= self.dimension:
            raise ValueError(f"dimension must be from 1 to {self.dimension}, got {dimension}")
        rows = self._rows_to_change()[:, :dimension]
        name = None if self.name is None else f"{self.name}-{dimension}"
        return self.from_table(rows, self.tokenizer, name, num_threads=self._num_threads)

    def _rows_to_change(self) -> np.ndarray:
        """The rows of an averaging model on any device, (vocab, dim) float32."""
        if self.rounding_error:
            raise ModelError(
                f"{self.name} is rounded already, by up to {self.rounding_error:.2g} of a row; "
                "begin from the exact encoder"
            )
        table = self.table()
        if table is None and type(self.model).__name__ == "AveragingModel":
            table = self.model.get_input_embeddings().weight.detach().float().cpu().numpy()
        if table is None:
            raise ModelError(
                f"{type(self.model).__name__} has no rows to change; only averaging models have"
            )
        return table

    @property
    def model(self) -> SentenceEncoderModel:
        """The encoder itself."""
        if self._model is None:
            from paraphrastic_hf.encoding.directory import averaging_model, load_model

            if self._directory is not None:
                self._model = load_model(self._directory)
            else:
                assert self._table is not None
                self._model = averaging_model(unpacked(self._table))
            self._table = None
        return self._model

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that every loader of the README reads."""
        from paraphrastic_hf.encoding.directory import averaging_model, save_directory

        is_packed = self._model is None and self._directory is None and self._table is not None
        model = averaging_model(unpacked(self._table)) if is_packed else self.model  # type: ignore[arg-type]
        save_directory(model, self.tokenizer, Path(directory))

    @property
    def dimension(self) -> int:
        """Numbers in an embedding."""
        if self._table is not None:
            return width(self._table)
        return int(self.model.config.hidden_size)

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = 1024,
        normalize: bool = False,
        progress: bool = False,
        apart: bool = False,
    ) -> np.ndarray:
        """Embeddings of texts.

        Args:
            texts: One text or many; the empty text, and one without a known token, gives zeros.
            batch_size: Texts at a time; changes the speed, not the vectors.
            normalize: Scale to unit length (zeros stay zeros).
            progress: Show a progress bar.
            apart: The texts are in a language that training kept apart (thesis 5.3.2).

        Returns:
            float32, (texts, dim), or (dim,) for one text.

        Raises:
            TypeError: If `texts` holds anything but strings.
            ValueError: `batch_size` is below 1, where texts are encoded in batches.
        """
        if isinstance(texts, str):
            options = {"normalize": normalize, "progress": progress, "apart": apart}
            return np.asarray(self.encode([texts], batch_size=batch_size, **options)[0])
        if self._static is not None and not apart and (table := self._rows()) is not None:
            return self._static.encode(texts, table, normalize=normalize, progress=progress)
        texts = list(texts)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"texts[{i}] must be a string, got {type(text).__name__}")
        if apart:
            texts = [keep_apart(normalize_text(text, self.tokenizer.lowercase)) for text in texts]
        from paraphrastic_hf.encoding.batches import embed_rows

        ids = self.tokenizer.encode_batch(texts)
        rows = np.arange(len(ids))
        vectors = (
            embed_rows(self.model, ids, rows, batch_size=batch_size, progress=progress)
            .cpu()
            .numpy()
        )
        return unit_length(vectors) if normalize else vectors

    def encode_and_count(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Embeddings of texts, (texts, dim) float32, and their numbers of tokens, (texts,), in one
        pass where the fast path serves.

        Raises:
            TypeError: If `texts` holds anything but strings.
        """
        table = self._rows() if self._static is not None else None
        if self._static is None or table is None:
            return self.encode(texts), np.diff(self.tokenizer.encode_batch(texts).offsets)
        counts = np.empty(len(texts), np.int32)
        return self._static.encode(texts, table, tokens=counts), counts

    def table(self) -> np.ndarray | None:
        """The rows an averaging model averages, (vocab, dim) float32; None for another kind of
        model, or one that is not on the CPU in float32."""
        rows = self._rows()
        return None if rows is None else unpacked(rows)

    def _rows(self) -> np.ndarray | None:
        """The table where the fast path can read it: before the model is loaded, which may then be
        changed, maybe `shortened`; after, the model's own memory."""
        if self._model is None:
            return self._table
        if type(self._model).__name__ != "AveragingModel":
            return None
        weight = self._model.get_input_embeddings().weight.detach()
        is_plain = weight.device.type == "cpu" and str(weight.dtype) == "torch.float32"
        return weight.numpy() if is_plain and weight.is_contiguous() else None

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
        """Cosine of each pair, (pairs,), from -1 to 1; 0 where a side has no known token.

        Raises:
            ValueError: If the two lists differ in length.
        """
        first, second = ([side] if isinstance(side, str) else side for side in (first, second))
        if len(first) != len(second):
            raise ValueError(
                f"the two sides must be equally many, got {len(first)} and {len(second)}"
            )
        return pairwise_cosine(self.encode(first), self.encode(second))


def _check_rows(rows: int, tokenizer: TextTokenizer) -> None:
    if rows != tokenizer.vocab_size:
        raise ModelError(
            f"the model has {rows} rows but its tokenizer {tokenizer.vocab_size} entries; "
            "they belong to different models"
        )
