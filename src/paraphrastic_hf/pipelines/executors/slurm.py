"""datatrove's executor for Slurm, which submits no task that is submitted already."""

from __future__ import annotations

import shutil
import subprocess

from datatrove.executor import SlurmPipelineExecutor

from paraphrastic_hf.errors import ParaphrasticError

SUBMITTED = "submitted.txt"  # in the folder of logs, the job that ends last


class SlurmExecutor(SlurmPipelineExecutor):
    """Submits the tasks that are not complete, unless jobs of an earlier call wait or are at work.

    datatrove's own would submit them once more, and the jobs that wait would then take their tasks
    from the list of the new ones.
    """

    def launch_job(self) -> None:
        """Submit jobs for the tasks that are not complete."""
        for program in ("sbatch", "squeue"):
            if shutil.which(program) is None:
                raise ParaphrasticError(
                    f"there is no program {program}: give the command on a machine from which jobs "
                    "of Slurm are submitted, or choose --executor local"
                )
        if self._is_at_work():
            return
        try:
            super().launch_job()
        except subprocess.CalledProcessError as error:
            script = self.logging_dir.resolve_paths("launch_script.slurm")
            raise ParaphrasticError(
                f"sbatch did not take the jobs of {script}: it ended with status "
                f"{error.returncode} and said why above"
            ) from error
        finally:
            if self.job_id not in (None, -1):  # -1: every task is complete
                with self.logging_dir.open(SUBMITTED, "w") as file:
                    file.write(str(self.job_id))

    def _is_at_work(self) -> bool:
        """Whether Slurm's queue has the job that an earlier call submitted last."""
        if not self.logging_dir.isfile(SUBMITTED):
            return False
        with self.logging_dir.open(SUBMITTED) as file:
            job = file.read().strip()
        asked = subprocess.run(
            ["squeue", "--noheader", "--format=%i", "--jobs", job],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode and "Invalid job id" not in asked.stderr:
            raise ParaphrasticError(
                f"squeue cannot say whether job {job} is at work: {asked.stderr.strip()}; give the "
                "same command again"
            )
        return bool(asked.stdout.strip())
