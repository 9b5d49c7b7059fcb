"""A model of transformers as CTranslate2 wants it, converted once by its own converter.

It is code and not an example because recipes use it: the teacher of the packaged models `english`
and `tiny` (`int8.py`), and the engine `ctranslate2` of the corpora of paranmt-2018.
"""

from __future__ import annotations

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

CONVERTED = "model.bin"  # the file by which a directory is one of CTranslate2
POSITIONS = "position_embedding_type"
ABSOLUTE = ("bert", "roberta", "xlm-roberta", "camembert")  # whose converters ask for POSITIONS


def converted(
    name: str | os.PathLike[str],
    *,
    work: Path | None,
    way_out: str,
    precision: str = "int8",
) -> Path:
    """A CTranslate2 directory of a model: itself, or what it is converted to, once.

    A local model that has changed since is converted again.

    Args:
        name: A directory of CTranslate2 or transformers, or a Hub repository.
        work: The folder to put what is converted into; beside a local model if None.
        way_out: What to do where CTranslate2 cannot convert it, for the message.
        precision: Number format of the weights, such as `int8` or `float32`.

    Raises:
        ModelError: It is not there, or CTranslate2 does not convert such a model.
        MissingExtraError: CTranslate2 is not installed.
    """
    require("corpora", "ctranslate2", what="the engine ctranslate2")
    check_model_name(name)
    found = Path(as_directory(name))
    source = found if found.is_dir() else None
    if source is not None and (source / CONVERTED).is_file():
        return source
    target = (work or found.parent) / f"{Path(name).name}-ctranslate2-{precision}"
    if source is not None:  # another model of this name has another copy
        target = target.with_name(f"{target.name}-{files_hash(source)[:8]}")
    if (target / CONVERTED).is_file():
        return target
    from ctranslate2.converters import TransformersConverter

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            replacing(target, is_shared=True) as partial,
            no_progress_bar(),
            _with_positions(source) as told,
        ):
            TransformersConverter(str(told or name)).convert(str(partial), quantization=precision)
    except Exception as error:  # the converter and transformers raise many kinds
        if isinstance(error, OSError) and error.errno is not None:  # a full disk
            raise
        raise ModelError(
            f"CTranslate2 does not convert {name}: {str(error).strip() or repr(error)}; {way_out}"
        ) from error
    return target


@contextmanager
def _with_positions(source: Path | None) -> Iterator[Path | None]:
    """A model's directory; a temporary one of links to it where its config lacks what the converter
    asks for: that positions are absolute, which transformers 5 no longer writes."""
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
