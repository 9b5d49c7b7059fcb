"""From a recipe's keys to an encoder at its start."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.data.words import read_vectors
from paraphrastic_hf.encoding.directory import load_model
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.families import FAMILIES
from paraphrastic_hf.models.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.table import TableConfig, TableModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.training.arguments import Recipe, resolve_path
from paraphrastic_hf.training.encoder_arguments import EncoderArguments, ModelArguments

logger = logging.getLogger(__name__)

READS_ORDER = ("recurrent", "gated", "char_cnn")
TABLE_ALONE = {"averaging"}
UNKNOWN_WORD = "UUUNKKK"  # in the papers' vector files


def check_encoders(recipe: Recipe) -> None:
    """Refuse an encoder without a meaning before any text is read.

    Raises:
        RecipeError: A setting its family does not have, or a combination that is none.
    """
    configs = []
    for encoder in recipe.encoders:
        configs.append(check_encoder(encoder))
    kinds = {encoder.model.kind for encoder in recipe.encoders}
    if recipe.training.freeze == "tables" and kinds <= TABLE_ALONE:
        raise RecipeError(
            "training.freeze tables leaves nothing to train in an encoder that is its table: "
            "set model.kind to weighted, or leave it out"
        )
    if recipe.parts:
        if len({encoder.tokenizer.lowercase for encoder in recipe.parts}) > 1:
            raise RecipeError("tokenizer.lowercase must be the same in all parts")
        if any(encoder.tokenizer.apart for encoder in recipe.parts):
            raise RecipeError("tokenizer.apart needs one tokenizer; leave it out of parts")
        _mixed_config(configs, recipe.combine)


def check_encoder(encoder: EncoderArguments) -> TableConfig:
    """The configuration of one encoder, before its vocabulary is known.

    Raises:
        RecipeError: A setting its family does not have, or a combination that is none.
    """
    _check_tokenizer(encoder)
    return build_config(encoder.model, encoder.tokenizer.vocab_size)


def build_model(
    recipe: Recipe, tokenizer: TextTokenizer, data_root: str | Path | None = None
) -> SentenceEncoderModel:
    """The encoder a recipe asks for, at its random or given start."""
    if not isinstance(tokenizer, MixedTokenizer):
        return build_encoder(recipe.model, tokenizer, data_root)
    parts = [
        build_encoder(encoder.model, part, data_root)
        for encoder, part in zip(recipe.parts, tokenizer.parts, strict=True)
    ]
    model = MixedModel(_mixed_config([part.config for part in parts], recipe.combine))
    for ours, part in zip(model.parts, parts, strict=True):
        ours.load_state_dict(part.state_dict())
    return model


def build_config(arguments: ModelArguments, vocab_size: int) -> TableConfig:
    """The configuration of one encoder.

    Raises:
        RecipeError: A setting its family does not have, or a combination that is none.
    """
    config_class = FAMILIES[arguments.kind].config_class
    given = {
        name: value
        for name, value in dataclasses.asdict(arguments).items()
        if value is not None and name not in ("kind", "vectors")
    }
    for name in given:
        if not _has(config_class, name):
            kinds = [kind for kind, model in FAMILIES.items() if _has(model.config_class, name)]
            raise RecipeError(
                f"model.{name} ({given[name]!r}) has no meaning for model.kind {arguments.kind}: "
                f"leave it out, or set model.kind to {' or '.join(kinds)}"
            )
    try:
        return config_class(vocab_size=vocab_size, **given)
    except StrictDataclassError as error:
        raise RecipeError(f"model: {error.__cause__ or error}") from error


def _has(config_class: type, name: str) -> bool:
    return name in {field.name for field in dataclasses.fields(config_class)}


def _check_tokenizer(encoder: EncoderArguments) -> None:
    kind, marks = encoder.tokenizer.kind, encoder.tokenizer.marks
    if encoder.model.kind == "charagram" and kind != "char_ngram":
        raise RecipeError(
            f"model.kind charagram adds up character n-grams, and tokenizer.kind {kind} has none: "
            "set tokenizer.kind to char_ngram"
        )
    if marks != "none" and kind == "char_ngram":
        raise RecipeError(
            "tokenizer.marks are not for char_ngram, whose spaces mark the ends of a text; leave "
            "them out"
        )
    if marks != "none" and encoder.model.kind not in READS_ORDER:
        raise RecipeError(
            f"tokenizer.marks moves every vector of model.kind {encoder.model.kind} alike: leave "
            f"it out, or set model.kind to {', '.join(READS_ORDER)}"
        )


def _mixed_config(configs: Sequence[TableConfig], combine: str) -> MixedConfig:
    try:
        return MixedConfig.of(configs, combine)
    except StrictDataclassError as error:
        raise RecipeError(f"parts: {error.__cause__ or error}") from error


def build_encoder(
    arguments: ModelArguments, tokenizer: TextTokenizer, data_root: str | Path | None
) -> TableModel:
    """One encoder at its random or given start."""
    model = FAMILIES[arguments.kind](build_config(arguments, tokenizer.vocab_size))
    if arguments.vectors is not None:
        start_from_vectors(model, tokenizer.tokens(), resolve_path(arguments.vectors, data_root))
    return model


def start_from_vectors(model: SentenceEncoderModel, tokens: Sequence[str], path: Path) -> None:
    """Start the rows of known entries from given vectors (thesis 3.1.2); others stay random.

    Raises:
        DataError: The file is damaged, of another dimension, or knows no entry.
        ModelError: The directory holds no model of this package.
    """
    table = model.get_input_embeddings().weight
    row_of = {token: row for row, token in enumerate(tokens) if row > 0}
    row_of.setdefault(UNKNOWN_WORD, 1)
    found = 0
    with torch.no_grad():
        for word, vector in _vectors_at(path, row_of, table.shape[1]):
            table[row_of[word]] = torch.from_numpy(vector)
            found += 1
    if not found:
        raise DataError(f"{path} has a vector for none of the {len(tokens):,} vocabulary entries")
    logger.info("%s of %s rows start from %s", f"{found:,}", f"{len(tokens):,}", path)


def _vectors_at(
    path: Path, wanted: Container[str], dimension: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Vectors of wanted entries from a text file, or from an earlier run's table."""
    if not path.is_dir():
        yield from read_vectors(path, wanted=wanted, dimension=dimension)
        return
    tables = load_model(path).tables()
    if len(tables) > 1:
        raise DataError(
            f"{path} is a mixture of {len(tables)} encoders; name a model with one table"
        )
    table = tables[0].weight.detach().numpy()
    if table.shape[1] != dimension:
        raise DataError(
            f"{path} has token vectors of {table.shape[1]} numbers, but the model has {dimension}; "
            f"set model.hidden_size, or model.embedding_size, to {table.shape[1]}"
        )
    for token, vector in zip(load_tokenizer(path).tokens(), table, strict=True):
        if token in wanted:
            yield token, vector.copy()
