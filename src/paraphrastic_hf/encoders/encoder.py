"""`SentenceEncoder`: load a model directory, then call `encode` and `similarity`.

`storage/weights.py` reads models. Encoding runs in `static/engine.py` (averaging models),
`static/table.py` (averaging models without the C extension) or `batches.py` (all other models).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from paraphrastic_hf.encoders.languages import languages_kept, languages_of
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.static.engine import StaticEncoder, serves
from paraphrastic_hf.encoders.static.table import Table, mean_rows
from paraphrastic_hf.encoders.storage.locate import (
    DERIVED_MODELS,
    HubOptions,
    check_hub_options,
    holds_model,
    local_directory,
    packaged_folder,
    refuse_latent,
)
from paraphrastic_hf.encoders.storage.weights import Weights, refuse_settings
from paraphrastic_hf.encoders.vectors import (
    as_array,
    check_dimension,
    check_dtype,
    checked_vectors,
    cosine_matrix,
    leading,
    pairwise_cosine,
    quantized,
    rounded,
    unit_length,
)
from paraphrastic_hf.errors import ModelError, nearest_name, refuse_keywords
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.arrow import (
    arrow_column,
    holds_arrow,
    layout,
    python_strings,
    string_blocks,
    vectors_column,
)
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.normalize import normalize as normalize_text
from paraphrastic_hf.text.subword import SubwordTokenizer

if TYPE_CHECKING:
    import pyarrow as pa

    from paraphrastic_hf.models.base import SentenceEncoderModel

SETTINGS = {"normalize_embeddings": False, "truncate_dim": None, "batch_size": 1024}
IGNORED_IF_NONE = ("pool", "chunk_size")  # options that sentence-transformers passes as None


class CardData:
    """Scores that evaluators of sentence-transformers report, by evaluator (`metrics`)."""

    def __init__(self, base_model: str | None) -> None:
        self.base_model = base_model
        self.metrics: dict[str, dict[str, float]] = {}

    def set_evaluation_metrics(
        self, evaluator: Any, metrics: dict[str, float], epoch: int = 0, step: int = 0
    ) -> None:
        """Store the scores of an evaluator, replacing its earlier scores."""
        self.metrics[getattr(evaluator, "name", "") or type(evaluator).__name__] = dict(metrics)


class SentenceEncoder(HubMixin):
    """A sentence encoder with its tokenizer.

    It works with sentence-transformers' evaluators and utilities, and as a step of scikit-learn
    pipelines. Neither library is required.

    Args:
        model: Any sentence encoder of this package, or its `Weights`.
        tokenizer: Tokenizer that the model was trained with.
        num_threads: Number of threads of `encode`. -1 means one per core. Models that need torch
            ignore it and use torch's setting.

    Attributes:
        name: Directory or repository name, for reports. None for an encoder built in memory.
        model_card_data: Scores reported by sentence-transformers' evaluators.
        origin: Directory that the model was loaded from. Copies with changed precision or dimension
            keep it. None for an encoder built in memory.

    Raises:
        ModelError: If the vocabulary size differs from the number of embedding rows.
        TypeError: If `model` is a name. To load by name, use `from_pretrained`.
        ValueError: If `num_threads` is 0 or below -1.

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
            raise TypeError(f"Load a model with SentenceEncoder.from_pretrained({given})")
        if num_threads < 1 and num_threads != -1:
            raise ValueError(f"num_threads must be positive or -1 (all cores), got {num_threads}")
        self._weights = model if isinstance(model, Weights) else Weights(model)
        if self._weights.entries != tokenizer.vocab_size:
            raise ModelError(
                f"The model has {self._weights.entries} embedding rows, but the tokenizer has "
                f"{tokenizer.vocab_size} entries. Load both from one directory"
            )
        self.tokenizer = tokenizer
        self.name: str | None = None
        self.model_card_data = CardData(None)
        self._settings: dict[str, Any] = dict(SETTINGS)  # options of `transform`
        self.origin: Path | None = None
        self._latent: str | None = None  # latent variable that the caller chose
        if num_threads > 0 and isinstance(tokenizer, SubwordTokenizer):
            tokenizer.num_threads = num_threads
        self.num_threads = num_threads
        is_fast = self._weights.is_averaging and serves(tokenizer)
        self._static = StaticEncoder(tokenizer, num_threads=num_threads) if is_fast else None
        self._narrowed: tuple[Table, Table] | None = None  # a table, and its leading dimensions

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
        """Load a model directory, a packaged model or a Hub repository written by this package.

        Averaging models load without torch. Models saved by sentence-transformers load too, unless
        they have prompts, `truncate_dim` or a similarity other than the cosine.

        Args:
            name: Directory, packaged model or Hub repository, tried in this order. None means
                `english`, a packaged model. `simile` is `english` with the lengths of its token
                vectors raised to the power 0.5 (`with_norm_power`), for judging translations.
            num_threads: Number of threads of `encode`. -1 means one per core.
            latent: For generative models, the latent variable whose mean is the embedding:
                `semantic` (default) or a language code (thesis, 5.5).
            device: Device to compute on, such as `cuda`. By default averaging models use the CPU,
                and other models a GPU if available.
            **hub: `revision` (branch, tag or commit), `token`, `cache_dir` and `local_files_only`.

        Raises:
            ModelError: If the model does not exist, is damaged, was not written by this package, or
                lacks the latent variable.
            ValueError: If `num_threads` is 0 or below -1, or the device is not available.

        Example:
            >>> SentenceEncoder.from_pretrained("english")
            SentenceEncoder('english', rows=62000, dimensions=512, languages=['en'])
        """
        check_hub_options(hub, cls.from_pretrained)
        if name in DERIVED_MODELS and not holds_model(str(name)):
            refuse_latent(str(name), latent)
            source, power = DERIVED_MODELS[str(name)]
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

    @classmethod
    def from_table(
        cls,
        table: np.ndarray,
        tokenizer: TextTokenizer,
        name: str | None = None,
        *,
        num_threads: int = -1,
    ) -> SentenceEncoder:
        """Build an averaging encoder from token vectors.

        Args:
            table: One row for each entry of the tokenizer, (vocab, dim), finite, of any type.
            tokenizer: Any tokenizer of this package.
            name: Name shown in reports.
            num_threads: Number of threads of `encode`. -1 means one per core.

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

    def _to(self, device: Any) -> None:
        if self._weights.is_averaging and (device is None or str(device) == "cpu"):
            return
        require("train", "torch", "transformers", what=f"device={str(device)!r}")
        from paraphrastic_hf.encoders.device import chosen_device

        self.model.to(chosen_device(device))

    def __repr__(self) -> str:
        known = languages_of(self.origin)
        return (
            f"SentenceEncoder({self.name!r}, rows={self._weights.entries}, "
            f"dimensions={self.dimension}, languages={known or 'unknown'})"
        )

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = 1024,
        normalize_embeddings: bool = False,
        show_progress_bar: bool | None = None,
        apart: bool = False,
        truncate_dim: int | None = None,
        precision: str | None = "float32",
        convert_to_tensor: bool = False,
        convert_to_numpy: bool = True,
        device: Any = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        **unknown: Any,
    ) -> Any:
        """Return the embeddings of texts. Takes the options of sentence-transformers and `apart`.

        Args:
            texts: One text or many. Empty texts and texts without known tokens give zero vectors.
                Columns of strings of pyarrow, polars, pandas and datasets are read directly, as in
                `encode_arrow`.
            batch_size: Number of texts per batch. It affects speed and memory, not the embeddings.
            normalize_embeddings: Scale embeddings to unit length. Zero vectors stay zero.
            show_progress_bar: Show a progress bar. None means no.
            apart: Encode the texts as the language that was trained with a separate vocabulary
                (thesis, 5.3.2).
            truncate_dim: Number of leading dimensions to keep, applied before normalization. None
                keeps all.
            precision: `float32`; `int8` or `uint8` (255 steps over the range of each dimension
                among these embeddings); `binary` or `ubinary` (one bit per dimension).
            convert_to_tensor: Return one tensor.
            convert_to_numpy: Return one array. If this and `convert_to_tensor` are False, return a
                list of tensors.
            device: Device of returned tensors. Models that need torch also compute on this device.
            prompt: Text to prepend to every text.
            prompt_name: Not supported, because models of this package have no named prompts.
                Ignored if `prompt` is given.
            **unknown: Rejected with a suggestion.

        Returns:
            Embeddings, (texts, dim) float32, or (dim,) for a single text.

        Raises:
            ValueError: If `batch_size` is below 1, `truncate_dim` is out of range, `precision` is
                unknown, or only `prompt_name` is given.

        Example:
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.encode(["A cat sleeps."], normalize_embeddings=True).shape
            (1, 512)
        """
        if unknown:
            bad = [k for k, v in unknown.items() if k not in IGNORED_IF_NONE or v is not None]
            refuse_keywords(bad, SentenceEncoder.encode)
        if prompt is None and prompt_name is not None:
            raise ValueError(f"prompt_name {prompt_name!r} is unknown. Pass its text as `prompt`")
        chosen: Any
        if not holds_arrow(texts):
            chosen = _listed(texts)
        else:
            chosen = _without_nulls(arrow_column(texts))
            if prompt or apart or self._static is None:
                chosen = [text for block in string_blocks(chosen) for text in python_strings(block)]
        if prompt:
            chosen = [prompt + text for text in chosen]
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}")
        is_whole = truncate_dim is None  # the C extension can then normalize
        vectors = self._embed(
            chosen,
            batch_size=batch_size,
            normalize_embeddings=normalize_embeddings and is_whole,
            progress=bool(show_progress_bar),
            apart=apart,
            device=device,
        )
        if not is_whole:
            vectors = leading(vectors, truncate_dim)
            vectors = unit_length(vectors) if normalize_embeddings else vectors
        output: Any = quantized(vectors, precision)
        if convert_to_tensor or not convert_to_numpy:
            import torch

            tensor = torch.from_numpy(output).to(device or "cpu")
            output = tensor if convert_to_tensor else list(tensor)
        return output[0] if isinstance(texts, str) else output

    def encode_arrow(
        self,
        array: Any,
        *,
        dtype: str = "float32",
        dimension: int | None = None,
        normalize_embeddings: bool = False,
    ) -> pa.FixedSizeListArray:
        """Return the embeddings of an Arrow column of texts as an Arrow column.

        Averaging models read the UTF-8 bytes in C. The embeddings equal those of `encode`. Texts
        are read in blocks, so memory grows only with the output.

        Args:
            array: Array or chunked array of `string`, `large_string` or `string_view`, possibly
                dictionary-encoded: of pyarrow, a polars or pandas series, a column of datasets, or
                any object with `__arrow_c_stream__` or `__arrow_c_array__`. Invalid UTF-8 is read
                as U+FFFD.
            dtype: `float32`; `float16`; or `int8`: each embedding times 127 / its largest absolute
                value, rounded. This keeps cosines, but not lengths. Unlike `encode` with
                `precision="int8"`, it does not depend on the other texts.
            dimension: Number of leading dimensions to keep, applied before normalization. None
                keeps all.
            normalize_embeddings: Scale embeddings to unit length. Zero vectors stay zero.

        Returns:
            One list of `dimension` numbers per text, null for a null.

        Raises:
            TypeError: If `array` is not a column of strings.
            ValueError: If `dtype` is unknown, or an embedding is too large for float16.

        Example:
            >>> import pyarrow as pa
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.encode_arrow(pa.array(["A cat sleeps.", None]), dtype="int8").type
            FixedSizeListType(fixed_size_list<item: int8>[512])
        """
        check_dtype(dtype)
        vectors, is_null = self._embed_column(
            arrow_column(array),
            dtype=dtype,
            dimension=dimension,
            normalize_embeddings=normalize_embeddings,
        )
        return vectors_column(vectors, is_null)

    def _embed_column(
        self,
        column: pa.ChunkedArray,
        *,
        dtype: str = "float32",
        dimension: int | None = None,
        normalize_embeddings: bool = False,
        progress: bool = False,
    ) -> tuple[np.ndarray, list[pa.BooleanArray]]:
        """Return embeddings, (texts, dim), zeros for nulls, and whether each text is null."""
        from tqdm.auto import tqdm

        if dimension is not None:
            check_dimension(dimension, self.dimension)
        table = self._weights.table() if self._static is not None else None
        if table is not None and dimension is not None:
            table = None if table.window is not None else self._leading(table, dimension)
        output = np.empty((len(column), dimension or self.dimension), dtype)
        start, is_null = 0, []
        bar = tqdm(total=len(column), unit=" texts", unit_scale=True, disable=not progress)
        for block in string_blocks(column):
            is_null.append(block.is_null())
            texts, part = block.fill_null(""), output[start : start + len(block)]
            if self._static is not None and table is not None:
                with np.errstate(all="ignore"):  # checked_vectors reports overflow
                    self._static.encode_arrow(
                        *layout(texts),
                        table.arrays,
                        part,
                        normalize_embeddings=normalize_embeddings,
                    )
                if dtype == "float32":
                    checked_vectors(part, len(part), self.name)
            else:
                vectors = self.encode(
                    python_strings(texts),
                    truncate_dim=dimension,
                    normalize_embeddings=normalize_embeddings,
                )
                part[:] = rounded(vectors, dtype)
            start += len(block)
            bar.update(len(block))
        bar.close()
        return output, is_null

    def _leading(self, table: Table, dimension: int) -> Table:
        """Return the leading dimensions of a table. The last result is kept for the next call."""
        if (
            self._narrowed is None
            or self._narrowed[0] is not table
            or self._narrowed[1].dimension != dimension
        ):
            self._narrowed = table, table.with_dimension(dimension)
        return self._narrowed[1]

    encode_query = encode_document = encode  # names in sentence-transformers

    def similarity(self, first: Any, second: Any) -> Any:
        """Return the cosine of each text or vector in `first` with each in `second`.

        Args:
            first: Texts, or vectors as an array, tensor or list, (n, dim). A single text or vector,
                (dim,), counts as a list of one.
            second: Texts or vectors to compare with, m texts or (m, dim).

        Returns:
            Cosines, (n, m), from -1 to 1. A text without known tokens has cosine 0 with every text.
            The result is a tensor if an input is a tensor, otherwise an array.

        Example:
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.similarity(["a cat sleeps", "bread is dear"], ["a cat is asleep"]).shape
            (2, 1)
        """
        one, other = self._two_sides(first, second)
        return _like(cosine_matrix(one, other), first, second)

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        """Return the cosine of each pair: item i of `first` with item i of `second`.

        Args:
            first: Texts, or vectors, (n, dim), as in `similarity`.
            second: Texts or vectors, as many as in `first`.

        Returns:
            Cosines, (n,), as in `similarity`.

        Raises:
            ValueError: If the inputs differ in length.
        """
        one, other = self._two_sides(first, second)
        if len(one) != len(other):
            raise ValueError(f"first and second differ in length: {len(one)} and {len(other)}")
        return _like(pairwise_cosine(one, other), first, second)

    similarity_fn_name = "cosine"  # name in sentence-transformers

    def get_embedding_dimension(self) -> int:
        """Return the embedding dimension."""
        return self.dimension

    get_sentence_embedding_dimension = get_embedding_dimension  # older name

    def _embed(
        self,
        texts: Sequence[str],
        *,
        batch_size: int,
        normalize_embeddings: bool,
        progress: bool,
        apart: bool,
        device: Any,
    ) -> np.ndarray:
        if holds_arrow(texts):
            vectors, _ = self._embed_column(
                texts,  # type: ignore[arg-type]
                normalize_embeddings=normalize_embeddings,
                progress=progress,
            )
            return vectors
        texts = list(texts)
        if self._static is not None and not apart and (table := self._weights.table()) is not None:
            with np.errstate(all="ignore"):  # checked_vectors reports overflow
                vectors = self._static.encode(
                    texts,
                    table.arrays,
                    normalize_embeddings=normalize_embeddings,
                    progress=progress,
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
                vectors = mean_rows(table, ids, progress=progress)
            checked_vectors(vectors, len(texts), self.name)
            return unit_length(vectors) if normalize_embeddings else vectors
        from paraphrastic_hf.encoders.batches import embed_texts

        order = np.arange(len(ids))
        model = self.model if device is None else self.model.to(device)
        embeddings = embed_texts(model, ids, order, batch_size=batch_size, progress=progress)
        vectors = checked_vectors(embeddings, len(texts), self.name)
        return unit_length(vectors) if normalize_embeddings else vectors

    def encode_and_count(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the embeddings, (texts, dim) float32, and token counts, (texts,), of texts."""
        table = self._weights.table()
        if self._static is None or table is None:
            return self.encode(texts), np.diff(self.tokenizer.encode_batch(texts).offsets)
        counts = np.empty(len(texts), np.int32)
        return self._static.encode(texts, table.arrays, tokens=counts), counts

    def forget(self) -> bool:
        """Clear the cache of tokenized words, if any, to measure the speed on new text."""
        if self._static is None:
            return False
        self._static.forget()
        return True

    def _two_sides(self, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
        one, other = self._vectors(first), self._vectors(second)
        if one.shape[1] != other.shape[1]:
            raise ValueError(
                f"first and second must have equal dimension, got {one.shape[1]} and "
                f"{other.shape[1]}. Compare texts or vectors of one encoder"
            )
        return one, other

    def _vectors(self, side: Any) -> np.ndarray:
        """Encode `side` if it contains texts. Return vectors, (n, dim) float32."""
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

    @property
    def model(self) -> SentenceEncoderModel:
        """Transformers model. `encode` uses its current weights, so you can train it."""
        return self._weights.model

    def model_apart(self) -> SentenceEncoderModel:
        """Return the transformers model, as `model` does, but keep the table of this encoder."""
        return self._weights.model_to_save()

    @property
    def dimension(self) -> int:
        """Embedding dimension."""
        return self._weights.dimension

    @property
    def rounding_error(self) -> float:
        """Largest rounding error of a token vector, relative to its length. 0 for exact tables."""
        return self._weights.rounding_error

    def table(self, rows: np.ndarray | slice | None = None) -> np.ndarray | None:
        """Return token vectors of an averaging model, (rows, dim) float32.

        None if the embedding is not their mean or the model is not float32 on the CPU. `rows` are
        indices, (rows,), or a slice.
        """
        table = self._weights.table()
        return None if table is None or table.window is not None else table.rows(rows)

    def token_vectors(self, rows: np.ndarray | slice | None = None) -> np.ndarray | None:
        """Return token vectors of an averaging model or a window encoder, (rows, dim) float32.

        The mean of a window encoder's vectors is an input of its network. None if `encode` computes
        with torch. `rows` are indices, (rows,), or a slice.
        """
        table = self._weights.table()
        return None if table is None else table.rows(rows)

    @property
    def needs_torch(self) -> bool:
        """Whether `encode` computes with torch. False for averages and packed window encoders."""
        return self._weights.table() is None

    @property
    def device(self) -> Any:
        """Device that `encode` computes on. It is the CPU unless `encode` needs torch."""
        return self.model.device if self.needs_torch else "cpu"

    @property
    def encoders(self) -> dict[str, SentenceEncoder]:
        """Encoders of a generative model's latent variables, by variable name. Empty for other
        models, or if `from_pretrained` got `latent`.
        """
        if not self._weights.has_variables or self._latent is not None:
            return {}
        model: Any = self.model
        return {n: SentenceEncoder(model.reading(n), self.tokenizer) for n in model.variables()}

    def with_norm_power(self, power: float) -> Self:
        """Return a copy with the length of every token vector raised to a power.

        Training with negatives lengthens the vectors of topical words. A power below 1 weights
        words more evenly, which helps when judging translations (recipes/beyond-bleu-2019). The
        model must be an averaging model whose table is not rounded.

        Args:
            power: Exponent. 0 gives all vectors equal length. 1 changes nothing.

        Example:
            >>> even = SentenceEncoder.from_pretrained("english").with_norm_power(0.5)
        """
        return self._with_table(
            self._weights.exact_table(self.name).with_norm_power(power), f"norms{power:g}"
        )

    def with_precision(self, precision: str) -> Self:
        """Return a copy whose token table takes less memory.

        `rounding_error` gives the largest error: a few percent of a vector's length for int8, up to
        tens of percent for int4. Packaged models are stored as int4, so bfloat16 represents them
        exactly. The model must be an averaging model whose table is not rounded.

        Args:
            precision: `float32`, `bfloat16` (2 bytes per value), `int8` (1 byte) or `int4` (half a
                byte).

        Example:
            >>> SentenceEncoder.from_pretrained("english").with_precision("int4").dimension
            512
        """
        return self._with_table(
            self._weights.exact_table(self.name).with_precision(precision), precision
        )

    def with_dimension(self, dimension: int) -> Self:
        """Return a smaller and faster copy that keeps only the leading dimensions.

        Packaged models are trained for this (recipes/default). It needs an averaging model whose
        table is not rounded. For a window encoder, use `encode(..., truncate_dim=)`.

        Args:
            dimension: Number of dimensions to keep, 1 to the current number.

        Example:
            >>> SentenceEncoder.from_pretrained("english").with_dimension(128).dimension
            128
        """
        return self._with_table(
            self._weights.exact_table(self.name).with_dimension(dimension), str(dimension)
        )

    def _with_table(self, table: Table, suffix: str) -> Self:
        encoder = type(self)(Weights(table), self.tokenizer, num_threads=self.num_threads)
        encoder.name = None if self.name is None else f"{self.name}-{suffix}"
        encoder.model_card_data.base_model = encoder.name
        encoder.origin = self.origin
        return encoder

    def fit(self, texts: Sequence[str], labels: Any = None, **_: Any) -> Self:
        """Do nothing and return the encoder, for scikit-learn.

        Args:
            texts: Ignored.
            labels: Ignored.
        """
        return self

    def transform(self, texts: Sequence[str]) -> Any:
        """Encode texts with the options of `set_params`, (texts, dim) float32, for scikit-learn.

        Example:
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.set_params(truncate_dim=64).transform(["a cat", "a dog"]).shape
            (2, 64)
        """
        return self.encode(texts, **self._settings)

    def fit_transform(self, texts: Sequence[str], labels: Any = None, **_: Any) -> Any:
        """Encode texts, as `transform` does.

        Args:
            texts: List, array or column of texts.
            labels: Ignored.
        """
        return self.transform(texts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options of `transform` by name. `deep` is ignored."""
        return dict(self._settings)

    def set_params(self, **settings: Any) -> Self:
        """Change options of `transform`: `normalize_embeddings`, `truncate_dim` or `batch_size`.

        In a scikit-learn grid search, prefix them with the pipeline step, as in
        `encoder__batch_size`.

        Raises:
            ValueError: If an option is unknown.
        """
        for name in settings:
            if name not in self._settings:
                near = nearest_name(name, self._settings)
                raise ValueError(f"SentenceEncoder has no setting {name!r}. {near}")
        self._settings |= settings
        return self

    def __sklearn_clone__(self) -> Self:
        """Return a copy that shares the token table but has separate `transform` options."""
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

    def save_pretrained(
        self, directory: str | os.PathLike[str], *, precision: str = "float32"
    ) -> None:
        """Write a model directory for this package, transformers and sentence-transformers.

        Args:
            directory: Directory to write, created if missing.
            precision: `float32`, `bfloat16` or `float16`. Averaging encoders also support `int8`
                and `int4`, which stock sentence-transformers cannot read.

        Raises:
            ValueError: If `precision` is unknown or not supported for this encoder.

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


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, (bytes, Mapping, set, frozenset)) or not isinstance(texts, Iterable):
        raise TypeError(f"Texts must be a string or a list of strings, got {type(texts).__name__}")
    if getattr(texts, "ndim", 1) != 1:
        raise TypeError(f"Texts must have one dimension, got {getattr(texts, 'ndim', None)}")
    return texts


def _without_nulls(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if hasattr(column.type, "value_type"):  # a dictionary may contain null
        column = column.cast("large_string")
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise TypeError(f"texts[{row}] must be a string, got None")
    return column


def _are_texts(rows: Any) -> bool:
    if hasattr(rows, "dtype"):
        return rows.dtype.kind in ("U", "O", "T") and rows.ndim == 1
    return not all(
        hasattr(row, "ndim")
        or isinstance(row, (list, tuple))
        or (isinstance(row, (int, float, np.number)) and np.isfinite(row))
        for row in rows[:1] or [""]
    )


def _like(scores: np.ndarray, *sides: Any) -> Any:
    """Convert scores to a tensor if one of the inputs `sides` is a tensor or a list of tensors."""
    for side in sides:
        part = side[0] if isinstance(side, list) and side else side
        if hasattr(part, "detach"):
            import torch

            return torch.from_numpy(scores).to(part.device)
    return scores
