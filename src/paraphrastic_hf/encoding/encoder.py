"""`SentenceEncoder`: a model directory as one object with `encode` and `similarity`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paraphrastic_hf.encoding.static import StaticEncoder, read_table, serves
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.normalize import keep_apart
from paraphrastic_hf.text.normalize import normalize as normalize_text

DEFAULT_MODEL = "english"
ASSETS = Path(__file__).parents[1] / "assets"

if TYPE_CHECKING:
    from paraphrastic_hf.models.base import SentenceEncoderModel


class SentenceEncoder:
    """A sentence encoder with its tokenizer.

    Args:
        model: Any encoder of this package.
        tokenizer: Its tokenizer.

    Example:
        >>> encoder = SentenceEncoder.from_pretrained("runs/sp")  # doctest: +SKIP
        >>> encoder.similarity(["a cat sleeps"], ["a cat is sleeping"])  # doctest: +SKIP
        array([0.93], dtype=float32)
    """

    def __init__(self, model: SentenceEncoderModel, tokenizer: TextTokenizer) -> None:
        _check_rows(sum(len(table.weight) for table in model.tables()), tokenizer)
        self._model: SentenceEncoderModel | None = model
        self._directory: Path | None = None
        self._table: np.ndarray | None = None
        self.tokenizer = tokenizer
        is_mean = type(model).__name__ == "AveragingModel"
        self._static = StaticEncoder(tokenizer) if is_mean and serves(tokenizer) else None

    @classmethod
    def from_pretrained(cls, name: str | os.PathLike[str] = DEFAULT_MODEL) -> SentenceEncoder:
        """Load a model directory, a Hub repository written by this package, or a packaged model.

        Without a name it is the packaged English model, which needs no download.

        An averaging model is ready without torch, which is imported when `model` is asked for.

        Raises:
            ModelError: It is not there, or not one of ours, or damaged.
        """
        directory = _local_directory(name)
        tokenizer = load_tokenizer(directory)
        table = read_table(directory) if serves(tokenizer) else None
        if table is None:
            from paraphrastic_hf.encoding.directory import load_model

            return cls(load_model(directory), tokenizer)
        _check_rows(len(table), tokenizer)
        encoder = cls.__new__(cls)
        encoder._model, encoder._directory, encoder._table = None, directory, table
        encoder.tokenizer, encoder._static = tokenizer, StaticEncoder(tokenizer)
        return encoder

    @property
    def model(self) -> SentenceEncoderModel:
        """The encoder itself."""
        if self._model is None:
            from paraphrastic_hf.encoding.directory import load_model

            assert self._directory is not None
            self._model, self._table = load_model(self._directory), None
        return self._model

    def save_pretrained(self, directory: str | os.PathLike[str]) -> None:
        """Write a directory that every loader of the README reads."""
        from paraphrastic_hf.encoding.directory import save_directory

        save_directory(self.model, self.tokenizer, Path(directory))

    @property
    def dimension(self) -> int:
        """Numbers in an embedding."""
        if self._table is not None:
            return int(self._table.shape[1])
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

    def _rows(self) -> np.ndarray | None:
        """The model's table where the fast path can read it; it is the model's own memory."""
        if self._model is None:
            return self._table
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


def unit_length(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length 1; zero rows stay zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), vectors.dtype)


def pairwise_cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of row i with row i; 0 where either is zero."""
    return np.asarray((unit_length(first) * unit_length(second)).sum(-1))


def packaged_model(name: str = DEFAULT_MODEL) -> Path:
    """The folder of a model that comes with this package, for any loader.

    Raises:
        ModelError: There is none of that name.

    Example:
        >>> from transformers import AutoModel
        >>> AutoModel.from_pretrained(packaged_model("english"))  # doctest: +SKIP
    """
    folder = ASSETS / name
    if not (folder / "config.json").is_file():
        known = sorted(path.name for path in ASSETS.iterdir() if (path / "config.json").is_file())
        raise ModelError(f"no model {name!r} comes with the package; there is {', '.join(known)}")
    return folder


def _local_directory(name: str | os.PathLike[str]) -> Path:
    if os.path.isdir(name):
        return Path(name)
    if isinstance(name, str) and (ASSETS / name / "config.json").is_file():
        return ASSETS / name
    if os.path.exists(name) or len(Path(name).parts) > 2 or os.path.isabs(name):
        raise ModelError(f"{name} is no model directory; give the --output of `paraphrastic train`")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(
            snapshot_download(str(name), ignore_patterns=["checkpoints/*", "logs/*", "work/*"])
        )
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"{name} is neither a model directory nor a Hub repository in reach: {error}"
        ) from error
