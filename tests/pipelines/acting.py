"""Stages for tests of executors: they note what they do, and die, hang or fail when told to."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError
from paraphrastic_hf.pipelines.engines.commands import CommandEngine
from paraphrastic_hf.pipelines.stages import Stage


class Acting(Stage):
    """Writes `done-RANK`, after what it was told to do in one of the tasks.

    Args:
        folder: Where it writes; `begun-RANK` has a byte for each time a task was begun.
        how: `kill`, `hang`, `fail`, `disk`, `missing`, `network`, `engine` or
            `command`, which notes the numbers of its processes; only the first time
            if it ends in `-once`.
        rank: The task in which.
    """

    def __init__(self, folder: Path, how: str = "", rank: int = 1) -> None:
        super().__init__("acting")
        self.folder, self.how, self.rank = folder, how, rank

    def run(self, data: object, rank: int = 0, world_size: int = 1) -> Iterator[None]:
        with (self.folder / f"begun-{rank}").open("ab") as file:
            file.write(b".")
        begun = (self.folder / f"begun-{rank}").stat().st_size
        if rank == self.rank and (begun == 1 or not self.how.endswith("-once")):
            self.act(self.how.removesuffix("-once"))
        (self.folder / f"done-{rank}").touch()
        self.tell(10)
        return
        yield

    def act(self, how: str) -> None:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "hang":
            time.sleep(600)
        elif how == "fail":
            raise DataError("a row is bad")
        elif how == "disk":
            raise OSError(errno.ENOSPC, "No space left on device")
        elif how == "missing":
            raise FileNotFoundError(errno.ENOENT, "No such file", "rows.tsv")
        elif how == "network":
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        elif how == "engine":
            raise EngineError("it gave up")
        elif how == "command":
            note = self.folder / "processes"
            program = [
                "sh",
                "-c",
                f"echo {os.getpid()} $$ > {note}.part; mv {note}.part {note}; sleep 600",
            ]
            CommandEngine(program).translate(["a cat"])
        elif how == "program":
            raise MissingEngineError("there is no program")
