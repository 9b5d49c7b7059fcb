"""Writes Python files beside a saved model, so that it loads where this package is not installed.

`trust_remote_code=True` imports files that are in one folder with the weights. This module finds
all modules of this package that a class needs and writes each as
`paraphrastic_<folder>_<module>.py`, with its imports made relative. The files of a class that was
itself loaded that way are copied.
"""

from __future__ import annotations

import ast
import importlib.util
import shutil
import sys
from functools import cache
from pathlib import Path

PACKAGE = "paraphrastic_hf"
PREFIX = "paraphrastic_"


def write_remote_code(cls: type, directory: str | Path) -> str | None:
    """Write the files that a class needs, and return its reference for `auto_map`.

    A reference is, for example, `paraphrastic_models_encoders_averaging.AveragingModel`.

    Args:
        directory: The folder to write to, which is made if it does not exist.

    Returns:
        The reference; None, and nothing is written, for a class that was defined elsewhere, such
        as in a notebook.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    module = cls.__module__
    if not module.startswith(PACKAGE + "."):
        if not module.rsplit(".", 1)[-1].startswith(PREFIX):
            return None
        here = Path(str(sys.modules[module].__file__)).parent
        for path in here.glob(f"{PREFIX}*.py"):
            if path.parent.resolve() != directory.resolve():
                shutil.copyfile(path, directory / path.name)
        return f"{module.rsplit('.', 1)[-1]}.{cls.__qualname__}"
    _write_modules(module, directory)
    return f"{flat_name(module)}.{cls.__qualname__}"


def rewrite_code(name: str, directory: Path) -> bool:
    """Write a file of `write_remote_code`, and those that it imports, from this package.

    Args:
        name: The file's name, such as `paraphrastic_models_encoders_averaging.py`.

    Returns:
        Whether this package writes files of that name; if not, nothing is written.
    """
    package = Path(__file__).parents[1]
    for path in package.rglob("*.py"):
        module = ".".join((PACKAGE, *path.relative_to(package).with_suffix("").parts))
        if f"{flat_name(module)}.py" == name:
            _write_modules(module, directory)
            return True
    return False


def _write_modules(module: str, directory: Path) -> None:
    """Write a module, and all of this package that it imports."""
    pending, written = [module], set()
    while pending:
        name = pending.pop()
        if name not in written:
            written.add(name)
            source, needed = make_relative(_source(name))
            (directory / f"{flat_name(name)}.py").write_text(source, encoding="utf-8")
            pending += needed


def flat_name(module: str) -> str:
    """Return the name of a module's file: `paraphrastic_hf.models.encoders.averaging` gives
    `paraphrastic_models_encoders_averaging`."""
    return PREFIX + module.removeprefix(PACKAGE + ".").replace(".", "_")


@cache  # a process that saves again reads no module twice
def make_relative(source: str) -> tuple[str, tuple[str, ...]]:
    """Make the imports from this package in a module's source relative.

    Returns:
        The changed source, and the names of the modules that it imports from this package.
    """
    lines = source.splitlines(keepends=True)
    needed = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE + "."):
            module = str(node.module)
            needed.append(module)
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line.replace(
                f"from {module} ", f"from .{flat_name(module)} ", 1
            )
    return "".join(lines), tuple(needed)


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"cannot find the source of {module}")
    return Path(spec.origin).read_text(encoding="utf-8")
