"""Copies the SimiLE metric (thesis, 7.2.1) to the folder of `evaluate.load("simile")` or to a Hub
Space.
"""

import hashlib
import os
from pathlib import Path

from paraphrastic_hf.io.files import write_bytes

MODULE = Path(__file__).parent / "simile"
SCRIPT = MODULE / "simile.py"
PLACE = "ORGANIZATION/simile"  # placeholder in the card, replaced when a Space is published
SPACE_FILES = ("simile.py", "README.md", "app.py", "requirements.txt")


def modules_cache() -> Path:
    """Return the folder in which `evaluate` looks for modules, from its environment variables."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("HF_HOME", os.path.join(cache, "huggingface"))
    return Path(os.environ.get("HF_MODULES_CACHE", os.path.join(home, "modules"))).expanduser()


def install_metric(cache: str | os.PathLike[str] | None = None) -> Path:
    """Install the metric for `evaluate.load("simile")`, in evaluate's own folder of modules by
    default. Return the path of the installed file.
    """
    script = SCRIPT.read_bytes()
    root = modules_cache() if cache is None else Path(cache)
    folder = root / "evaluate_modules" / "metrics" / "evaluate-metric--simile"
    folder /= hashlib.sha256(script).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    for parent in (folder, *folder.parents):
        if parent == root:
            break
        (parent / "__init__.py").touch()
    path = folder / SCRIPT.name
    write_bytes(path, script)
    return path


def export_space(folder: str | os.PathLike[str]) -> list[Path]:
    """Write the files of a Hub Space: module, card, page, requirements. Return their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in SPACE_FILES:
        write_bytes(folder / name, (MODULE / name).read_bytes())
    return [folder / name for name in SPACE_FILES]
