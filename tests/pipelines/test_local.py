"""Local executor: only the task of a worker that dies or hangs loses an attempt."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.engines.base import MissingEngineError
from paraphrastic_hf.pipelines.executors.local import LocalExecutor, TaskError
from tests.pipelines.acting import Acting

TASKS = 4


def execute(folder, how="", **settings):
    told = []
    settings = {"tasks": TASKS, "workers": 2, "logging_dir": str(folder / "logs"), **settings}
    return LocalExecutor([Acting(folder, how)], on_rows=told.append, **settings), told


def begun(folder):
    """Return how often each task was started."""
    paths = [folder / f"begun-{rank}" for rank in range(TASKS)]
    return [path.stat().st_size if path.exists() else 0 for path in paths]


def test_finished_tasks_are_not_run_again(tmp_path):
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
def test_tasks_of_dead_or_hanging_workers_are_retried(tmp_path, how, settings):
    executor, told = execute(tmp_path, f"{how}-once", **settings)
    executor.run()
    assert begun(tmp_path) == [1, 2, 1, 1]
    assert sum(told) == 10 * TASKS
    assert not executor.get_incomplete_ranks()


def test_workers_and_their_programs_end_with_the_run(tmp_path):
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


def _wait_until(is_so, seconds=120):
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def _runs(process):
    """Return whether a process runs and is not a zombie."""
    with suppress(FileNotFoundError):
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    return False


@pytest.mark.parametrize("how", ["kill", "engine"])
def test_a_task_that_fails_every_attempt_is_an_error(tmp_path, how):
    executor, _ = execute(tmp_path, how, attempts=2, workers=1)
    with pytest.raises(TaskError, match="1"):
        executor.run()
    assert begun(tmp_path) == [1, 2, 1, 1]
    assert executor.get_incomplete_ranks() == [1]


ERRORS = {"fail": DataError, "disk": TaskError, "missing": TaskError, "program": MissingEngineError}


@pytest.mark.parametrize(("how", "error"), ERRORS.items())
def test_permanent_errors_are_not_retried(tmp_path, how, error, capfd):
    executor, _ = execute(tmp_path, how, workers=1)
    with pytest.raises(error, match="1"):
        executor.run()
    assert begun(tmp_path) == [1, 1, 0, 0]
    assert "Traceback" in (tmp_path / "logs" / "logs" / "task_00001.log").read_text()
    assert "Traceback" not in capfd.readouterr().err


def test_a_worker_that_cannot_start_is_an_error(tmp_path, monkeypatch):
    executor, _ = execute(tmp_path)
    fail = Mock(side_effect=OSError("Cannot allocate memory"))
    monkeypatch.setattr("paraphrastic_hf.pipelines.executors.local.SPAWN.Process.start", fail)
    with pytest.raises(OSError, match="Cannot allocate memory"):
        executor.run()
    assert len(executor.get_incomplete_ranks()) == TASKS
