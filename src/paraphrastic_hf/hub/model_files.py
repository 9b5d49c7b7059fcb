"""Gathers the files of a model for the Hub."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import yaml

from paraphrastic_hf.config.recipe import read_mapping
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.export import COPIES
from paraphrastic_hf.errors import ModelError, PublishError, nearest_name
from paraphrastic_hf.evaluation.report import plot_headline
from paraphrastic_hf.generation.templates import TEMPLATES
from paraphrastic_hf.hub.cards import ModelDetails, full_card, write_card
from paraphrastic_hf.hub.results import result_files
from paraphrastic_hf.hub.trained import PICTURE, TrainedModel, model_class
from paraphrastic_hf.io.files import (
    GENERATION_CONFIG,
    SENTENCE_TRANSFORMERS_FILES,
    TOKENIZER_FILES,
    WEIGHTS,
    read_json,
    write_bytes,
    write_json,
)
from paraphrastic_hf.io.remote_code import rewrite_code, write_remote_code
from paraphrastic_hf.io.send import copy_files

# Files that some loader reads. Others, such as checkpoints, are not uploaded.
FILES = (
    *("config.json", "model*.safetensors", "model.safetensors.index.json", GENERATION_CONFIG),
    *("*.py", *TOKENIZER_FILES, *SENTENCE_TRANSFORMERS_FILES),
    *("special_tokens_map.json", "vocab.json", "merges.txt", "*.spm", TEMPLATES),
)
# Python files that some version of this package writes to model directories.
WRITTEN = re.compile(r"paraphrastic_(layers|losses|models|text)_\w+\.py")
RECORDS = ("recipe.yaml", "run.json", PICTURE)
# Files of an earlier version of a model, deleted from its repository.
STALE = (*FILES, "tokenizers/*", ".eval_results/*", PICTURE, *(f"{name}/*" for name in COPIES))


def gather_model(
    folder: Path, details: ModelDetails, private: bool, output: Path, repository: str
) -> list[str]:
    """Write the files of a model for the Hub to an empty folder.

    Return patterns of obsolete files of earlier versions, to delete from the repository.
    """
    try:
        trained = TrainedModel.read(folder)
    except ModelError as error:
        raise PublishError(f"{error}. Use push_to_hub for models of other libraries") from error
    if not (folder / WEIGHTS).is_file():
        raise PublishError(f"{folder}/{WEIGHTS} does not exist")
    if unknown := [name for name in details.copies if name not in COPIES]:
        raise PublishError(f"Unknown copy {unknown[0]!r}. {nearest_name(unknown[0], COPIES)}")
    card, suites = full_card(trained, details, private=private, repository=repository)
    _copy_model(folder, output, allow_code=details.allow_code)
    _add_code(output)
    for name in details.copies:
        COPIES[name](SentenceEncoder.from_pretrained(folder), output / name)
    if details.hide_paths:
        _hide_paths(output)
    for name, text in result_files(suites).items():
        (output / name).parent.mkdir(exist_ok=True)
        write_bytes(output / name, text.encode("utf-8"))
    for results in suites:
        plot_headline(results, output / f"{results['suite']}.png")
    write_card(output, card)
    return list(STALE)


def _files(directory: Path) -> list[Path]:
    found = {path for pattern in (*FILES, *RECORDS) for path in directory.glob(pattern)}
    parts = [path for path in found if path.is_dir()]
    inner = {path for part in parts for pattern in FILES for path in part.rglob(pattern)}
    return sorted(path for path in found | inner if path.is_file())


def _copy_model(directory: Path, output: Path, *, allow_code: bool) -> None:
    """Copy the files of a model. Links out of the folder raise an error.

    Unless `allow_code` is set, Python files of this package are regenerated, or left out if no
    longer used, and other Python files raise an error.
    """
    files = _files(directory)
    code = [] if allow_code else [path for path in files if path.suffix == ".py"]
    copy_files(directory, [path for path in files if path not in code], output)
    for path in code:
        is_ours = rewrite_code(path.name, output / path.parent.relative_to(directory))
        if not is_ours and not WRITTEN.fullmatch(path.name):
            raise PublishError(
                f"{path} is not code of this package. Remove it, or pass --allow-code"
            )


def _add_code(output: Path) -> None:
    """Write the Python files for `trust_remote_code=True` if the files named in the config are
    missing.

    Packaged models are saved without code, and models of earlier versions with other file names.
    """
    from transformers import AutoConfig

    from paraphrastic_hf.models.base import ParaphrasticModel

    config = AutoConfig.from_pretrained(output, trust_remote_code=False)
    model: Any = model_class(config.to_dict())
    named = (getattr(config, "auto_map", None) or {}).get("AutoConfig", "")
    is_there = (output / f"{named.partition('.')[0]}.py").is_file()
    if is_there or not issubclass(model or object, ParaphrasticModel):
        return
    code = write_remote_code(model, output)
    if code is None:  # defined in a notebook
        return
    known = {"AutoConfig": write_remote_code(type(config), output)}
    known |= dict.fromkeys((model.auto_class, *model.further_auto_classes), code)
    written = read_json(output / "config.json")
    write_json(output / "config.json", {**written, "auto_map": known})


def _hide_paths(output: Path) -> None:
    recipe, run = output / "recipe.yaml", output / "run.json"
    hidden = _without_paths(dict(read_mapping(recipe)))
    write_bytes(recipe, yaml.safe_dump(hidden, sort_keys=False, allow_unicode=True).encode())
    hidden = _without_paths(read_json(run))
    write_json(run, hidden)


def _without_paths(value: Any) -> Any:
    if isinstance(value, str):
        return PurePath(value).name if PurePath(value).is_absolute() else value
    if isinstance(value, Mapping):
        return {_without_paths(key): _without_paths(inner) for key, inner in value.items()}
    return [_without_paths(inner) for inner in value] if isinstance(value, list) else value
