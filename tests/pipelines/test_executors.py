"""Slurm executor. Ray has its own script, `tests/robustness/ray_cluster.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.make import make_corpus
from paraphrastic_hf.pipelines.recipe import MakeArguments
from tests.pipelines.acting import Acting
from tests.pipelines.test_make import PAIRS, files_of, in_this_process, recipe_of

TASKS = 2
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
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put replacements of Slurm's programs first on the path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (
        ("sbatch", SBATCH),
        ("squeue", SQUEUE),
        ("srun", SRUN),
        ("scontrol", "#!/bin/bash\necho here\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    root = Path(__file__).parents[2]
    known = [str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(known))


@pytest.mark.usefixtures("_programs")
def test_slurm_runs_the_incomplete_tasks(tmp_path: Path) -> None:
    make = MakeArguments(
        executor="slurm", partition="cpu", tasks=TASKS, memory=3.0, cpus=2, slurm={"account": "me"}
    )

    def run() -> list[int]:
        stage: Any = Acting(tmp_path, "fail-once")
        return run_stages([stage], make, tmp_path / "logs")

    assert run() == [1]
    script = (tmp_path / "logs" / "launch_script.slurm").read_text()
    for line in ("partition=cpu", "cpus-per-task=2", "mem-per-cpu=2G", "account=me", "array=0-1"):
        assert f"#SBATCH --{line}" in script
    assert run() == []
    begun = [(tmp_path / f"begun-{rank}").stat().st_size for rank in range(TASKS)]
    assert begun == [1, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("_programs")
def test_slurm_runs_the_phases_of_a_corpus_in_order(tmp_path: Path) -> None:
    pairs, output = tmp_path / "pairs.tsv", tmp_path / "out"
    pairs.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    steps = [{"semantic_duplicates": {"model": "tiny", "at_most": 0.97}}, "duplicates"]
    make = {"tasks": TASKS, "block": 40, "executor": "slurm", "partition": "cpu"}
    recipe = recipe_of(pairs, steps=steps, make=make)
    made = make_corpus(recipe, output)
    assert 0 < made.rows < len(PAIRS)
    assert files_of(output) == in_this_process(recipe, tmp_path / "here")


@pytest.mark.usefixtures("_programs")
def test_queued_slurm_jobs_are_not_submitted_again(tmp_path: Path) -> None:
    make = MakeArguments(executor="slurm", partition="cpu", tasks=TASKS)
    waiting, jobs = tmp_path / "programs" / "job-7", tmp_path / "logs" / "ranks_to_run.json"

    def run() -> list[int]:
        stage: Any = Acting(tmp_path, "fail-once")
        return run_stages([stage], make, tmp_path / "logs")

    assert run() == [1]
    waiting.touch()
    listed = jobs.read_text()
    assert run() == [1]
    assert jobs.read_text() == listed  # the waiting jobs read this file
    waiting.unlink()
    assert run() == []


@pytest.mark.parametrize("program", ["sbatch", "squeue"])
@pytest.mark.usefixtures("_programs")
def test_a_machine_without_slurm_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    (tmp_path / "programs" / program).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    make = MakeArguments(executor="slurm", partition="cpu", tasks=TASKS)
    stage: Any = Acting(tmp_path)
    with pytest.raises(ParaphrasticError):
        run_stages([stage], make, tmp_path / "logs")


@pytest.mark.usefixtures("_programs")
def test_rejected_slurm_jobs_are_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    refusing = "#!/bin/bash\necho 'invalid partition specified: gpu' >&2\nexit 1\n"
    (tmp_path / "programs" / "sbatch").write_text(refusing)
    make = MakeArguments(executor="slurm", partition="gpu", tasks=TASKS)
    stage: Any = Acting(tmp_path)
    with pytest.raises(ParaphrasticError):
        run_stages([stage], make, tmp_path / "logs")
    assert "invalid partition" in capfd.readouterr().err
