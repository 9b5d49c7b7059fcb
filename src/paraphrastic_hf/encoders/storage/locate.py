"""Where a model's directory is, given a path, a packaged model's name or that of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from paraphrastic_hf.config.encoder_kinds import ENCODER_KINDS
from paraphrastic_hf.errors import (
    ModelError,
    in_a_line,
    nearest,
    refuse_keywords,
    refused,
)
from paraphrastic_hf.io.download import cache_folder, snapshot
from paraphrastic_hf.io.files import other_loader, read_json

DEFAULT_MODEL = "english"
# packaged models that are another with the lengths of its rows raised to a power
DERIVED_MODELS = {"simile": ("english", 0.5)}
ASSETS = Path(__file__).parents[2] / "assets"
OUTPUTS = "runs"  # where recipes and examples have models written
OWN = "paraphrastic-"  # the model types of this package begin so
LOADERS = {  # of a type of this package; all others are encoders, which SentenceEncoder loads
    **dict.fromkeys(("bgt", "mgt"), ("SentenceEncoder", "LatentGenerator")),
    **dict.fromkeys(("relatedness", "classifier"), ("SentencePredictor",)),
    **dict.fromkeys(("paraphraser", "scpn"), ("SyntacticParaphraser", "Translator")),
    "gated-conv": ("Translator", "SyntacticParaphraser"),
    "language-model": ("LanguageScorer",),
    "parser": ("SentenceParser",),
    "tagger": ("Tagger",),
}
LOADED = {  # by each loader, and the command that reads it
    "SentenceEncoder": ("a sentence encoder", None),
    "SentencePredictor": ("a model of relatedness, entailment or sentiment", "predict"),
    "Tagger": ("a tagger", None),
    "SentenceParser": ("a parser", "parse"),
    "LanguageScorer": ("a language model", "perplexity"),
    "LatentGenerator": (
        "a generative model of sentence pairs, which a recipe of kind generative makes",
        None,
    ),
    "Translator": ("a translator", "translate"),
    "SyntacticParaphraser": ("a paraphrase generator", "paraphrase"),
}
STOCK = ("Translator", "SyntacticParaphraser")  # load models of transformers, too
FILES = (".bin", ".gz", ".json", ".npy", ".pickle", ".pt", ".safetensors", ".tsv", ".txt", ".yaml")


class HubOptions(TypedDict, total=False):
    """What loading takes besides a name, of which it matters for a Hub repository alone."""

    revision: str | None
    token: str | bool | None
    cache_dir: str | Path | None
    local_files_only: bool


def packaged_model(name: str = DEFAULT_MODEL) -> Path:
    """The directory of a model that comes with this package, for any loader.

    What this package itself reads may be packed; then this is a copy in the cache
    (`PARAPHRASTIC_CACHE`), made when it is first asked for. Its numbers are float16. This package
    and `AutoModel` read them as float32. sentence-transformers computes with what is stored, so
    have it take float32 by `.float()`: in float16 a text of 65,520 tokens or more becomes zeros,
    and a sum above 65,504 infinite or NaN.

    Args:
        name: `english`; `tiny`, English in a megabyte; or `multilingual`, of fifteen languages.

    Raises:
        ModelError: No packaged model has that name.
        OSError: The cache cannot be written.

    Example:
        >>> from sentence_transformers import SentenceTransformer
        >>> SentenceTransformer(str(packaged_model("english"))).float()  # doctest: +SKIP
    """
    from paraphrastic_hf.encoders.storage.expanded import expanded

    return expanded(packaged_folder(name))


def packaged_folder(name: str = DEFAULT_MODEL) -> Path:
    """Where the files of a packaged model lie in this package, as they are.

    Raises:
        ModelError: No packaged model has that name.
    """
    folder = ASSETS / name
    if not holds_model(folder):
        known = ", ".join(packaged_names())
        raise ModelError(f"no model {name!r} comes with the package; there is {known}")
    return folder


def packaged_names() -> list[str]:
    """The names of the folders of models that come with the package."""
    return sorted(path.name for path in ASSETS.iterdir() if holds_model(path))


def known_models() -> list[str]:
    """The names of the models that come with the package."""
    return [*packaged_names(), *DERIVED_MODELS]


def holds_model(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is the directory of a model, as any folder named like one may not be."""
    return (Path(folder) / "config.json").is_file()


