"""Runs the code cells of notebooks and collects their output.

`python -m tests.docs.notebooks` runs all notebooks and stores the outputs in them.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def read(path):
    return dict(json.loads(path.read_text()))


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell):
    """Return the stored output of a cell."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def run(notebook, name):
    """Run the code cells in order, and return the output of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for number, cell in enumerate(code_cells(notebook)):
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            exec(compile("".join(cell["source"]), f"{name}, code cell {number}", "exec"), names)
        found.append(stream.getvalue())
    return found


def main():
    for path in NOTEBOOKS:
        notebook = read(path)
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            outputs = run(notebook, path.name)
            os.chdir(before)
        for cell, text in zip(code_cells(notebook), outputs, strict=True):
            lines = text.splitlines(keepends=True)
            cell["outputs"] = (
                [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
            )
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"ran {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
