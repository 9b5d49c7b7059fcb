"""Run suites on an encoder, task by task, and optionally cache finished tasks."""

import math
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

import paraphrastic_hf
from paraphrastic_hf.corpora.folder import fingerprint
from paraphrastic_hf.encoders.storage.fingerprint import has_weights, identity
from paraphrastic_hf.errors import DataError, NotApplicableError, RecipeError, nearest_name
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.suite import Row, Suite, Task
from paraphrastic_hf.io.files import read_json, write_json

Results = dict[str, Any]
NOT_IN_NAMES = r"[^\w.-]+"  # characters of a task that its file name cannot have
PACKAGES = ("numpy", "scipy", "torch", "transformers")  # whose versions are recorded


def evaluate(
    encoder: Any,
    suite: str,
    data_dir: str | Path,
    *,
    name: str | None = None,
    keep: str | Path | None = None,
    progress: bool = False,
) -> Results:
    """Score any object with `encode(list[str])` on a suite.

    Args:
        encoder: A `SentenceEncoder`, a `SentenceTransformer`, or any object whose `encode` returns
            one vector for each text.
        suite: The name of a suite in `evaluation/registry.py`.
        data_dir: Folder of the official files, such as the `eval` folder of a data root.
        name: Name of the encoder in the report.
        keep: Folder, outside `data_dir`, that caches finished tasks, so that an interrupted run can
            be resumed. A cached task is reused only if the model, the data, the package version and
            the suite's protocol are unchanged.
        progress: Show a progress bar.

    Returns:
        Settings and scores, ready for JSON. `headline` has the suite's main figures, `papers` the
        published ones, and `rows` the scores of every dataset. `skipped` has the tasks without
        data, and `not_applicable` the tasks that do not suit the encoder. `seconds`
        includes cached tasks.

    Raises:
        RecipeError: If the suite does not exist, or `keep` is set for an encoder without readable
            weights and without a name.
        DataError: If no task of the suite has data.
        ModelError: If `encode` does not return finite vectors.
        TypeError: If `encoder` is a name instead of a loaded encoder.

    Example:
        >>> from paraphrastic_hf import SentenceEncoder
        >>> encoder = SentenceEncoder.from_pretrained("english")
        >>> evaluate(encoder, "sts", "DATA/eval")["headline"]  # doctest: +SKIP
    """
    if suite not in SUITES:
        raise RecipeError(f"No suite named {suite!r}. {nearest_name(suite, SUITES)}")
    return run_suite(
        encoder, suite, SUITES[suite], Path(data_dir), name=name, keep=keep, progress=progress
    )


def run_suite(
    encoder: Any,
    suite: str,
    chosen: Suite,
    data_dir: Path,
    *,
    name: str | None = None,
    keep: str | Path | None = None,
    progress: bool = False,
) -> Results:
    """Score an encoder on a `Suite` object. The arguments are documented at `evaluate`."""
    if isinstance(encoder, (str, Path)):
        raise TypeError(
            f"`evaluate` takes an encoder: SentenceEncoder.from_pretrained({str(encoder)!r})"
        )
    name = name or getattr(encoder, "name", None)
    if keep is not None and name is None and not has_weights(encoder):
        raise RecipeError(
            f"Cannot read the weights of this {type(encoder).__name__}, so its cached scores "
            "cannot be identified. Pass `name`"
        )
    name = name or type(encoder).__name__
    settings = {
        "name": name,
        "encoder": f"{type(encoder).__module__}.{type(encoder).__name__}",
        **identity(encoder),
        "data_dir": data_dir.name,
        "version": paraphrastic_hf.__version__,
    }
    files = fingerprint([data_dir.resolve()]) if keep else ""
    kept_for = {**settings, "files": files, "protocol": " ".join((chosen.unit, *chosen.notes))}
    finished: list[Results] = []
    skipped: dict[str, str] = {}
    not_applicable: dict[str, str] = {}
    for task in tqdm(chosen.tasks, desc=suite, unit=" tasks", disable=not progress):
        path = None
        if keep and chosen.is_kept:
            path = Path(keep) / f"{suite}.{re.sub(NOT_IN_NAMES, '-', task)}.json"
        kept = _read_kept(path, kept_for) if path else None
        if kept is None:
            try:
                kept = {**kept_for, **_run(chosen.tasks[task], encoder, data_dir)}
            except NotApplicableError as error:
                not_applicable[task] = str(error)
                continue
            except DataError as error:
                skipped[task] = str(error)
                continue
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_json(path, kept)
        finished.append(kept)
    rows: dict[tuple[str, str], Row] = {}
    for row in (Row(**values) for kept in finished for values in kept["rows"]):
        rows.setdefault((row.group, row.name), row).scores.update(row.scores)
    if not rows:
        reasons = "; ".join((skipped | not_applicable).values())
        raise DataError(f"No data for the suite {suite}: {reasons}")
    headline = chosen.headline(list(rows.values()))
    headline = {key: value for key, value in headline.items() if not math.isnan(value)}
    return {
        "model": name,
        "suite": suite,
        "summary": chosen.summary,
        "unit": chosen.unit,
        "headline": headline,
        "papers": {
            paper: dict(values)
            for paper, values in chosen.papers.items()
            if set(values) & set(headline)
        },
        "notes": list(chosen.notes),
        "skipped": skipped,
        "not_applicable": not_applicable,
        "rows": [asdict(row) for row in rows.values()],
        "settings": settings,
        "seconds": sum(kept["seconds"] for kept in finished),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES if find_spec(name)},
        },
    }


def chosen_suites(names: Sequence[str]) -> list[str]:
    """Return suite names without duplicates. The name `all` selects every suite."""
    for name in names:
        if name not in SUITES and name != "all":
            raise RecipeError(f"No suite named {name!r}. {nearest_name(name, [*SUITES, 'all'])}")
    return list(SUITES) if "all" in names else list(dict.fromkeys(names))


def _run(task: Task, encoder: Any, data_dir: Path) -> Results:
    """Return the rows of a task and its time in seconds."""
    start = time.perf_counter()
    rows = [asdict(row) for row in task(encoder, data_dir)]
    return {"seconds": time.perf_counter() - start, "rows": rows}


def _read_kept(path: Path, kept_for: dict[str, str]) -> Results | None:
    """Return a cached task, or None if it is missing, damaged or not `kept_for` this run."""
    try:
        kept: Results = read_json(path)
        is_same = all(kept[name] == value for name, value in kept_for.items())
        is_whole = isinstance(kept["rows"], list) and kept["seconds"] >= 0
        return kept if is_same and is_whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
