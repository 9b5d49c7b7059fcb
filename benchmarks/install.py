"""Install time and size of our core and `[all]`, compared with model2vec and sentence-transformers.

Each is installed into a fresh virtual environment, which is removed afterwards. The seconds are
those of one `pip install` without pip's cache, so they measure the network as much as the packages.
The megabytes (10^6 bytes) are what it adds to the environment, including compiled Python files. Our
wheel is built beforehand. If the index has only builds of torch with CUDA, give another requirement
with `--torch`. It is used for both contenders with torch.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from common.report import Table, options, save, settings
from common.timing import timed

ROOT = Path(__file__).parents[1]
MEGABYTE = 10**6
# Without PYTHONPATH, because pip would find the installed package of this checkout.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def requirements(wheel: Path, torch: str) -> dict[str, list[str]]:
    """Return the arguments of `pip install` for each contender."""
    return {
        "core": [str(wheel)],
        "model2vec": ["model2vec"],
        "sentence-transformers": [torch, "sentence-transformers"],
        "all": [torch, f"{wheel}[all]"],
    }


def measure(wanted: list[str], folder: Path) -> dict[str, Any]:
    """Install into a fresh environment, and return its seconds, megabytes and distributions."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"

    def pip(*arguments: str) -> bytes:
        command = [str(python), "-m", "pip", *arguments]
        return subprocess.run(command, check=True, env=ENVIRONMENT, stdout=subprocess.PIPE).stdout

    def versions() -> dict[str, str]:
        listed = json.loads(pip("list", "--format", "json"))
        return {each["name"]: each["version"] for each in listed}

    before, known = sizes(folder), versions()
    seconds, _ = timed(pip, "install", "--quiet", "--no-cache-dir", *wanted)
    grown = sizes(folder)
    grown.subtract(before)
    brought = {name: each for name, each in versions().items() if name not in known}
    return {
        "seconds": round(seconds, 1),
        "megabytes": round(grown.total() / MEGABYTE, 1),
        "distributions": len(brought),
        "largest": {name: round(size / MEGABYTE, 1) for name, size in grown.most_common(6)},
        "versions": brought,
    }


def sizes(folder: Path) -> Counter[str]:
    """Return the bytes of every folder in `site-packages` and of every other top folder."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            parts = path.relative_to(folder).parts
            at = parts.index("site-packages") + 1 if "site-packages" in parts else 0
            found[parts[at]] += path.stat().st_size
    return found


def main() -> None:
    parser = options(__doc__, threads=None)
    parser.add_argument("--torch", default="torch", help="requirement, such as torch==2.13.0")
    args = parser.parse_args()
    results: dict[str, Any] = {"settings": settings(args), "measured": {}}
    with tempfile.TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        for name, wanted in requirements(wheel, args.torch).items():
            with tempfile.TemporaryDirectory() as place:
                results["measured"][name] = measure(wanted, Path(place) / "venv")
    keys = ("megabytes", "seconds", "distributions")
    rows = {name: {key: row[key] for key in keys} for name, row in results["measured"].items()}
    save(args, results, Table("pip install", rows))


if __name__ == "__main__":
    main()
