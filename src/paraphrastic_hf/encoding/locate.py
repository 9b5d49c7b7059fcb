"""Where a model's directory is, given a path, a packaged model's name or that of a repository."""

from __future__ import annotations

import os
from pathlib import Path

from paraphrastic_hf.errors import ModelError

DEFAULT_MODEL = "english"
ASSETS = Path(__file__).parents[1] / "assets"


def packaged_model(name: str = DEFAULT_MODEL) -> Path:
    """The directory of a model that comes with this package, for any loader.

    Args:
        name: `english`, of one language, or `multilingual`, of ten.

    Raises:
        ModelError: No packaged model has that name.

    Example:
        >>> from transformers import AutoModel
        >>> AutoModel.from_pretrained(packaged_model("english"))  # doctest: +SKIP
    """
    folder = ASSETS / name
    if not holds_model(folder):
        known = ", ".join(_packaged())
        raise ModelError(f"no model {name!r} comes with the package; there is {known}")
    return folder


def _packaged() -> list[str]:
    return sorted(path.name for path in ASSETS.iterdir() if holds_model(path))


def holds_model(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is the directory of a model, as any folder named like one may not be."""
    return (Path(folder) / "config.json").is_file()


def local_directory(name: str | os.PathLike[str]) -> Path:
    """The directory of a model, downloaded if it is in a Hub repository.

    Args:
        name: A path, the name of a packaged model, or a repository such as `someone/model`. Where
            several fit, the first in this order is taken.

    Raises:
        ModelError: None of these is there, or the Hub cannot be reached.
    """
    is_packaged = isinstance(name, str) and holds_model(ASSETS / name)
    if os.path.isdir(name) and (holds_model(name) or not is_packaged):
        return Path(name)
    if is_packaged:
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
            f"{name} is neither a model directory nor a Hub repository in reach, nor packaged "
            f"({', '.join(_packaged())}): {error}"
        ) from error
