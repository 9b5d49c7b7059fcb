"""datatrove's Slurm executor, without submitting tasks twice."""

import shutil
import subprocess

from datatrove.executor import SlurmPipelineExecutor

from paraphrastic_hf.errors import ParaphrasticError

SUBMITTED = "submitted.txt"  # file with the number of the last job, in the folder of logs


class SlurmExecutor(SlurmPipelineExecutor):
    """Executor that submits no tasks while jobs of an earlier call wait or run.

    datatrove's own executor would submit them again, and the waiting jobs would take their tasks
    from the new list.
    """

    def launch_job(self) -> None:
        for program in ("sbatch", "squeue"):
            if shutil.which(program) is None:
                raise ParaphrasticError(
                    f"The program {program} is not installed. Run the command on a machine that "
                    "can submit Slurm jobs, or choose --executor local"
                )
        if self._is_at_work():
            return
        try:
            super().launch_job()
        except subprocess.CalledProcessError as error:
            script = self.logging_dir.resolve_paths("launch_script.slurm")
            raise ParaphrasticError(
                f"sbatch rejected {script} with status {error.returncode}. See its output above"
            ) from error
        finally:
            if self.job_id not in (None, -1):  # -1: every task is complete
                with self.logging_dir.open(SUBMITTED, "w") as file:
                    file.write(str(self.job_id))

    def _is_at_work(self) -> bool:
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
                f"squeue failed to look up job {job}: {asked.stderr.strip()}. Repeat the command"
            )
        return bool(asked.stdout.strip())
