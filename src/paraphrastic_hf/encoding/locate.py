"""Where a model's directory is, given a path, a packaged model's name or that of a repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypedDict, Unpack

from paraphrastic_hf.errors import ModelError, nearest_name

DEFAULT_MODEL = "english"
ASSETS = Path(__file__).parents[1] / "assets"


class HubOptions(TypedDict, total=False):
    """What loading takes besides a name, of which it matters for a Hub repository alone."""

    revision: str | None
    token: str | bool | None
    cache_dir: str | Path | None
    local_files_only: bool


def packaged_model(name: str = DEFAULT_MODEL) -> Path:
    """The directory of a model that comes with this package, for any loader.

    Its numbers are stored as float16. This package and `AutoModel` read them as float32.
    sentence-transformers computes with what is stored, so have it take float32 by `.float()`: in
    float16 a text of 65,520 tokens or more becomes zeros, and a sum above 65,504 infinite or NaN.

    Args:
        name: `english`, of one language, or `multilingual`, of ten.

    Raises:
        ModelError: No packaged model has that name.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> SentenceTransformer(str(packaged_model("english"))).float()  # doctest: +SKIP
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


def local_directory(name: str | os.PathLike[str], **hub: Unpack[HubOptions]) -> Path:
    """The directory of a model, downloaded if it is in a Hub repository.

    Args:
        name: A path, the name of a packaged model, or a repository such as `someone/model`. Where
            several fit, the first in this order is taken.
        **hub: Of a repository: `revision`, a branch, tag or commit; `token`, if it is private;
            `cache_dir`, the folder of downloads; `local_files_only`, to ask no network.

    Raises:
        ModelError: None of these is there, or the Hub cannot be reached.
        TypeError: There is no option of a name.
    """
    for option in hub:
        if option not in HubOptions.__annotations__:
            near = nearest_name(option, [*HubOptions.__annotations__, "num_threads"])
            raise TypeError(f"loading a model has no keyword {option!r}; {near}")
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
            snapshot_download(
                str(name), ignore_patterns=["checkpoints/*", "logs/*", "work/*"], **hub
            )
        )
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"{name} is neither a model directory nor a Hub repository in reach, nor packaged "
            f"({', '.join(_packaged())}): {error}"
        ) from error
