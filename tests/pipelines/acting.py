"""Stages for tests of executors that die, hang or fail on demand."""

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

ERRORS = {
    "fail": DataError("a row is bad"),
    "disk": OSError(errno.ENOSPC, "No space left on device"),
    "missing": FileNotFoundError(errno.ENOENT, "No such file", "rows.tsv"),
    "network": ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    "engine": EngineError("it gave up"),
    "program": MissingEngineError("no such program"),
}


class Acting(Stage):
    """Write `done-RANK`, after misbehaving in one task.

    `how` is one of `ERRORS`, `kill`, `hang`, or `command`, which writes its process numbers. With
    the suffix `-once`, only the first start fails. `begun-RANK` gets a byte for each start.
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
        self.report(10)
        return
        yield

    def act(self, how: str) -> None:
        if how in ERRORS:
            raise ERRORS[how]
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif how == "hang":
            time.sleep(600)
        elif how == "command":
            note = self.folder / "processes"
            write = f"echo {os.getpid()} $$ > {note}.part; mv {note}.part {note}; sleep 600"
            CommandEngine(["sh", "-c", write]).translate(["a cat"])
