"""Local executor that retries a task when its worker dies or hangs.

datatrove's own executor waits forever when a worker is killed, and a `concurrent.futures` pool ends
all workers when one worker dies. Here each worker is a process with its own pipe.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from datatrove.executor import LocalPipelineExecutor
from datatrove.utils.logging import logger
from tqdm import tqdm

from paraphrastic_hf.errors import (
    BusyError,
    DataError,
    ModelError,
    ParaphrasticError,
    counted,
    disk_error,
)
from paraphrastic_hf.extras import missing_extra
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError
from paraphrastic_hf.pipelines.stages import Stage

SPAWN = multiprocessing.get_context("spawn")
SECONDS_BETWEEN = 0.2
SECONDS_TO_START = 600.0

KEPT_ERRORS = (EngineError, MissingEngineError, BusyError, DataError, ModelError)  # raised as is
TRANSIENT = (EngineError, BusyError, OSError, MemoryError)  # worth another attempt
PERMANENT = (
    MissingEngineError,
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


class TaskError(ParaphrasticError, RuntimeError):
    """A task failed on every attempt."""


class LocalExecutor(LocalPipelineExecutor):
    """Executor that runs tasks in processes of this machine. It kills a worker after `patience`
    seconds without a finished block, and passes the rows of finished blocks to `on_rows`.
    """

    def __init__(
        self,
        pipeline: list[Any],
        *,
        attempts: int = 3,
        patience: float = 1800.0,
        on_rows: Callable[[int], None] = lambda rows: None,
        **settings: Any,
    ) -> None:
        super().__init__(pipeline, **settings)
        self.attempts, self.patience, self.on_rows = attempts, patience, on_rows

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"on_rows": None}

    def run(self) -> None:
        waiting = deque(self.get_incomplete_ranks())
        if not waiting:
            return
        self.save_executor_as_json()
        failures: Counter[int] = Counter()
        error: ParaphrasticError | None = None
        idle: list[_Worker] = []
        busy: list[_Worker] = []
        try:
            while busy or (waiting and error is None):
                while waiting and error is None and len(busy) < self.workers:
                    busy.append(idle.pop() if idle else _Worker(self))
                    busy[-1].begin(waiting.popleft())
                wait([worker.connection for worker in busy], SECONDS_BETWEEN)
                for worker in list(busy):
                    result = worker.result()
                    if result is None:
                        continue
                    busy.remove(worker)
                    if result.error is None:
                        idle.append(worker)
                        continue
                    worker.end()
                    failures[worker.rank] += 1
                    if result.is_transient and failures[worker.rank] < self.attempts:
                        waiting.append(worker.rank)
                    else:
                        error = error or self._final(worker.rank, result)
        finally:
            for worker in (*idle, *busy):
                worker.end()
        if error is not None:
            raise error

    def _final(self, rank: int, result: _Result) -> ParaphrasticError:
        assert result.error is not None
        if not result.is_transient:
            return type(result.error)(f"task {rank}: {result.error}")
        return TaskError(
            f"task {rank} failed {counted(self.attempts, 'time')}: {result.error}. See "
            f"{self.logging_dir.path}/logs/task_{rank:05d}.log. Repeat the command to continue "
            "with the unfinished tasks"
        )


@dataclass(frozen=True)
class _Result:
    error: ParaphrasticError | None = None
    is_transient: bool = False


class _Worker:
    def __init__(self, executor: LocalExecutor) -> None:
        self.executor = executor
        self.connection, other_end = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(executor, other_end))
        threads = max(1, (os.cpu_count() or 1) // executor.workers)
        is_set = "OMP_NUM_THREADS" in os.environ  # numpy and torch read it when they are imported
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))
        try:
            self.process.start()
        finally:
            if not is_set:
                del os.environ["OMP_NUM_THREADS"]
        other_end.close()

    def begin(self, rank: int) -> None:
        self.rank = rank
        self.patience = max(self.executor.patience, SECONDS_TO_START)  # until the first message
        self.deadline = time.monotonic() + self.patience
        with suppress(OSError):  # `result` reports a dead worker
            self.connection.send(rank)

    def result(self) -> _Result | None:
        """Return how the task ended, or None while it runs. Report finished rows to `on_rows`."""
        try:
            while self.connection.poll():
                answer = self.connection.recv()
                if isinstance(answer, _Result):
                    return answer
                self.patience = self.executor.patience
                self.deadline = time.monotonic() + self.patience
                if answer:
                    self.executor.on_rows(answer)
        except (EOFError, OSError):
            self.process.join()
            return _Result(TaskError(_describe_exit(self.process.exitcode or 0)), is_transient=True)
        if time.monotonic() > self.deadline:
            reason = f"its worker finished nothing in {self.patience:g} s (make.patience)"
            return _Result(TaskError(reason), is_transient=True)
        return None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _work(executor: LocalExecutor, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the executor handles it
    os.dup2(2, 1)  # libraries may print, but not to the command's output
    tqdm.set_lock(threading.RLock())  # a worker is killed, which would leak tqdm's semaphore
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logger.disable("datatrove.executor.base")  # tracebacks go to the task's log
    Stage.listener = connection.send
    pipeline = executor.pipeline
    while True:
        rank = connection.recv()
        connection.send(0)
        executor.pipeline = copy.deepcopy(pipeline)  # statistics start at zero for each task
        try:
            executor._run_for_rank(rank, local_rank=1)
        except Exception as error:
            with (
                suppress(OSError),  # full disk
                executor.logging_dir.open(f"logs/task_{rank:05d}.log", "a") as log,
            ):
                traceback.print_exc(file=log)
            kind = next((each for each in KEPT_ERRORS if type(error) is each), TaskError)
            described = kind(_describe(error, executor.logging_dir.path))
            connection.send(_Result(described, _is_transient(error)))
        else:
            connection.send(_Result())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _describe(error: Exception, logs: str) -> str:
    named = missing_extra(error) if isinstance(error, ModuleNotFoundError) else None
    known = disk_error(error, logs) or named or error
    is_clear = isinstance(known, (ParaphrasticError, OSError))
    return str(known) if is_clear else f"{type(error).__name__}: {error}"


def _is_transient(error: Exception) -> bool:
    if isinstance(error, PERMANENT) or disk_error(error, os.curdir):
        return False
    return isinstance(error, TRANSIENT) or type(error).__name__ == "OutOfMemoryError"  # torch's


def _describe_exit(status: int) -> str:
    if status >= 0:
        return f"its worker ended with status {status}"
    by = f"its worker was killed by signal {-status}"
    return by + ", perhaps for lack of memory" * (status == -9)
