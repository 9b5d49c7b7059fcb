"""What a finished model directory holds, and how it is written and read.

* `config.json`, `model.safetensors`: transformers; `embedding.weight` is also what
  sentence-transformers' stock `StaticEmbedding` reads.
* `tokenizer.json`, `tokenizer_config.json`: transformers and `StaticEmbedding`; `spiece.model` for
  sentencepiece, or `ngrams.json`; `tokenizers/` for a mixture's.
* `paraphrastic_*.py`: the code `trust_remote_code=True` loads where this package is not installed.
* `modules.json`: tells sentence-transformers to use `StaticEmbedding` where the tokenizer allows
  it, else the bridge in `paraphrastic_hf/sbert.py`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.utils import logging as transformers_logging

from paraphrastic_hf.encoding.table import check_finite
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.models.base import ParaphrasticModel, SentenceEncoderModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.files import PARTS_FOLDER, open_to_readers, write_json

STATIC_EMBEDDING = "sentence_transformers.sentence_transformer.modules.StaticEmbedding"
TOKENIZER_FILES = ("tokenizer.json", "spiece.model", "ngrams.json", "paraphrastic_tokenizer.json")
WEIGHTS = "model.safetensors"
BRIDGE = "paraphrastic_hf.sbert.EncoderModule"


def save_directory(
    model: SentenceEncoderModel,
    tokenizer: TextTokenizer,
    directory: Path,
    *,
    precision: str = "float32",
    modules: bool = True,
) -> None:
    """Write a finished model directory; weights last, so that a directory with weights is whole,
    another model's that lay there first gone.

    Weights of another precision take less room; every loader of this package and transformers
    reads them as float32, stock sentence-transformers keeps them as they are. `modules` false
    leaves out its own two files, for a caller that writes them.

    Raises:
        OSError: The disk is full or the directory cannot be written.
    """
    staged = _stage_model(model, directory, precision)
    _save_tokenizer(tokenizer, directory)
    if modules:
        _save_modules(model, directory)
    _move(staged, directory)


def _save_modules(model: SentenceEncoderModel, directory: Path) -> None:
    """What sentence-transformers reads."""
    is_stock = isinstance(model, AveragingModel) and (directory / "tokenizer.json").exists()
    module = {"idx": 0, "name": "0", "path": "", "type": STATIC_EMBEDDING if is_stock else BRIDGE}
    write_json(directory / "modules.json", [module])
    write_json(
        directory / "config_sentence_transformers.json",
        {"model_type": "SentenceTransformer", "prompts": {}, "similarity_fn_name": "cosine"},
    )


def save_supervised(model: PreTrainedModel, tokenizer: TextTokenizer, directory: Path) -> None:
    """Write the directory of a model with a task, which is no sentence encoder; weights last.

    The tokenizer's config has it tell the two texts of a pair apart, for pipelines.

    Raises:
        OSError: The disk is full or the directory cannot be written.
    """
    staged = _stage_model(model, directory, "float32")
    _save_tokenizer(tokenizer, directory)
    path = directory / "tokenizer_config.json"
    if path.exists():
        settings = json.loads(path.read_text(encoding="utf-8"))
        names = ["input_ids", "attention_mask", "token_type_ids"]
        write_json(path, {**settings, "model_input_names": names})
    _move(staged, directory)


def _save_tokenizer(tokenizer: TextTokenizer, directory: Path) -> None:
    (directory / WEIGHTS).unlink(missing_ok=True)  # else another's would be read with this one
    for name in TOKENIZER_FILES:  # another model's would be taken for this one's
        (directory / name).unlink(missing_ok=True)
    shutil.rmtree(directory / PARTS_FOLDER, ignore_errors=True)
    tokenizer.save(directory)


def _stage_model(model: PreTrainedModel, directory: Path, precision: str) -> Path:
    """Config and weights in a folder beside their place: what most needs room, before anything that
    lies there is touched."""
    partial = directory / "model.part"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    weights = {
        name: weight.to(getattr(torch, precision)) for name, weight in model.state_dict().items()
    }
    try:
        with _no_progress_bar():
            model.save_pretrained(partial, state_dict=weights)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return partial


def _move(staged: Path, directory: Path) -> None:
    for path in sorted(staged.iterdir(), key=lambda path: path.name == WEIGHTS):
        open_to_readers(path)
        path.replace(directory / path.name)
    staged.rmdir()


def load_model(directory: Path) -> SentenceEncoderModel:
    """The encoder of a model directory, in evaluation mode, float32.

    Raises:
        ModelError: A file is missing or damaged, or it is no encoder of this package.
    """
    return load_pretrained(directory, AutoModel)  # type: ignore[return-value]


def load_pretrained(directory: Path, auto_class: Any) -> ParaphrasticModel:
    """What an Auto class makes of a model directory, in evaluation mode, float32.

    Raises:
        ModelError: A file is missing or damaged, or it is no such model of this package.
    """
    if not directory.exists():
        raise ModelError(f"{directory} is not there; give the --output of `paraphrastic train`")
    if not (directory / "config.json").exists():
        raise ModelError(
            f"{directory} has no config.json; give the --output of `paraphrastic train`"
        )
    try:
        config = AutoConfig.from_pretrained(directory, trust_remote_code=False)
        if not str(config.model_type).startswith("paraphrastic-"):
            raise ModelError(
                f"{directory} holds a {config.model_type!r} model, not one of this package; "
                "load it with sentence_transformers.SentenceTransformer"
            )
        if type(config) not in auto_class._model_mapping:
            raise ModelError(
                f"{directory} holds a {config.model_type!r} model, which {auto_class.__name__} "
                "does not load: SentenceEncoder is for encoders, Tagger for taggers, "
                "SentencePredictor for the other recipes with a task"
            )
        with _no_progress_bar():
            model, report = auto_class.from_pretrained(
                directory, config=config, dtype=torch.float32, output_loading_info=True
            )
    except ModelError:
        raise
    except Exception as error:  # safetensors and transformers raise many kinds
        raise ModelError(
            f"cannot load the model in {directory}: {type(error).__name__}: {error}"
        ) from error
    if report["missing_keys"]:
        raise ModelError(
            f"{directory}/model.safetensors lacks {', '.join(sorted(report['missing_keys']))}"
        )
    for table in model.tables():
        check_finite(table.weight.detach().numpy(), f"the table of {directory}")
    return model.eval()  # type: ignore[no-any-return]


def averaging_model(table: np.ndarray) -> AveragingModel:
    """The model whose rows are those of a table, (vocab, dim) float32, in evaluation mode."""
    config = AveragingConfig(vocab_size=table.shape[0], hidden_size=table.shape[1])
    model = AveragingModel(config)
    with torch.no_grad():
        model.embedding.weight.copy_(torch.from_numpy(table))
    return model.eval()


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Small models load in a blink; transformers' bar for it only clutters the screen."""
    was_enabled = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            transformers_logging.enable_progress_bar()
