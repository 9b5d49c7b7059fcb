"""`SentenceEncoder`: a model directory as one object with `encode` and `similarity`.

What it computes with is in `weights.py`, changes of tables in `table.py`, and the ways from texts
to vectors in `static.py` (averaging models, fast), `means.py` (without the C module) and
`batches.py` (any model). More methods are in `conventions.py`, scikit-learn's in `estimator.py`,
and those that make other encoders of one in `variants.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from paraphrastic_hf.encoders.conventions import Conventions
from paraphrastic_hf.encoders.estimator import Estimator
from paraphrastic_hf.encoders.languages import languages_kept, languages_of
from paraphrastic_hf.encoders.means import mean_rows
from paraphrastic_hf.encoders.push import Saved
from paraphrastic_hf.encoders.static.engine import StaticEncoder, serves
from paraphrastic_hf.encoders.static.table import Table
from paraphrastic_hf.encoders.storage.locate import (
    EVEN_MODELS,
    HubOptions,
    check_hub_options,
    holds_model,
    local_directory,
    packaged_folder,
    refuse_latent,
)
from paraphrastic_hf.encoders.storage.weights import Weights, refuse_settings
from paraphrastic_hf.encoders.variants import Variants
from paraphrastic_hf.encoders.vectors import checked_vectors, unit_length
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.extras import require
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.normalize import normalize as normalize_text
from paraphrastic_hf.text.subword import SubwordTokenizer

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel


class SentenceEncoder(Conventions, Estimator, Saved, Variants):
    """A sentence encoder with its tokenizer.

    sentence-transformers' functions run on it, and it is a transformer of scikit-learn.

    Args:
        model: Any encoder of this package, or the `Weights` of one.
        tokenizer: The tokenizer that the model was trained with.
        num_threads: How many threads `encode` uses; -1 for one a core. torch has its own.

    Attributes:
        name: Of the directory or repository it was loaded from, for reports; None if there is none.
        num_threads: How many threads `encode` uses; -1 for one a core.
        origin: The directory of this model, or of what it was made from; None if there is none.

    Raises:
        ModelError: The tokenizer has another number of entries than the model has rows.
        TypeError: `model` is a name, or there is no tokenizer; `from_pretrained` loads by name.
        ValueError: `num_threads` is 0 or below -1.

    Example:
        >>> encoder = SentenceEncoder.from_pretrained("runs/sp")  # doctest: +SKIP
        >>> encoder.similarity(["a cat sleeps"], ["a cat is sleeping"])  # doctest: +SKIP
        array([[0.93]], dtype=float32)
    """

    saving_options = ("precision",)

    def __init__(
        self,
        model: SentenceEncoderModel | Weights,
        tokenizer: TextTokenizer | None = None,
        *,
        num_threads: int = -1,
    ) -> None:
        if isinstance(model, (str, os.PathLike)) or tokenizer is None:
            given = repr(str(model)) if isinstance(model, (str, os.PathLike)) else "NAME"
            raise TypeError(f"load a model by SentenceEncoder.from_pretrained({given})")
        if num_threads < 1 and num_threads != -1:
            raise ValueError(f"num_threads must be at least 1, or -1 for all, got {num_threads}")
        self._weights = model if isinstance(model, Weights) else Weights(model)
        if self._weights.entries != tokenizer.vocab_size:
            raise ModelError(
                f"the model has {self._weights.entries} rows but its tokenizer "
                f"{tokenizer.vocab_size} entries; they belong to different models"
            )
        super().__init__()
        self.tokenizer = tokenizer
        self.origin: Path | None = None
        self._latent: str | None = None  # the variable that was asked for
        if num_threads > 0 and isinstance(tokenizer, SubwordTokenizer):
            tokenizer.num_threads = num_threads
        self.num_threads = num_threads
        is_fast = self._weights.is_averaging and serves(tokenizer)
        self._static = StaticEncoder(tokenizer, num_threads=num_threads) if is_fast else None

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str] | None = None,
        *,
        num_threads: int = -1,
        latent: str | None = None,
        device: Any = None,
        **hub: Unpack[HubOptions],
    ) -> SentenceEncoder:
        """Load a model directory, a packaged model, or a Hub repository written by this package.

        An averaging model is ready without torch, which is imported when `model` is asked for. One
        that stock sentence-transformers has trained further and saved is loaded, too, unless it was
        given prompts, fewer dimensions or another similarity, which only it follows.

        Args:
            name: A directory, the name of a packaged model, or that of a repository; where several
                fit, the first in this order is taken. None is the packaged English model, which
                needs no download. `simile` is the same with more even rows (`with_norm_power`), as
                chosen on newstest2015.
            num_threads: How many threads `encode` uses; -1 for one a core.
            latent: For a generative model, the variable whose mean is the embedding: `semantic`,
                which None stands for, or a language's code (thesis, 5.5).
            device: Where it computes, such as `cuda`. If None, an averaging model stays on the CPU,
                which is fast enough, and others go to a GPU, if there is one.
            **hub: `revision`, `token`, `cache_dir` and `local_files_only`, as `local_directory`
                takes them.

        Raises:
            ModelError: It is not there, no model of this package, damaged, or lacks the variable.
            TypeError: There is no option of a name.
            ValueError: `num_threads` is 0 or below -1, or there is no such device.

        Example:
            >>> SentenceEncoder.from_pretrained("english")
            SentenceEncoder('english', rows=62000, dimensions=512, languages=['en'])
        """
        check_hub_options(hub, cls.from_pretrained)
        if name in EVEN_MODELS and not holds_model(str(name)):
            refuse_latent(str(name), latent)
            source, power = EVEN_MODELS[str(name)]
            encoder = cls.from_pretrained(packaged_folder(source), num_threads=num_threads, **hub)
            encoder = encoder.with_norm_power(power)
            encoder.name = str(name)
            encoder._to(device)
            return encoder
        name = packaged_folder() if name is None else name
        directory = local_directory(name, **hub)
        refuse_settings(directory)
        tokenizer = load_tokenizer(directory)
        weights = Weights.read(directory, as_table=tokenizer.keeps_to_words)
        encoder = cls(weights, tokenizer, num_threads=num_threads)
        encoder.name = encoder.model_card_data.base_model = Path(name).name
        encoder._directory = encoder.origin = directory
        if latent is not None:
            if not weights.has_variables:
                refuse_latent(encoder.name, latent)
            try:
                encoder.model.read_variable(latent)  # type: ignore[operator]
            except ValueError as error:
                raise ModelError(f"{name}: {error}") from error
            encoder.name = f"{encoder.name}-{latent}"
            encoder._latent = latent
        encoder._to(device)
        return encoder

    def _to(self, device: Any) -> None:
        """Move the model to a device; unless one is named, means stay on the CPU."""
        if self._weights.is_averaging and (device is None or str(device) == "cpu"):
            return
        require("train", "torch", "transformers", what=f"device={str(device)!r}")
        from paraphrastic_hf.encoders.device import chosen_device

        self.model.to(chosen_device(device))

    @property
    def encoders(self) -> dict[str, SentenceEncoder]:
        """The encoders that a generative model consists of, one for each of its variables, by name.

        Returns:
            Nothing for a model that is one encoder, and where `latent` has chosen one.

        Example:
            >>> SentenceEncoder.from_pretrained("runs/bgt").encoders.keys()  # doctest: +SKIP
            dict_keys(['semantic', 'en', 'fr'])
        """
        if not self._weights.has_variables or self._latent is not None:
            return {}
        model: Any = self.model
        return {n: SentenceEncoder(model.reading(n), self.tokenizer) for n in model.variables()}

    def __repr__(self) -> str:
        """The encoder's name, and what can be told apart at a glance."""
        known = languages_of(self.origin)
        return (
            f"SentenceEncoder({self.name!r}, rows={self._weights.entries}, "
            f"dimensions={self.dimension}, languages={known or 'unknown'})"
        )

    @classmethod
    def from_table(
        cls,
        table: np.ndarray,
        tokenizer: TextTokenizer,
        name: str | None = None,
        *,
        num_threads: int = -1,
    ) -> SentenceEncoder:
        """An averaging encoder of given token vectors.

        Args:
            table: A row for each entry of the tokenizer, (vocab, dim), taken as float32.
            tokenizer: Any tokenizer of this package.
            name: For reports.
            num_threads: How many threads `encode` uses; -1 for one a core.

        Raises:
            ModelError: There are not as many rows as entries, or a number is NaN or infinite.
            ValueError: `num_threads` is 0 or below -1.

        Example:
            >>> from paraphrastic_hf.text.word import WordTokenizer
            >>> rows = np.array([[0, 0], [0, 0], [1, 0], [0, 1]])  # padding, unknown, cat, dog
            >>> SentenceEncoder.from_table(rows, WordTokenizer(["cat", "dog"])).encode("Cat, dog!")
            array([0.5, 0.5], dtype=float32)
        """
        weights = Weights(Table.of(table, name or "this encoder"))
        encoder = cls(weights, tokenizer, num_threads=num_threads)
        encoder.name = name
        return encoder

    def _exact_table(self) -> Table:
        return self._weights.exact_table(self.name)

    def _with_table(self, table: Table, suffix: str) -> Self:
        """The same tokenizer over another table, with the suffix at the end of the name."""
        encoder = type(self)(Weights(table), self.tokenizer, num_threads=self.num_threads)
        encoder.name = None if self.name is None else f"{self.name}-{suffix}"
        encoder.model_card_data.base_model = encoder.name
        encoder.origin = self.origin
        return encoder

    @property
    def model(self) -> SentenceEncoderModel:
        """The encoder as a transformers model. If it is trained, `encode` follows at once."""
        return self._weights.model

    def model_apart(self) -> SentenceEncoderModel:
        """The encoder as a transformers model; of a table that is kept it is made anew."""
        return self._weights.model_to_save()

    @property
    def dimension(self) -> int:
        """How many numbers an embedding has."""
        return self._weights.dimension

    @property
    def rounding_error(self) -> float:
        """How far a row is from the exact one at most, as a share of its length; 0 if exact."""
        return self._weights.rounding_error

    def table(self, rows: np.ndarray | slice | None = None) -> np.ndarray | None:
        """The rows that an averaging model takes means of, (rows, dim) float32.

        Args:
            rows: The numbers of those that are wanted, (rows,), or a slice; all if None.

        Returns:
            None for other kinds of model, and for one that is not on the CPU in float32.
        """
        table = self._weights.table()
        return None if table is None else table.rows(rows)

    @property
    def device(self) -> Any:
        """Where it computes: the CPU for an averaging model, unless its `model` was moved."""
        return "cpu" if self._weights.table() is not None else self.model.device

    def save_pretrained(
        self, directory: str | os.PathLike[str], *, precision: str = "float32"
    ) -> None:
        """Write a directory that every loader of the README reads, its numbers as float32.

        Args:
            directory: Where to write; made if need be.
            precision: Or as `float16`, or, of an averaging encoder, as `int8` or `int4`, which
                stock sentence-transformers cannot read; this package and `AutoModel` can.

        Raises:
            OSError: The disk is full or the directory cannot be written.
            ValueError: `precision` is none of these, or not for this encoder.

        Example:
            >>> tiny = SentenceEncoder.from_pretrained("english").with_dimension(80)
            >>> tiny.save_pretrained("runs/tiny", precision="int4")  # doctest: +SKIP
        """
        require("train", "torch", "transformers", what="saving a model")
        from paraphrastic_hf.encoders.storage.directory import SENTENCE_ENCODER, save_model

        with languages_kept(self.origin, Path(directory)):
            save_model(
                self.model_apart(),
                self.tokenizer,
                Path(directory),
                SENTENCE_ENCODER,
                precision=precision,
                packed_rows=self._weights.packed_rows(precision),
            )
        self._weights.written(Path(directory))

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
        """Embeddings, (texts, dim) float32, by the fast path where it serves."""
        texts = list(texts)
        if self._static is not None and not apart and (table := self._weights.table()) is not None:
            with np.errstate(all="ignore"):  # what overflows is refused
                vectors = self._static.encode(
                    texts, table.numbers, normalize=normalize, progress=progress
                )
            return checked_vectors(vectors, len(texts), self.name)
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise TypeError(f"texts[{i}] must be a string, got {type(text).__name__}")
        if apart:
            texts = [keep_apart(normalize_text(text, self.tokenizer.lowercase)) for text in texts]
        ids = self.tokenizer.encode_batch(texts)
        needs_no_torch = self._weights.is_table or self.tokenizer.keeps_to_words
        if needs_no_torch and (table := self._weights.table()) is not None:
            with np.errstate(all="ignore"):
                vectors = mean_rows(table.numbers, ids, progress=progress)
            checked_vectors(vectors, len(texts), self.name)
            return unit_length(vectors) if normalize else vectors
        from paraphrastic_hf.encoders.batches import embed_texts

        order = np.arange(len(ids))
        model = self.model if device is None else self.model.to(device)
        embeddings = embed_texts(model, ids, order, batch_size=batch_size, progress=progress)
        vectors = checked_vectors(embeddings, len(texts), self.name)
        return unit_length(vectors) if normalize else vectors

    def forget(self) -> bool:
        """Forget the words met so far, which changes the speed of `encode` and nothing else.

        An averaging encoder remembers the tokens of words, so text that it has met is encoded
        faster than text that it has not; to measure the speed on the latter, forget first.

        Returns:
            Whether this encoder remembers words at all.

        Example:
            >>> SentenceEncoder.from_pretrained("english").forget()
            True
        """
        if self._static is None:
            return False
        self._static.forget()
        return True

    def encode_and_count(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Embeddings of texts, (texts, dim) float32, and how many tokens each has, (texts,); in one
        pass where the fast path serves.

        Raises:
            TypeError: `texts` holds anything but strings.
        """
        table = self._weights.table()
        if self._static is None or table is None:
            return self.encode(texts), np.diff(self.tokenizer.encode_batch(texts).offsets)
        counts = np.empty(len(texts), np.int32)
        return self._static.encode(texts, table.numbers, tokens=counts), counts
