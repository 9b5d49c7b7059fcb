"""`paraphrastic train` in processes of its own: killed after a checkpoint, or two that train one
model."""

from __future__ import annotations

import os
import signal
import socket
import time
from multiprocessing.connection import wait
from pathlib import Path

from paraphrastic_hf.training.engine.curve import read_curves
from tests import fresh

TRAIN = "import sys\nfrom paraphrastic_hf.cli.main import main\nsys.exit(main(sys.argv[1:]))"
SLOW = """
import time
from paraphrastic_hf.training.engine import loop
step = loop.TrainingLoop._step
def slow(self, *arguments):
    time.sleep(0.02)
    return step(self, *arguments)
loop.TrainingLoop._step = slow
"""


def train_until_killed(recipe: Path, output: Path, seconds: float, *options: str) -> bool:
    """Train until `seconds` after the next checkpoint; whether SIGKILL came before the end."""
    folder = output / "checkpoints"
    before = set(folder.glob("step-*"))
    command = ["train", str(recipe), "--output", str(output), "--quiet", *options]
    process = fresh.start(SLOW + TRAIN, *command)
    deadline = time.monotonic() + 120
    while process.is_alive() and time.monotonic() < deadline:
        if set(folder.glob("step-??????????")) - before:
            process.join(seconds)
            break
        time.sleep(0.005)
    process.kill()
    process.join()
    return process.exitcode == -signal.SIGKILL


def logged(output: Path) -> dict[str, list[float]]:
    """Every number of a run's log, by name, but for times."""
    curves = read_curves(output / "logs" / "train.jsonl")
    return {name: curve.values for name, curve in curves.items()}


def train_in_two_processes(
    recipe: Path, output: Path, *options: str, before: str = "", ends_with: int = 0
) -> str:
    """As torchrun begins them, which sets these variables.

    Args:
        recipe: Path of the recipe.
        output: Folder of the run.
        options: Further arguments of the command.
        before: Code to run before it in each process.
        ends_with: The exit status that both must have.

    Returns:
        What both wrote to standard error.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    command = ["train", str(recipe), "--output", str(output), "--quiet", *options]
    ranks, errors = [], [output.with_name(f"errors-{rank}") for rank in (0, 1)]
    for rank in (0, 1):
        numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
        variables = {**os.environ, **place, **{name: str(n) for name, n in numbers.items()}}
        ranks.append(
            fresh.start(before + TRAIN, *command, environment=variables, errors=errors[rank])
        )
    wait([rank.sentinel for rank in ranks], timeout=180)
    for rank in ranks:
        rank.join(60)  # no longer: where one has failed, the other waits for it
        rank.kill()
        rank.join()
    said = "".join(path.read_text()[-3000:] for path in errors)
    assert [rank.exitcode for rank in ranks] == [ends_with] * 2, said
    return said
