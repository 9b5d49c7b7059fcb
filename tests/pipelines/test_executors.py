"""Executors: Slurm, and local. Ray has its own script, `tests/robustness/ray_cluster.py`."""

import errno
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from paraphrastic_hf.errors import DataError, ParaphrasticError
from paraphrastic_hf.pipelines.engines.base import MissingEngineError
from paraphrastic_hf.pipelines.executors.local import LocalExecutor, TaskError
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.make import make_corpus
from paraphrastic_hf.pipelines.recipe import MakeArguments
from tests.pipelines.acting import Acting
from tests.pipelines.test_make import PAIRS, files_of, in_this_process, recipe_of, write_pairs

pytestmark = pytest.mark.usefixtures("_programs")
JOBS = 2
SBATCH = """#!/bin/bash
# Runs every job of the array before it returns.
script="${@: -1}"
if ! grep -q merge_stats "$script"; then
  last=$(sed -n 's/#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
  for job in $(seq 0 "$last"); do
    SLURM_NODELIST=here SLURM_ARRAY_TASK_ID=$job bash "$script" > /dev/null 2>&1
  done
fi
echo "Submitted batch job 7"
"""
SQUEUE = """#!/bin/bash
# A job is in the queue if a file with its number exists beside this program.
[ -f "$(dirname "$0")/job-${@: -1}" ] && echo "${@: -1}_[0-1] cpu PD" && exit
echo "slurm_load_jobs error: Invalid job id specified" >&2
exit 1
"""
SRUN = """#!/bin/bash
shift 3  # -l -n 1
exec "$@"
"""


@pytest.fixture
def _programs(tmp_path, monkeypatch):
    """Put replacements of Slurm's programs first on the path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    programs = {"sbatch": SBATCH, "squeue": SQUEUE, "srun": SRUN}
    for name, text in {**programs, "scontrol": "#!/bin/bash\necho here\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    root = Path(__file__).parents[2]
    known = [str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(known))


def run(folder, **how):
    make = MakeArguments(executor="slurm", partition="cpu", tasks=JOBS, **how)
    return run_stages([Acting(folder, "fail-once")], make, folder / "logs")


def test_slurm_runs_the_incomplete_tasks(tmp_path):
    how = {"memory": 3.0, "cpus": 2, "slurm": {"account": "me"}}
    assert run(tmp_path, **how) == [1]
    script = (tmp_path / "logs" / "launch_script.slurm").read_text()
    for line in ("partition=cpu", "cpus-per-task=2", "mem-per-cpu=2G", "account=me", "array=0-1"):
        assert f"#SBATCH --{line}" in script
    assert run(tmp_path, **how) == []
    begun = [(tmp_path / f"begun-{rank}").stat().st_size for rank in range(JOBS)]
    assert begun == [1, 2]


@pytest.mark.slow
def test_slurm_runs_the_phases_of_a_corpus_in_order(tmp_path):
    pairs, output = write_pairs(tmp_path / "pairs.tsv"), tmp_path / "out"
    steps = [{"semantic_duplicates": {"model": "tiny", "at_most": 0.97}}, "duplicates"]
    make = {"tasks": JOBS, "block": 40, "executor": "slurm", "partition": "cpu"}
    recipe = recipe_of(pairs, steps=steps, make=make)
    made = make_corpus(recipe, output)
    assert 0 < made.rows < len(PAIRS)
    assert files_of(output) == in_this_process(recipe, tmp_path / "here")


def test_queued_slurm_jobs_are_not_submitted_again(tmp_path):
    waiting, jobs = tmp_path / "programs" / "job-7", tmp_path / "logs" / "ranks_to_run.json"
    assert run(tmp_path) == [1]
    waiting.touch()
    listed = jobs.read_text()
    assert run(tmp_path) == [1]
    assert jobs.read_text() == listed  # the waiting jobs read this file
    waiting.unlink()
    assert run(tmp_path) == []


@pytest.mark.parametrize("program", ["sbatch", "squeue"])
def test_a_machine_without_slurm_is_refused(tmp_path, monkeypatch, program):
    (tmp_path / "programs" / program).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    with pytest.raises(ParaphrasticError):
        run(tmp_path)


def test_rejected_slurm_jobs_are_an_error(tmp_path, capfd):
    refusing = "#!/bin/bash\necho 'invalid partition specified: gpu' >&2\nexit 1\n"
    (tmp_path / "programs" / "sbatch").write_text(refusing)
    with pytest.raises(ParaphrasticError):
        run(tmp_path)
    assert "invalid partition" in capfd.readouterr().err


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
        "import pathlib, tests.pipelines.test_executors as t\n"
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
    fail = Mock(side_effect=OSError(errno.ENOMEM, "no worker"))
    monkeypatch.setattr("paraphrastic_hf.pipelines.executors.local.SPAWN.Process.start", fail)
    with pytest.raises(OSError, match=str(errno.ENOMEM)):
        executor.run()
    assert len(executor.get_incomplete_ranks()) == TASKS
