"""The extras of this package: which packages each brings, and the error that names one.

`pip install paraphrastic-hf` brings what encoding, scoring, neighbors, exact mining and SimiLE
need. What needs more calls `require` before it imports, or leaves it to `missing_extra`, by which
the command line and the public names turn Python's own error into one that says what to install.
"""

from __future__ import annotations

import importlib.util
import sys

from paraphrastic_hf.errors import MissingExtraError

EXTRAS: dict[str, tuple[str, ...]] = {  # what Python imports, by the extra that brings it
    "data": ("datasets", "pyarrow", "filelock", "sacremoses", "rapidfuzz"),
    "evaluate": ("scipy", "matplotlib"),
    "train": ("torch", "transformers", "accelerate", "tensorboard", "google", "jinja2"),
    "metric": ("evaluate",),
    "all": ("sentence_transformers",),
    "mining": ("faiss",),
    "languages": ("lang2vec",),
    "compare": ("sacrebleu", "nltk"),
    "mteb": ("mteb",),
    "tune": ("optuna",),
    "completion": ("shtab",),
    "lemmas": ("simplemma",),
    "identify": ("py3langid",),
    "corpora": ("datatrove", "ctranslate2"),
    "ray": ("ray",),
    "kenlm": ("kenlm",),
    "space": ("gradio", "starlette"),
    "docs": ("mkdocs", "mkdocstrings"),
}


NAMES = {"google": "protobuf"}  # what is installed, where that has another name


def require(extra: str, *packages: str, what: str) -> None:
    """Refuse to go on without the packages of an extra; imports none.

    Args:
        extra: The extra to name, one of `EXTRAS`.
        packages: What is needed, by the names that Python imports.
        what: What needs it, for the message.

    Raises:
        MissingExtraError: One of them is not installed; the message has the line that installs it.

    Example:
        >>> require("train", "numpy", what="training")
    """
    missing = [name for name in packages if not _is_there(name)]
    if missing:
        raise MissingExtraError(
            f"{what} needs {', '.join(map(_name, missing))}, not installed here; {_way_out(extra)}",
            name=missing[0],
        )


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """The error that names the extra of a module that was not found; None if no extra brings it.

    Example:
        >>> print(missing_extra(ModuleNotFoundError(name="torch.nn")))
        torch is not installed here; pip install 'paraphrastic-hf[train]'
    """
    if isinstance(error, MissingExtraError):
        return error
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            text = f"{_name(package)} is not installed here; {_way_out(extra)}"
            return MissingExtraError(text, name=error.name)
    return None


def _way_out(extra: str) -> str:
    return f"pip install 'paraphrastic-hf[{extra}]'"


def _name(package: str) -> str:
    return NAMES.get(package.partition(".")[0], package)


def _is_there(package: str) -> bool:
    try:
        return package in sys.modules or importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of `google.protobuf` where there is no `google`
        return False
