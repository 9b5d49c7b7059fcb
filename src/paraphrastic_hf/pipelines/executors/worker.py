"""A worker of the local executor: `python -m paraphrastic_hf.pipelines.executors.worker`.

It reads what the tasks do, and then the numbers of tasks, from standard input, and says on standard
output, a line of JSON each, how many rows are done, that a task is, or what went wrong. It ends
when the process that started it does.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import pickle
import sys
import traceback
from contextlib import suppress
from typing import Any

from paraphrastic_hf.errors import BusyError, ParaphrasticError, disk_error
from paraphrastic_hf.extras import missing_extra
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError

PASSING = (EngineError, BusyError, OSError, MemoryError)  # worth another attempt
LASTING = (
    MissingEngineError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


def main() -> None:
    """Work on tasks until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    from datatrove.utils.logging import logger

    from paraphrastic_hf.pipelines import progress

    logger.disable("datatrove.executor.base")  # its tracebacks fill the screen; ours are in the log

    progress.listener = lambda rows: say(rows=rows)
    executor = pickle.loads(base64.b64decode(sys.stdin.readline()))
    pipeline = executor.pipeline
    for line in sys.stdin:
        say(begun=int(line))
        executor.pipeline = copy.deepcopy(pipeline)  # statistics are of one task
        try:
            executor._run_for_rank(int(line), local_rank=1)
        except Exception as error:
            with (
                suppress(OSError),  # of a full disk
                executor.logging_dir.open(f"logs/task_{int(line):05d}.log", "a") as log,
            ):
                traceback.print_exc(file=log)
            told = _told(error, executor.logging_dir.path)
            say(error=told, kind=type(error).__name__, again=_may_pass(error))
        else:
            say(done=int(line))


def _told(error: Exception, logs: str) -> str:
    named = missing_extra(error) if isinstance(error, ModuleNotFoundError) else None
    full = disk_error(error, logs)
    if full is not None:
        return str(full)
    if isinstance(named or error, (ParaphrasticError, OSError)):
        return str(named or error)
    return f"{type(error).__name__}: {error}"


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may not meet it."""
    if isinstance(error, LASTING) or disk_error(error, os.curdir):
        return False
    return isinstance(error, PASSING) or type(error).__name__ == "OutOfMemoryError"  # torch's


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # nobody listens any more
        main()
