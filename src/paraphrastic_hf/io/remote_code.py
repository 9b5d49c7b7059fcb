"""Python files saved with a model, so that it loads without this package.

With `trust_remote_code=True`, transformers imports files from the model's folder. Each module of
this package that a class needs is written as `paraphrastic_<folder>_<module>.py` with relative
imports.
"""

import ast
import importlib.util
import shutil
import sys
from functools import cache
from pathlib import Path

PACKAGE = "paraphrastic_hf"
PREFIX = "paraphrastic_"


def write_remote_code(cls: type, directory: str | Path) -> str | None:
    """Write the files that a class needs to a folder, and return the reference for `auto_map`.

    It looks like `paraphrastic_models_encoders_averaging.AveragingModel`. A class defined
    elsewhere, such as in a notebook, gives None and no files.
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
    """Update a file of `write_remote_code` and its imports, if this package has such a file."""
    package = Path(__file__).parents[1]
    for path in package.rglob("*.py"):
        module = ".".join((PACKAGE, *path.relative_to(package).with_suffix("").parts))
        if f"{flat_name(module)}.py" == name:
            _write_modules(module, directory)
            return True
    return False


def _write_modules(module: str, directory: Path) -> None:
    pending, written = [module], set()
    while pending:
        name = pending.pop()
        if name not in written:
            written.add(name)
            source, needed = make_relative(_source(name))
            (directory / f"{flat_name(name)}.py").write_text(source, encoding="utf-8")
            pending += needed


def flat_name(module: str) -> str:
    """Return the file name of a module, such as `paraphrastic_models_encoders_averaging`."""
    return PREFIX + module.removeprefix(PACKAGE + ".").replace(".", "_")


@cache  # repeated saving parses each module only once
def make_relative(source: str) -> tuple[str, tuple[str, ...]]:
    """Make imports from this package relative. Return the source and the imported modules."""
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
        raise ImportError(f"Cannot find the source of {module}")
    return Path(spec.origin).read_text(encoding="utf-8")
