import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from paraphrastic_hf.config.recipe import ENCODER_KINDS
from paraphrastic_hf.errors import ModelError, in_a_line, nearest, refuse_keywords, refused
from paraphrastic_hf.io.download import cache_folder, snapshot
from paraphrastic_hf.io.files import other_loader, read_json

DEFAULT_MODEL = "english"
DEFAULT_PARSER, DEFAULT_PARAPHRASER = "parser", "paraphraser"
# packaged models derived from another by raising its row lengths to a power
DERIVED_MODELS = {"simile": ("english", 0.5)}
ASSETS = Path(__file__).parents[2] / "assets"
OUTPUTS = "runs"  # output folder of recipes and examples
OWN = "paraphrastic-"  # prefix of this package's model types
LOADERS = {  # loaders of each model type; SentenceEncoder loads all others
    **dict.fromkeys(("bgt", "mgt"), ("SentenceEncoder", "LatentGenerator")),
    **dict.fromkeys(("relatedness", "classifier"), ("SentencePredictor",)),
    **dict.fromkeys(("paraphraser", "scpn"), ("SyntacticParaphraser", "Translator")),
    "gated-conv": ("Translator", "SyntacticParaphraser"),
    "ssru": ("SyntacticParaphraser",),
    "language-model": ("LanguageScorer",),
    "parser": ("SentenceParser",),
    "tagger": ("Tagger",),
}
LOADED = {  # for each loader: kind of model, command
    "SentenceEncoder": ("a sentence encoder", None),
    "SentencePredictor": ("a model of relatedness, entailment or sentiment", "predict"),
    "Tagger": ("a tagger", None),
    "SentenceParser": ("a parser", "parse"),
    "LanguageScorer": ("a language model", "perplexity"),
    "LatentGenerator": ("a generative model (recipe kind generative)", None),
    "Translator": ("a translator", "translate"),
    "SyntacticParaphraser": ("a paraphrase generator", "paraphrase"),
}
STOCK = ("Translator", "SyntacticParaphraser")  # loaders that also accept models of transformers
TRAINED = "Pass a folder written by `paraphrastic train`"
FILES = (".bin", ".gz", ".json", ".npy", ".pickle", ".pt", ".safetensors", ".tsv", ".txt", ".yaml")


class HubOptions(TypedDict, total=False):
    revision: str | None
    token: str | bool | None
    cache_dir: str | Path | None
    local_files_only: bool


def packaged_model(name: str = DEFAULT_MODEL) -> Path:
    """Return the directory of a packaged model, in a format that any loader can read.

    Packed averages, the parser and the paraphraser are first unpacked to float16, in the cache
    (`PARAPHRASTIC_CACHE`). This package and `AutoModel` convert the copy to float32.
    sentence-transformers computes in float16 and gives zeros for texts of 65,520 tokens or more. To
    avoid this, call `.float()` on the loaded model.

    Args:
        name: `english`, `english-window` (reads word order), `tiny` (English, 1 MB), `multilingual`
            (fifteen languages), `parser` (constituency trees of English) or `paraphraser`
            (English).

    Raises:
        ModelError: If no packaged model has this name.
        OSError: If the cache is not writable.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> SentenceTransformer(str(packaged_model("english"))).float()  # doctest: +SKIP
    """
    from paraphrastic_hf.encoders.storage.expanded import expanded

    return expanded(packaged_folder(name))


def packaged_folder(name: str = DEFAULT_MODEL) -> Path:
    """Return the folder of a packaged model in this package. Its table may be packed."""
    folder = ASSETS / name
    if not holds_model(folder):
        known = ", ".join(packaged_names())
        raise ModelError(f"No packaged model is named {name!r}. Choose from {known}")
    return folder


def packaged_names() -> list[str]:
    return sorted(path.name for path in ASSETS.iterdir() if holds_model(path))


def known_models() -> list[str]:
    return [*packaged_names(), *DERIVED_MODELS]


def holds_model(folder: str | os.PathLike[str]) -> bool:
    return (Path(folder) / "config.json").is_file()


def shown_name(directory: Path) -> str:
    """Return a model's name for messages: packaged name, Hub repository or path."""
    if directory.parent == ASSETS or directory.parents[1:2] == (_copies(),):
        return directory.name
    if directory.parent.name == "snapshots" and directory.parents[1].name.startswith("models--"):
        return directory.parents[1].name.removeprefix("models--").replace("--", "/")
    return str(directory)


def _copies() -> Path | None:
    """Return the folder of unpacked copies, or None if there is no cache folder."""
    try:
        return cache_folder() / "models"
    except RuntimeError:
        return None


def _refuse_unfinished(folder: Path) -> None:
    is_run = (folder / "recipe.yaml").is_file() and (folder / "work").is_dir()
    if is_run and not holds_model(folder):
        raise ModelError(
            f"{folder} has no model yet. Run the same command to continue its training"
        )


