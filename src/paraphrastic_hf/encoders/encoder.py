"""`SentenceEncoder`: a model directory as one object with `encode` and `similarity`.

`storage/weights.py` reads the model, `static/table.py` changes tables. Texts become
vectors in `static/engine.py` (averaging models, fast), `means.py` (without the C module) and
`batches.py` (any other model).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from paraphrastic_hf.encoders.languages import languages_kept, languages_of
from paraphrastic_hf.encoders.means import mean_rows
from paraphrastic_hf.encoders.output import format_embeddings
from paraphrastic_hf.encoders.push import HubMixin
from paraphrastic_hf.encoders.static.engine import StaticEncoder, serves
from paraphrastic_hf.encoders.static.table import Table
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
    checked_vectors,
    cosine_matrix,
    pairwise_cosine,
    unit_length,
)
from paraphrastic_hf.errors import ModelError, nearest_name, refuse_keywords
from paraphrastic_hf.extras import require
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.normalize import normalize as normalize_text
from paraphrastic_hf.text.subword import SubwordTokenizer

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel

SETTINGS = {"normalize_embeddings": False, "truncate_dim": None, "batch_size": 1024}
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


class SentenceEncoder(HubMixin):
    """A sentence encoder with its tokenizer.

    sentence-transformers' evaluators and functions run on it, since `encode` and `similarity` have
    their names, and it is a transformer of scikit-learn. Neither is imported.

    Args:
        model: Any encoder of this package, or the `Weights` of one.
        tokenizer: The tokenizer that the model was trained with.
        num_threads: How many threads `encode` uses; -1 for one a core. torch has its own.

    Attributes:
        name: Of the directory or repository it was loaded from, for reports; None if there is none.
        model_card_data: The scores that sentence-transformers' evaluators have found.
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
        self.tokenizer = tokenizer
        self.name: str | None = None
        self.model_card_data = CardData(None)
        self._settings: dict[str, Any] = dict(SETTINGS)  # of `transform`
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

    def _to(self, device: Any) -> None:
        """Move the model to a device; unless one is named, means stay on the CPU."""
        if self._weights.is_averaging and (device is None or str(device) == "cpu"):
            return
        require("train", "torch", "transformers", what=f"device={str(device)!r}")
        from paraphrastic_hf.encoders.device import chosen_device

        self.model.to(chosen_device(device))

    def __repr__(self) -> str:
        """The encoder's name, and what can be told apart at a glance."""
        known = languages_of(self.origin)
        return (
            f"SentenceEncoder({self.name!r}, rows={self._weights.entries}, "
            f"dimensions={self.dimension}, languages={known or 'unknown'})"
        )

    # -- texts to vectors --------------------------------------------------------------------------

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
        """Encode texts as vectors, their embeddings.

        Options have the names and meanings of sentence-transformers; `apart` is our own.

        Args:
            texts: One text or many. The empty text, and one without a known token, gives zeros.
            batch_size: How many texts a batch has, where there are batches. It changes the speed
                and not the vectors.
            normalize_embeddings: Whether to scale vectors to unit length (zeros stay zeros).
            show_progress_bar: Whether to show a progress bar; not if None.
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
            **unknown: Refused, with the most similar name.

        Returns:
            (texts, dim) float32, or (dim,) for one text.

        Raises:
            TypeError: `texts` holds anything but strings, or there is no option of a name.
            ValueError: `batch_size` is below 1; `truncate_dim` is out of range; there is no such
                precision; or a prompt is asked for by name.

        Example:
            >>> encoder = SentenceEncoder.from_pretrained("english")
            >>> encoder.encode(["A cat sleeps."], normalize_embeddings=True).shape
            (1, 512)
        """
        if unknown:
            asked = [key for key in unknown if key not in ASK_NOTHING or unknown[key] is not None]
            refuse_keywords(asked, SentenceEncoder.encode)
        if prompt is None and prompt_name is not None:
            raise ValueError(f"the model has no prompt {prompt_name!r}, nor any other: give prompt")
        chosen = _listed(texts)
        if prompt:
            chosen = [prompt + text for text in chosen]
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ValueError(f"batch_size must be a whole number of at least 1, got {batch_size!r}")
        is_whole = truncate_dim is None  # then C scales the vectors
        vectors = self._embed(
            chosen,
            batch_size=batch_size,
            normalize_embeddings=normalize_embeddings and is_whole,
            progress=bool(show_progress_bar),
            apart=apart,
            device=device,
        )
        output = format_embeddings(
            vectors,
            normalize_embeddings=normalize_embeddings and not is_whole,
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
            **options: Those of `encode`.

        Returns:
            (texts, dim), or (dim,) for one text.
        """
        return self.encode(texts, **options)

    def encode_document(self, texts: str | Sequence[str], **options: Any) -> Any:
        """Encode what is searched; the same as `encode`.

        Args:
            texts: One text or many.
            **options: Those of `encode`.

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
        """Embeddings, (texts, dim) float32, by the fast path where it serves."""
        texts = list(texts)
        if self._static is not None and not apart and (table := self._weights.table()) is not None:
            with np.errstate(all="ignore"):  # what overflows is refused
                vectors = self._static.encode(
                    texts,
                    table.numbers,
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
                vectors = mean_rows(table.numbers, ids, progress=progress)
            checked_vectors(vectors, len(texts), self.name)
            return unit_length(vectors) if normalize_embeddings else vectors
        from paraphrastic_hf.encoders.batches import embed_texts

        order = np.arange(len(ids))
        model = self.model if device is None else self.model.to(device)
        embeddings = embed_texts(model, ids, order, batch_size=batch_size, progress=progress)
        vectors = checked_vectors(embeddings, len(texts), self.name)
        return unit_length(vectors) if normalize_embeddings else vectors

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

    # -- its model and table -----------------------------------------------------------------------

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

    # -- encoders made of it by a change of its table ----------------------------------------------

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
            >>> even = SentenceEncoder.from_pretrained("english").with_norm_power(0.5)
        """
        return self._with_table(
            self._weights.exact_table(self.name).with_norm_power(power), f"norms{power:g}"
        )

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
            >>> SentenceEncoder.from_pretrained("english").with_precision("int4").dimension
            512
        """
        return self._with_table(
            self._weights.exact_table(self.name).with_precision(precision), precision
        )

    def with_dimension(self, dimension: int) -> Self:
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
        return self._with_table(
            self._weights.exact_table(self.name).with_dimension(dimension), str(dimension)
        )

    def _with_table(self, table: Table, suffix: str) -> Self:
        """The same tokenizer over another table, with the suffix at the end of the name."""
        encoder = type(self)(Weights(table), self.tokenizer, num_threads=self.num_threads)
        encoder.name = None if self.name is None else f"{self.name}-{suffix}"
        encoder.model_card_data.base_model = encoder.name
        encoder.origin = self.origin
        return encoder

    # -- scikit-learn ------------------------------------------------------------------------------

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
        """The settings of `transform`: `normalize_embeddings`, `truncate_dim` and `batch_size`.

        Args:
            deep: Makes no difference, as no setting has settings of its own.
        """
        return dict(self._settings)

    def set_params(self, **settings: Any) -> Self:
        """Change settings of `transform`. A grid search names them after the step of the pipeline,
        as in `encoder__normalize_embeddings`.

        Args:
            **settings: `normalize_embeddings`, `truncate_dim` or `batch_size`, as of `encode`.

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

    # -- saving ------------------------------------------------------------------------------------

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
