"""Initialize an encoder from word vectors or a trained model."""

import logging
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paraphrastic_hf.corpora.readers.words import read_vectors
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.directory import load_model
from paraphrastic_hf.encoders.storage.locate import ASSETS, packaged_folder
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.encoder.settings import ModelArguments
from paraphrastic_hf.training.engine.paths import resolve_model, resolve_path

logger = logging.getLogger(__name__)

UNKNOWN_WORD = "UUUNKKK"  # name of <unk> in the papers' vector files
NOT_SETTINGS = ("auto_map", "_name_or_path", "architectures", "transformers_version", "dtype")


def load_start(name: str, data_root: str | Path | None) -> SentenceEncoder:
    """Load the encoder in the recipe key `start`: a path, packaged model or Hub repository."""
    return SentenceEncoder.from_pretrained(resolve_model(name, data_root), device="cpu")


def settings_from_start(encoder: SentenceEncoderModel, arguments: ModelArguments) -> dict[str, Any]:
    """Return the configuration of a trained encoder, with the dropouts of the recipe."""
    settings = _plain(encoder.config.to_dict())
    for part in settings.get("parts") or [settings]:
        part["embedding_dropout"] = arguments.embedding_dropout
        part["word_dropout"] = arguments.word_dropout
    return settings


def encoder_from_start(start: SentenceEncoder, arguments: ModelArguments) -> SentenceEncoderModel:
    """Return a copy of a trained encoder, with the dropouts of the recipe."""
    trained = start.model
    config = trained.config_class(**settings_from_start(trained, arguments))
    model: SentenceEncoderModel = type(trained)(config)
    model.load_state_dict(trained.state_dict())
    return model


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration without the keys that name its origin."""
    kept = {name: value for name, value in settings.items() if name not in NOT_SETTINGS}
    if kept.get("parts"):
        kept["parts"] = [_plain(part) for part in kept["parts"]]
    return kept


def resolve_vectors(name: str, data_root: str | Path | None) -> Path:
    """Return the path of `model.vectors`, a path or the name of a packaged model."""
    try:
        return resolve_path(name, data_root)
    except RecipeError:
        if not (ASSETS / name / "config.json").is_file():
            raise
        return packaged_folder(name)


def start_from_vectors(
    model: SentenceEncoderModel, tokenizer: TextTokenizer, path: Path, *, bad_rows: str = "refuse"
) -> None:
    """Initialize rows of the token table with a file of vectors or a model (thesis, 3.1.2).

    Rows without a given vector stay random. If the tokens are words and `path` is a subword model,
    the model computes the vector of each word. `bad_rows` is passed to `read_vectors`.
    """
    table, tokens = model.get_input_embeddings().weight, tokenizer.tokens()
    row_of = {token: row for row, token in enumerate(tokens) if row > 0}
    row_of.setdefault(UNKNOWN_WORD, 1)
    found = set()
    with torch.no_grad():
        is_model_of_words = path.is_dir() and isinstance(load_tokenizer(path), WordTokenizer)
        if path.is_dir() and isinstance(tokenizer, WordTokenizer) and not is_model_of_words:
            vectors = _vectors_of_words(path, tokens[2:], table.shape[1])
        else:
            vectors = _vectors_at(path, row_of, table.shape[1], bad_rows)
        for word, vector in vectors:
            table[row_of[word]] = torch.from_numpy(vector)
            found.add(word)
    if not found:
        raise DataError(
            f"{path} (model.vectors) has none of the {len(tokens):,} vocabulary entries"
        )
    logger.info("Initialized %s of %s rows from %s", f"{len(found):,}", f"{len(tokens):,}", path)


def _vectors_at(
    path: Path, wanted: Container[str], dimension: int, bad_rows: str
) -> Iterator[tuple[str, np.ndarray]]:
    if not path.is_dir():
        yield from read_vectors(path, wanted=wanted, dimension=dimension, bad_rows=bad_rows)
        return
    tables = load_model(path).tables()
    if len(tables) > 1:
        raise DataError(
            f"{path} (model.vectors) has {len(tables)} token tables. Choose a model with one"
        )
    table = tables[0].weight.detach().numpy()
    _check_dimension(path, table.shape[1], dimension)
    for token, vector in zip(load_tokenizer(path).tokens(), table, strict=True):
        if token in wanted:
            yield token, vector.copy()


def _vectors_of_words(
    path: Path, words: Sequence[str], dimension: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the words with a known token, with the vectors that a model computes for them."""
    vectors = SentenceEncoder.from_pretrained(path, num_threads=1).encode(words)
    _check_dimension(path, vectors.shape[1], dimension)
    for word, vector in zip(words, vectors, strict=True):
        if vector.any():
            yield word, vector


def _check_dimension(path: Path, found: int, dimension: int) -> None:
    if found != dimension:
        raise DataError(
            f"{path} has token vectors of {found} dimensions, but the model has {dimension}. Set "
            f"model.hidden_size, or model.embedding_size, to {found}"
        )
