"""Converts transformers models to CTranslate2, with CTranslate2's converter.

Used for 8-bit teachers (`int8.py`) and for the engine `ctranslate2` of the corpus pipelines.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.storage.bounded import no_progress_bar
from paraphrastic_hf.encoders.storage.fingerprint import files_hash
from paraphrastic_hf.encoders.storage.locate import as_directory, check_model_name
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import read_json, replacing, write_json

CONVERTED = "model.bin"  # every CTranslate2 directory has it
POSITIONS = "position_embedding_type"
ABSOLUTE = ("bert", "roberta", "xlm-roberta", "camembert")  # their converters require POSITIONS


def converted(
    name: str | os.PathLike[str], *, work: Path | None, advice: str, precision: str = "int8"
) -> Path:
    """Return the directory of a model converted to CTranslate2, which runs on first use and after a
    local model has changed.

    `work` is the folder for the converted model (None: beside a local model), `advice` the end of
    the error message, `precision` such as `int8` or `float32`.
    """
    require("corpora", "ctranslate2", what="the engine ctranslate2")
    check_model_name(name)
    found = Path(as_directory(name))
    source = found if found.is_dir() else None
    if source is not None and (source / CONVERTED).is_file():
        return source
    target = (work or found.parent) / f"{Path(name).name}-ctranslate2-{precision}"
    if source is not None:  # models of one name but different content get separate copies
        target = target.with_name(f"{target.name}-{files_hash(source)[:8]}")
    if (target / CONVERTED).is_file():
        return target
    from ctranslate2.converters import TransformersConverter

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            replacing(target, is_shared=True) as partial,
            no_progress_bar(),
            _with_positions(source) as folder,
        ):
            converter = TransformersConverter(str(folder or name))
            converter.convert(str(partial), quantization=precision)
    except Exception as error:  # the converter and transformers raise many kinds
        if isinstance(error, OSError) and error.errno is not None:  # a full disk
            raise
        raise ModelError(
            f"CTranslate2 cannot convert {name}: {str(error).strip() or repr(error)}. {advice}"
        ) from error
    return target


@contextmanager
def _with_positions(source: Path | None) -> Iterator[Path | None]:
    """Yield a model directory with `POSITIONS` in its config, which transformers 5 omits."""
    if source is None:
        yield source
        return
    config: dict[str, Any] = read_json(source / "config.json")
    if config.get("model_type") not in ABSOLUTE or POSITIONS in config:
        yield source
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for path in source.iterdir():
            if path.name != "config.json":
                (folder / path.name).symlink_to(path.resolve())
        write_json(folder / "config.json", {**config, POSITIONS: "absolute"})
        yield folder
