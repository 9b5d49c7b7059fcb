"""Named suites: what each measures, and how its scores are written.

A suite is a file beside this one with three functions: an encoder and a folder of official files to
numbers, numbers to Markdown, numbers to a plot. `evaluation/report.py` writes the files.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import paraphrastic_hf
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.evaluation.sts import evaluate_sts, plot_sts, sts_markdown
from paraphrastic_hf.evaluation.translation import (
    evaluate_translation,
    plot_translation,
    translation_markdown,
)

Results = dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """One evaluation.

    Attributes:
        summary: What it is, in a line.
        evaluate: An encoder and the data folder to scores, ready for JSON.
        markdown: Scores to lines of Markdown.
        plot: Scores to a PNG.
    """

    summary: str
    evaluate: Callable[[Any, Path], Results]
    markdown: Callable[[Results], list[str]]
    plot: Callable[[Results, Path], None]


SUITES = {
    "sts": Suite(
        "STS 2012-2017 and STS Benchmark: correlation with human similarity",
        evaluate_sts,
        sts_markdown,
        plot_sts,
    ),
    "wmt-da": Suite(
        "SIM and SimiLE as translation metrics, beside BLEU, chrF and METEOR (thesis, Table 66)",
        evaluate_translation,
        translation_markdown,
        plot_translation,
    ),
}


def evaluate(encoder: Any, suite: str, data_dir: str | Path, *, name: str | None = None) -> Results:
    """Score any object with `encode(list[str])` on a suite.

    Args:
        encoder: A `SentenceEncoder`, a `SentenceTransformer`, or anything whose `encode` returns
            one vector a text.
        suite: One of `SUITES`.
        data_dir: Folder of the official files, such as the `eval` folder of a data root.
        name: What to call the encoder in the report.

    Returns:
        Settings and scores, ready for JSON.

    Raises:
        RecipeError: There is no such suite.
        DataError: A file is missing or does not align.
        ModelError: `encode` returns something else than finite vectors.
    """
    if suite not in SUITES:
        raise RecipeError(f"there is no suite {suite!r}; the suites are {', '.join(SUITES)}")
    return {
        "model": name or type(encoder).__name__,
        "suite": suite,
        "encoder": f"{type(encoder).__module__}.{type(encoder).__name__}",
        "data_dir": Path(data_dir).name,
        **SUITES[suite].evaluate(encoder, Path(data_dir)),
        "versions": {
            "paraphrastic_hf": paraphrastic_hf.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "torch", "transformers")},
        },
    }