def shown_name(directory: Path) -> str:
    """A model directory for messages, as its user named it: a packaged model by its name, and one
    in the cache of the Hub by its repository.

    Example:
        >>> shown_name(packaged_model("english"))
        'english'
    """
    if directory.parent == ASSETS or directory.parents[1:2] == (_copies(),):
        return directory.name
    if directory.parent.name == "snapshots" and directory.parents[1].name.startswith("models--"):
        return directory.parents[1].name.removeprefix("models--").replace("--", "/")
    return str(directory)


def _copies() -> Path | None:
    """Where copies of packaged models lie; None where there is no home folder to have a cache."""
    try:
        return cache_folder() / "models"
    except RuntimeError:
        return None


def _refuse_unfinished(folder: Path) -> None:
    """Refuse the folder of a training run that has no model yet.

    Raises:
        ModelError: It is one.
    """
    is_run = (folder / "recipe.yaml").is_file() and (folder / "work").is_dir()
    if is_run and not holds_model(folder):
        raise ModelError(
            f"the training of {folder} is not finished, so there is no model yet; the same command "
            "goes on"
        )


def check_model_name(name: str | os.PathLike[str]) -> None:
    """Refuse a name that can be no model's before anything is loaded or a network is asked.

    Refused are a path where nothing is, and the misspelled name of a packaged model. A path is what
    begins with `/`, `.`, `~` or `runs/`, has a backslash or more than one slash, ends in a slash or
    as files do, or begins with a folder that is there; any other name may be that of a repository.

    Args:
        name: A path, the name of a packaged model, or a repository such as `someone/model`.

    Raises:
        ModelError: It is one of these, a file, or the folder of a run that is not finished; the
            message names the model probably meant.

    Example:
        >>> check_model_name("englsh")
        Traceback (most recent call last):
        paraphrastic_hf.errors.ModelError: there is no model 'englsh'; did you mean 'english'?
    """
    text = str(name)
    if os.path.isdir(name):
        _refuse_unfinished(Path(name))
    if os.path.isdir(name) or text in DERIVED_MODELS or holds_model(ASSETS / text):
        return
    if os.path.exists(name):
        raise ModelError(f"{name} is no model directory; it is a file")
    if isinstance(name, str) and not _looks_like_path(text):
        meant = nearest(text, known_models(), cutoff=0.75) if "/" not in text else None
        if meant is not None:
            raise ModelError(f"there is no model {text!r}; did you mean {meant!r}?")
        return
    folder = Path(name).parent
    beside = (
        [path.name for path in folder.iterdir() if holds_model(path)] if folder.is_dir() else []
    )
    meant = nearest(Path(name).name, beside, cutoff=0.6)
    way_out = (
        f"did you mean {str(folder / meant)!r}?"
        if meant
        else "give the --output of `paraphrastic train`"
    )
    raise ModelError(f"{name} is no model directory: nothing is there; {way_out}")


def check_model_kind(name: str | os.PathLike[str], *loaders: str) -> dict[str, Any]:
    """Refuse a model that none of some loaders loads, by its `config.json` alone.

    Args:
        name: A path, the name of a packaged model, or a repository.
        *loaders: Names of `LOADED`, the one that is wanted first.

    Returns:
        The configuration; empty for a repository, which is known only once it is downloaded.

    Raises:
        ModelError: It is of another kind, has no readable configuration, or `check_model_name`
            refuses its name.

    Example:
        >>> check_model_kind("english", "SentenceEncoder")["model_type"]
        'paraphrastic-averaging'
    """
    check_model_name(name)
    folder = (
        Path(name) if os.path.isdir(name) else ASSETS / DERIVED_MODELS.get(str(name), [name])[0]
    )
    if not folder.is_dir():
        return {}
    if not holds_model(folder):
        raise ModelError(
            f"{shown_name(folder)} has no config.json; give the --output of `paraphrastic train`"
        )
    with refused(ModelError, f"cannot load the model in {shown_name(folder)}"):
        config: dict[str, Any] = dict(read_json(folder / "config.json"))
    if "model_type" in config:
        refuse_other_kind(str(config["model_type"]), folder, *loaders)
    return config


