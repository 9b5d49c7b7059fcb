"""Published models loaded in separate interpreters, with and without this package."""

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
    """A Python with the installed packages, and this package only via PYTHONPATH."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        venv.create(folder / "venv", with_pip=False)
        (site,) = (folder / "venv").glob("lib/python*/site-packages")
        places = [path for path in sys.path if path.endswith("site-packages")]
        (site / "shared.pth").write_text("\n".join(places) + "\n")

    def run(self, program: str, *arguments: str, present: bool) -> subprocess.CompletedProcess[str]:
        """Run a program like `python -c`, with a separate cache for each state."""
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
    """Output of `tests/hub/loaded_alone.py` for repositories (with their Auto class), by `absent`
    and `present`."""
    program, found = PROGRAM.read_text(encoding="utf-8"), {}
    for state in ("absent", "present"):
        done = python.run(
            program, state, json.dumps(repositories), TEXT, present=state == "present"
        )
        assert done.returncode == 0, done.stderr[-3000:]
        found[state] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(absent: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """Whether a model loads with the package, loads equally without it, and loads in
    sentence-transformers without it."""
    there = "yes" if set(SAME) <= present.keys() else f"no: {present['AutoModel']}"
    loads = "yes" if set(SAME) <= absent.keys() else f"no: {absent['AutoModel']}"
    if loads == there == "yes" and any(absent[key] != present[key] for key in SAME):
        loads = "differs"
    if "vector" in absent:
        vector = "yes" if absent["vector"] == present.get("vector") else "differs"
    else:
        vector = "no" if "SentenceTransformer" in absent else "none"
    return [there, loads, vector]
