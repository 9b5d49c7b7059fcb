"""Published models in interpreters of their own: one with this package, one where it is absent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.hub.server import Hub, environment

PROGRAM = Path(__file__).with_name("loaded_alone.py")
TEXT = "the cat sleeps on the mat ."
FRESH = ("present", "absent", "SentenceTransformer, absent")  # columns of `compared`
SAME = ("weights", "ids", "output")


class Interpreter:
    """A Python with the packages of this one, and this package only where PYTHONPATH names it.

    Args:
        hub: What it takes for the Hub.
        folder: An empty folder, for it and for what it downloads.
    """

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        venv.create(folder / "venv", with_pip=False)
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        places = [path for path in sys.path if path.endswith("site-packages")]
        (site / "shared.pth").write_text("\n".join(places) + "\n")

    def run(self, program: str, *arguments: str, present: bool) -> subprocess.CompletedProcess[str]:
        """Run a program as `python -c` does, with a cache of its own for either state."""
        variables = environment(self.hub.address, self.folder / ("absent", "present")[present])
        variables["HF_HUB_DOWNLOAD_TIMEOUT"] = "120"  # a busy machine may serve 200 MB slowly
        variables["PYTHONPATH"] = os.environ.get("PYTHONPATH", "") if present else ""
        return subprocess.run(
            [str(self.folder / "venv" / "bin" / "python"), "-c", program, *arguments],
            env=variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


def loaded(python: Interpreter, repositories: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """What `tests/hub/loaded_alone.py` prints of repositories, `absent` and `present`.

    Args:
        python: Where to run it.
        repositories: The names of their Auto classes, by the names of repositories.
    """
    program, found = PROGRAM.read_text(encoding="utf-8"), {}
    for state in ("absent", "present"):
        done = python.run(
            program, state, json.dumps(repositories), TEXT, present=state == "present"
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found[state] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(absent: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """Three cells: whether a model loads with the package, whether it loads and gives the same
    without, and whether sentence-transformers loads it without; "none" for what is no encoder."""
    there = "yes" if set(SAME) <= present.keys() else f"no: {present['AutoModel']}"
    loads = "yes" if set(SAME) <= absent.keys() else f"no: {absent['AutoModel']}"
    if loads == there == "yes" and any(absent[key] != present[key] for key in SAME):
        loads = "differs"
    if "vector" in absent:
        vector = "yes" if absent["vector"] == present.get("vector") else "differs"
    else:
        vector = "no" if "SentenceTransformer" in absent else "none"
    return [there, loads, vector]