def refuse_other_kind(kind: str, directory: Path, *loaders: str) -> None:
    """Refuse a model that none of some loaders loads.

    Args:
        kind: Its `model_type`.
        directory: Its directory, for the message.
        *loaders: Names of `LOADED`, the one that is wanted first.

    Raises:
        ModelError: It is of another kind.
    """
    name, is_own = shown_name(directory), kind.startswith(OWN) or kind in ENCODER_KINDS
    known = _loaders_of(kind) if is_own else STOCK
    if known is None or not set(known).isdisjoint(loaders):
        return
    if not is_own:
        raise ModelError(
            f"{name} holds a {kind!r} model, not one of this package; {other_loader(directory)}"
        )
    wanted, (_, command) = LOADED[loaders[0]][0], LOADED[known[0]]
    shell = f", or `paraphrastic {command}`" if command else ""
    raise ModelError(
        f"{name} holds a {kind!r} model; wanted here is {wanted}. That one loads with "
        f"{' or '.join(known)}{shell}"
    )


def _loaders_of(kind: str) -> tuple[str, ...] | None:
    """What loads a model type of this package; None for one that is not known here."""
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
    """A name as transformers' `from_pretrained` takes it, packaged models by their directories.

    Args:
        name: A path, the name of a packaged model, or a repository.
    """
    is_packaged = isinstance(name, str) and holds_model(ASSETS / name) and not holds_model(name)
    return str(packaged_model(str(name)) if is_packaged else name)


def refuse_latent(name: str, latent: str | None) -> None:
    """Refuse a variable asked of a model that has none.

    Args:
        name: The model, for the message.
        latent: What was asked for; None is nothing.

    Raises:
        ModelError: Something was.
    """
    if latent is not None:
        raise ModelError(
            f"{name} has no latent variable {latent!r}: only generative models have some, which "
            "`paraphrastic train` makes by a recipe of kind generative; leave out --latent"
        )


def check_hub_options(hub: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse keywords that are no `HubOptions`.

    Args:
        hub: The keywords that a function passes on to the Hub.
        function: The function that was given them, whose own keywords are suggested too.

    Raises:
        TypeError: There is one.
    """
    unknown = [name for name in hub if name not in HubOptions.__annotations__]
    refuse_keywords(unknown, function, more=HubOptions.__annotations__)


def local_directory(name: str | os.PathLike[str], **hub: Unpack[HubOptions]) -> Path:
    """The directory of a model, downloaded if it is in a Hub repository.

    Args:
        name: A path, the name of a packaged model, or a repository such as `someone/model`. Where
            several fit, the first in this order is taken.
        **hub: Of a repository: `revision`, a branch, tag or commit; `token`, if it is private;
            `cache_dir`, the folder of downloads; `local_files_only`, to ask no network.

    Raises:
        ModelError: None of these is there, its training is not finished, the Hub cannot be
            reached, or what was downloaded is not all there.
        TypeError: There is no option of a name.
    """
    check_hub_options(hub, local_directory)
    is_packaged = isinstance(name, str) and holds_model(ASSETS / name)
    if os.path.isdir(name) and (holds_model(name) or not is_packaged):
        _refuse_unfinished(Path(name))
        return Path(name)
    if is_packaged:
        return ASSETS / name
    check_model_name(name)
    from huggingface_hub.errors import HfHubHTTPError

    network: Any = HfHubHTTPError.__bases__[0]  # of the HTTP library that huggingface_hub uses
    try:
        return snapshot(str(name), **hub)
    except (ValueError, network, OSError) as error:  # ValueError: a file's name, such as ../x
        if type(error).__name__ == "IncompleteSnapshotError":  # as huggingface_hub 2.4 has it
            raise ModelError(
                f"{name} was downloaded in part, and the Hub is not in reach for the rest: {error}"
            ) from error
        raise ModelError(
            f"{name} is neither a model directory nor a Hub repository in reach, nor packaged "
            f"({', '.join(packaged_names())}): {in_a_line(error)}"
        ) from error