def check_model_name(name: str | os.PathLike[str]) -> None:
    """Raise an error for a path that does not exist or a misspelled name of a packaged model. A
    name that does not look like a path may be a Hub repository. Nothing is loaded or downloaded.
    """
    text = str(name)
    if os.path.isdir(name):
        _refuse_unfinished(Path(name))
    if os.path.isdir(name) or text in DERIVED_MODELS or holds_model(ASSETS / text):
        return
    if os.path.exists(name):
        raise ModelError(f"{name} is a file, not a model directory. {TRAINED}")
    if isinstance(name, str) and not _looks_like_path(text):
        meant = nearest(text, known_models(), cutoff=0.75) if "/" not in text else None
        if meant is not None:
            raise ModelError(f"No model named {text!r}. Did you mean {meant!r}?")
        return
    folder = Path(name).parent
    siblings = folder.iterdir() if folder.is_dir() else ()
    meant = nearest(Path(name).name, [p.name for p in siblings if holds_model(p)], cutoff=0.6)
    advice = f"Did you mean {str(folder / meant)!r}?" if meant else TRAINED
    raise ModelError(f"The model directory {name} does not exist. {advice}")


def check_model_kind(name: str | os.PathLike[str], *loaders: str) -> dict[str, Any]:
    """Return the `config.json` of a model, if one of `loaders` (keys of `LOADED`, the preferred one
    first) can load it. A Hub repository is not checked and gives an empty dictionary.
    """
    check_model_name(name)
    folder = (
        Path(name) if os.path.isdir(name) else ASSETS / DERIVED_MODELS.get(str(name), [name])[0]
    )
    if not folder.is_dir():
        return {}
    if not holds_model(folder):
        raise ModelError(f"{shown_name(folder)} has no config.json. {TRAINED}")
    with refused(ModelError, f"Cannot load the model in {shown_name(folder)}"):
        config: dict[str, Any] = dict(read_json(folder / "config.json"))
    if "model_type" in config:
        refuse_other_kind(str(config["model_type"]), folder, *loaders)
    return config


def refuse_other_kind(kind: str, directory: Path, *loaders: str) -> None:
    """Raise a `ModelError` unless one of `loaders` (`LOADED` keys) loads models of type `kind`."""
    name, is_own = shown_name(directory), kind.startswith(OWN) or kind in ENCODER_KINDS
    known = _loaders_of(kind) if is_own else STOCK
    if known is None or not set(known).isdisjoint(loaders):
        return
    if not is_own:
        raise ModelError(f"{name} ({kind!r}) is not of this package. {other_loader(directory)}")
    wanted, (_, command) = LOADED[loaders[0]][0], LOADED[known[0]]
    shell = f", or `paraphrastic {command}`" if command else ""
    raise ModelError(
        f"{name} is a {kind!r} model, not {wanted}. Load it with {' or '.join(known)}{shell}"
    )


def _loaders_of(kind: str) -> tuple[str, ...] | None:
    bare = kind.removeprefix(OWN)
    is_encoder = kind in ENCODER_KINDS or bare.replace("-", "_") in ENCODER_KINDS
    return LOADERS.get(bare, ("SentenceEncoder",) if is_encoder else None)


def _looks_like_path(name: str) -> bool:
    first, *rest = re.split(r"[/\\]", name)
    return (
        len(rest) > 1
        or "\\" in name
        or first.startswith(("~", "."))
        or first in ("", OUTPUTS)
        or "" in rest
        or name.lower().endswith(FILES)
        or (bool(rest) and os.path.isdir(first))
    )


def as_directory(name: str | os.PathLike[str]) -> str:
    """Replace the name of a packaged model by its directory. Other names stay unchanged."""
    is_packaged = isinstance(name, str) and holds_model(ASSETS / name) and not holds_model(name)
    return str(packaged_model(str(name)) if is_packaged else name)


def refuse_latent(name: str, latent: str | None) -> None:
    """Raise a `ModelError` if `latent` is not None, for a model without latent variables."""
    if latent is not None:
        raise ModelError(
            f"{name} has no latent variable {latent!r}. Omit --latent, or use a model trained with "
            "a recipe of kind generative"
        )


def check_hub_options(hub: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse keywords that are neither `HubOptions` nor parameters of `function`."""
    unknown = [name for name in hub if name not in HubOptions.__annotations__]
    refuse_keywords(unknown, function, more=HubOptions.__annotations__)


def local_directory(name: str | os.PathLike[str], **hub: Unpack[HubOptions]) -> Path:
    """Return the directory of a path, packaged model or Hub repository, tried in this order."""
    check_hub_options(hub, local_directory)
    is_packaged = isinstance(name, str) and holds_model(ASSETS / name)
    if os.path.isdir(name) and (holds_model(name) or not is_packaged):
        _refuse_unfinished(Path(name))
        return Path(name)
    if is_packaged:
        return ASSETS / name
    check_model_name(name)
    from huggingface_hub.errors import HfHubHTTPError

    network: Any = HfHubHTTPError.__bases__[0]  # base error of huggingface_hub's HTTP library
    try:
        return snapshot(str(name), **hub)
    except (ValueError, network, OSError) as error:  # ValueError: a file name such as ../x
        if type(error).__name__ == "IncompleteSnapshotError":  # new in huggingface_hub 2.4
            raise ModelError(
                f"The download of {name} is incomplete, and the Hub cannot be reached: {error}"
            ) from error
        raise ModelError(
            f"{name} is neither a model directory, a packaged model "
            f"({', '.join(packaged_names())}) nor a reachable Hub repository: {in_a_line(error)}"
        ) from error
