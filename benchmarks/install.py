"""Seconds and megabytes of an installation: the core and `[all]` beside model2vec and
sentence-transformers.

Each contender gets a fresh virtual environment in a folder that is removed afterwards. Timed is one
`pip install` without pip's cache, so downloads are in it, and it says as much about the network as
about the packages. Counted are the bytes that it adds to the environment, compiled Python files
among them, and the distributions. Our wheel is built beforehand. Where the index has only builds of
torch with CUDA, `--torch` names another; both contenders that need torch get the same.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MEGABYTE = 10**6
# without a path to this checkout, by which pip would find the package installed already
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def contenders(wheel: Path, torch: str) -> dict[str, list[str]]:
    """What is given to `pip install`."""
    return {
        "core": [str(wheel)],
        "model2vec": ["model2vec"],
        "sentence-transformers": [torch, "sentence-transformers"],
        "all": [torch, f"{wheel}[all]"],
    }


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def measure(requirements: list[str], folder: Path) -> dict[str, Any]:
    """Install into a fresh environment, and say what that took and brought."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    before, there = sizes(folder), distributions(python)
    start = time.perf_counter()
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", *requirements]
    subprocess.run(install, check=True, env=ENVIRONMENT)
    seconds = time.perf_counter() - start
    after = sizes(folder)
    grown = {name: size - before.get(name, 0) for name, size in after.items()}
    largest = sorted(grown, key=lambda name: -grown[name])[:6]
    brought = {k: v for k, v in distributions(python).items() if k not in there}
    return {
        "seconds": round(seconds, 1),
        "megabytes": round(sum(grown.values()) / MEGABYTE, 1),
        "distributions": len(brought),
        "largest": {name: round(grown[name] / MEGABYTE, 1) for name in largest},
        "versions": brought,
    }


def sizes(folder: Path) -> dict[str, int]:
    """The bytes of every folder in `site-packages`, and of all that lies elsewhere."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            parts = path.relative_to(folder).parts
            at = parts.index("site-packages") + 1 if "site-packages" in parts else 0
            found[parts[at]] = found.get(parts[at], 0) + path.stat().st_size
    return found


def distributions(python: Path) -> dict[str, str]:
    """The installed distributions with their versions."""
    command = [str(python), "-m", "pip", "list", "--format", "json"]
    listed = json.loads(
        subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT).stdout
    )
    return {item["name"]: item["version"] for item in listed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--torch", default="torch", help="the requirement of torch, such as torch==2.13.0"
    )
    parser.add_argument("--only", nargs="+", help="the contenders to measure (default: all four)")
    parser.add_argument("--output", type=Path, default=Path("results/install"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Any] = {}
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        print(f"wheel: {wheel.stat().st_size / MEGABYTE:.1f} MB")
        for name, requirements in contenders(wheel, arguments.torch).items():
            if not arguments.only or name in arguments.only:
                with tempfile.TemporaryDirectory() as place:
                    measured[name] = measure(requirements, Path(place) / "venv")
                row = measured[name]
                print(
                    f"{name}: {row['seconds']:.0f} s, {row['megabytes']:.0f} MB, "
                    f"{row['distributions']} distributions",
                    flush=True,
                )
        settings = {
            "torch": arguments.torch,
            "wheel_megabytes": round(wheel.stat().st_size / MEGABYTE, 1),
            "python": platform.python_version(),
            "platform": platform.platform(),
            "load_average_before": load,
        }
    text = json.dumps({"settings": settings, "measured": measured}, indent=2) + "\n"
    (arguments.output / "install.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
