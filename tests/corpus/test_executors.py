"""The executors of clusters. Ray has a script of its own, `tests/robustness/ray_cluster.py`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.corpus.arguments import MakeArguments
from paraphrastic_hf.corpus.executors import run_stages
from tests.corpus.acting import Acting

TASKS = 2
SBATCH = """#!/bin/bash
# In the place of Slurm's: it runs every job of the array before it returns.
script="${@: -1}"
if ! grep -q merge_stats "$script"; then
  last=$(sed -n 's/#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
  for job in $(seq 0 "$last"); do
    SLURM_NODELIST=here SLURM_ARRAY_TASK_ID=$job bash "$script" > /dev/null 2>&1
  done
fi
echo "Submitted batch job 7"
"""
SRUN = """#!/bin/bash
shift 3  # -l -n 1
exec "$@"
"""


@pytest.fixture
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with programs named as Slurm's, the first on the path."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (
        ("sbatch", SBATCH),
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
def test_the_jobs_of_slurm_do_the_tasks_that_are_not_complete(tmp_path: Path) -> None:
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
