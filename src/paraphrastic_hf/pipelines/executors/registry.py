"""datatrove's executors by the names used in recipes: this machine, Slurm, Ray.

All executors record finished tasks in `logs/completions` and do not run them again.
"""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.extras import require
from paraphrastic_hf.pipelines.recipe import MakeArguments


def run_stages(
    stages: Sequence[Any],
    make: MakeArguments,
    logs: Path,
    *,
    name: str = "corpus",
    on_rows: Callable[[int], None] = lambda rows: None,
) -> list[int]:
    """Run every incomplete task. Return the tasks that are still incomplete: jobs of Slurm that
    wait, or tasks of Ray that failed. The local executor passes finished rows to `on_rows`.
    """
    require("corpora", "datatrove", what="making a corpus")
    from datatrove.utils.logging import logger

    for mark in (logs / "completions").glob("[0-9]*"):
        if not stages[-1].has_result(int(mark.name)):
            mark.unlink()
    executor = _executor(list(stages), make, logs, name, on_rows)
    logger.remove()  # datatrove's console log. Each task has its own log file
    executor.run()
    unfinished: list[int] = executor.get_incomplete_ranks(skip_completed=True)
    return unfinished


def _executor(
    stages: list[Any], make: MakeArguments, logs: Path, name: str, on_rows: Callable[[int], None]
) -> Any:
    settings: dict[str, Any] = {
        "tasks": make.tasks,
        "workers": make.workers,
        "logging_dir": str(logs),
    }
    if make.executor == "local":
        from paraphrastic_hf.pipelines.executors.local import LocalExecutor

        settings |= {"attempts": make.attempts, "patience": make.patience, "on_rows": on_rows}
        return LocalExecutor(stages, **settings)
    if make.executor == "slurm":
        from paraphrastic_hf.pipelines.executors.slurm import SlurmExecutor

        return SlurmExecutor(
            stages,
            job_name=name,
            time=make.time,
            partition=make.partition,
            cpus_per_task=make.cpus,
            mem_per_cpu_gb=math.ceil(make.memory / make.cpus),
            gpus_per_task=make.gpus,
            sbatch_args=make.slurm,
            env_command=f"export PATH={Path(sys.executable).parent}:$PATH",
            **settings,
        )
    require("ray", "ray", what="the executor ray")
    import ray
    from datatrove.executor import RayPipelineExecutor

    if not ray.is_initialized():
        ray.init(address=make.address, log_to_driver=False)
    return RayPipelineExecutor(
        stages,
        cpus_per_task=make.cpus,
        gpus_per_task=make.gpus,
        mem_per_cpu_gb=make.memory / make.cpus,
        **settings,
    )
