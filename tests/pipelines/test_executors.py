"""Slurm executor. Ray has its own script, `tests/robustness/ray_cluster.py`."""

import os
from pathlib import Path

import pytest

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.make import make_corpus
from paraphrastic_hf.pipelines.recipe import MakeArguments
from tests.pipelines.acting import Acting
from tests.pipelines.test_make import PAIRS, files_of, in_this_process, recipe_of, write_pairs

pytestmark = pytest.mark.usefixtures("_programs")
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
    make = MakeArguments(executor="slurm", partition="cpu", tasks=TASKS, **how)
    return run_stages([Acting(folder, "fail-once")], make, folder / "logs")


def test_slurm_runs_the_incomplete_tasks(tmp_path):
    how = {"memory": 3.0, "cpus": 2, "slurm": {"account": "me"}}
    assert run(tmp_path, **how) == [1]
    script = (tmp_path / "logs" / "launch_script.slurm").read_text()
    for line in ("partition=cpu", "cpus-per-task=2", "mem-per-cpu=2G", "account=me", "array=0-1"):
        assert f"#SBATCH --{line}" in script
    assert run(tmp_path, **how) == []
    begun = [(tmp_path / f"begun-{rank}").stat().st_size for rank in range(TASKS)]
    assert begun == [1, 2]


@pytest.mark.slow
def test_slurm_runs_the_phases_of_a_corpus_in_order(tmp_path):
    pairs, output = write_pairs(tmp_path / "pairs.tsv"), tmp_path / "out"
    steps = [{"semantic_duplicates": {"model": "tiny", "at_most": 0.97}}, "duplicates"]
    make = {"tasks": TASKS, "block": 40, "executor": "slurm", "partition": "cpu"}
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
