"""Optional dependencies ("extras"), and the error that names a missing one."""

import importlib.util
import sys

from paraphrastic_hf.errors import MissingExtraError

EXTRAS: dict[str, tuple[str, ...]] = {  # import names of the packages of each extra
    "data": ("datasets", "pyarrow", "filelock", "sacremoses", "rapidfuzz"),
    "evaluate": ("scipy", "matplotlib"),
    "train": ("torch", "transformers", "accelerate", "tensorboard", "google", "jinja2"),
    "metric": ("evaluate",),
    "all": ("sentence_transformers",),
    "mining": ("faiss",),
    "lance": ("lance",),
    "export": ("onnx",),
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
    "serve": ("starlette", "uvicorn", "orjson", "prometheus_client"),
    "space": ("gradio", "starlette"),
    "docs": ("mkdocs", "mkdocstrings"),
}


NAMES = {"google": "protobuf", "lance": "pylance"}  # package names that differ from the import name


def require(extra: str, *packages: str, what: str, instead: str = "") -> None:
    """Raise a `MissingExtraError` unless packages of an extra, given by import name, are installed.

    For the message, `what` is the feature that needs the packages, and `instead` an alternative.
    """
    missing = [name for name in packages if not _is_there(name)]
    if missing:
        raise MissingExtraError(
            f"{what} requires {', '.join(map(_name, missing))}. {_advice(extra)}"
            + f", or {instead}" * bool(instead),
            name=missing[0],
        )


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return an error that names the extra of the missing module. None if no extra has it."""
    if isinstance(error, MissingExtraError):
        return error
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            text = f"{_name(package)} is not installed. {_advice(extra)}"
            return MissingExtraError(text, name=error.name)
    return None


def _advice(extra: str) -> str:
    return f"Run pip install 'paraphrastic-hf[{extra}]'"


def _name(package: str) -> str:
    return NAMES.get(package.partition(".")[0], package)


def _is_there(package: str) -> bool:
    try:
        return package in sys.modules or importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # the parent package, such as `google`, is missing
        return False
