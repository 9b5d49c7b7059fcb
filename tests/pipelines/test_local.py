"""Local executor: only the task of a worker that dies or hangs loses an attempt."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.engines.base import MissingEngineError
from paraphrastic_hf.pipelines.executors.local import LocalExecutor, TaskError
from tests.pipelines.acting import Acting

TASKS = 4


def execute(folder: Path, how: str = "", **settings: Any) -> tuple[LocalExecutor, list[int]]:
    told: list[int] = []
    settings = {"tasks": TASKS, "workers": 2, **settings}
    stage = Acting(folder, how)
    logs = str(folder / "logs")
    executor = LocalExecutor([stage], on_rows=told.append, logging_dir=logs, **settings)
    return executor, told


def begun(folder: Path) -> list[int]:
    """Return how often each task was started."""
    sizes = []
    for rank in range(TASKS):
        path = folder / f"begun-{rank}"
        sizes.append(path.stat().st_size if path.exists() else 0)
    return sizes


def test_finished_tasks_are_not_run_again(tmp_path: Path) -> None:
    executor, told = execute(tmp_path)
    executor.run()
    assert begun(tmp_path) == [1] * TASKS
    assert told == [10] * TASKS
    execute(tmp_path)[0].run()
    assert begun(tmp_path) == [1] * TASKS
    (tmp_path / "logs" / "completions" / "00002").unlink()
    execute(tmp_path)[0].run()
    assert begun(tmp_path) == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("how", "settings"), [("kill", {}), ("hang", {"patience": 15.0}), ("network", {})]
)
def test_tasks_of_dead_or_hanging_workers_are_retried(
    tmp_path: Path, how: str, settings: dict[str, float]
) -> None:
    executor, told = execute(tmp_path, f"{how}-once", **settings)
    executor.run()
    assert begun(tmp_path) == [1, 2, 1, 1]
    assert sum(told) == 10 * TASKS
    assert not executor.get_incomplete_ranks()


def test_workers_and_their_programs_end_with_the_run(tmp_path: Path) -> None:
    code = (
        "import pathlib, tests.pipelines.test_local as t\n"
        f"t.execute(pathlib.Path({str(tmp_path)!r}), 'command')[0].run()"
    )
    run, note = subprocess.Popen([sys.executable, "-c", code]), tmp_path / "processes"
    _wait_until(lambda: note.exists() or run.poll() is not None)
    numbers = [int(number) for number in note.read_text().split()]
    run.kill()
    run.wait()
    _wait_until(lambda: not any(map(_runs, numbers)), seconds=10)


def _wait_until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def _runs(process: int) -> bool:
    """Return whether a process runs and is not a zombie."""
    with suppress(FileNotFoundError):
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    return False


@pytest.mark.parametrize("how", ["kill", "engine"])
def test_a_task_that_fails_every_attempt_is_an_error(tmp_path: Path, how: str) -> None:
    executor, _ = execute(tmp_path, how, attempts=2, workers=1)
    with pytest.raises(TaskError, match="1"):
        executor.run()
    assert begun(tmp_path) == [1, 2, 1, 1]
    assert executor.get_incomplete_ranks() == [1]


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ("fail", DataError),
        ("disk", TaskError),
        ("missing", TaskError),
        ("program", MissingEngineError),
    ],
)
def test_permanent_errors_are_not_retried(
    tmp_path: Path, how: str, error: type[Exception], capfd: pytest.CaptureFixture[str]
) -> None:
    executor, _ = execute(tmp_path, how, workers=1)
    with pytest.raises(error, match="1"):
        executor.run()
    assert begun(tmp_path) == [1, 1, 0, 0]
    assert "Traceback" in (tmp_path / "logs" / "logs" / "task_00001.log").read_text()
    assert "Traceback" not in capfd.readouterr().err


def test_a_worker_that_cannot_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, _ = execute(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError("Cannot allocate memory")

    monkeypatch.setattr("paraphrastic_hf.pipelines.executors.local.SPAWN.Process.start", fail)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        executor.run()
    assert len(executor.get_incomplete_ranks()) == TASKS
