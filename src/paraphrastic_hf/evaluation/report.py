"""A suite's scores as `results.json`, a Markdown table and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.evaluation.suites import SUITES
from paraphrastic_hf.text.files import write_json


def write_report(results: dict[str, Any], directory: str | Path) -> list[Path]:
    """Write `results.json`, `results.md` and a plot named after the suite, and return their
    paths."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    suite = results["suite"]
    paths = [directory / name for name in ("results.json", "results.md", f"{suite}.png")]
    write_json(paths[0], results)
    paths[1].write_text(markdown(results), encoding="utf-8")
    SUITES[suite].plot(results, paths[2])
    return paths


def markdown(results: dict[str, Any]) -> str:
    """The scores under a title."""
    title = f"# {results['model']}: {results['suite']}"
    return "\n".join([title, "", *SUITES[results["suite"]].markdown(results)]) + "\n"
