"""The local executor: datatrove's, but a worker that dies or hangs costs its task an attempt alone.

datatrove's own waits for ever where a worker of its pool is killed. Here a worker is a process that
is told a task at a time; what is finished is on disk, and another worker takes what is not.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from datatrove.executor import LocalPipelineExecutor

from paraphrastic_hf.errors import BusyError, DataError, ModelError, ParaphrasticError, counted
from paraphrastic_hf.io.child import child
from paraphrastic_hf.pipelines.engines.base import EngineError, MissingEngineError

KINDS = {
    each.__name__: each
    for each in (EngineError, MissingEngineError, BusyError, DataError, ModelError)
}
SECONDS_BETWEEN = 0.2
SECONDS_TO_START = 600.0


class TaskError(ParaphrasticError, RuntimeError):
    """A task was begun as often as it may be, and never came to its end."""


@dataclass
class _Attempts:
    """What is left to do, and what has gone wrong.

    `queue.SimpleQueue.get` would wait for ever where another thread takes what it was woken for
    just as its time is up (CPython 3.11).
    """

    waiting: queue.Queue[int] = field(default_factory=queue.Queue)
    left: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    error: ParaphrasticError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class LocalExecutor(LocalPipelineExecutor):
    """Runs the tasks of a pipeline by processes of this machine.

    Args:
        pipeline: The stages, which can be pickled.
        attempts: Times that a task is begun whose worker dies or hangs, at least 1.
        patience: Seconds without a finished block after which a worker is ended, above 0.
        on_rows: Told how many rows a worker has done, whenever it has.
        **settings: Those of datatrove's executor: tasks, workers, logging_dir.
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
        """What a worker is told: all but who listens here."""
        return self.__dict__ | {"on_rows": None}

    def run(self) -> None:
        """Work on every task that is not complete.

        Raises:
            TaskError: A task was begun as often as it may be.
            ParaphrasticError: A task cannot be done; the others that had begun are complete.
        """
        ranks = self.get_incomplete_ranks()
        if not ranks:
            return
        self.save_executor_as_json()
        work = _Attempts(left=len(ranks))
        for rank in ranks:
            work.waiting.put(rank)
        self._told = base64.b64encode(pickle.dumps(self)) + b"\n"
        running: list[subprocess.Popen[bytes]] = []
        threads = [
            threading.Thread(target=self._serve, args=(work, running), daemon=True)
            for _ in range(min(self.workers, len(ranks)))
        ]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                time.sleep(SECONDS_BETWEEN)
        finally:
            work.left = 0  # what ends now is no attempt that failed
            for process in list(running):
                process.kill()
        if work.error is not None:
            raise work.error

    def _serve(self, work: _Attempts, running: list[subprocess.Popen[bytes]]) -> None:
        """Keep one worker at work, and start another where it ends before its time."""
        while True:
            with work.lock:
                if work.error is not None or not work.left:
                    return
            try:
                rank = work.waiting.get(timeout=SECONDS_BETWEEN)
            except queue.Empty:  # another worker has the last one, and may yet fail
                continue
            try:
                with self._worker(running) as process:
                    self._work(process, rank, work)
            except Exception as error:  # nothing may end a thread unseen
                with work.lock:
                    work.error = work.error or TaskError(f"task {rank}: {error!r}")

    @contextmanager
    def _worker(self, running: list[subprocess.Popen[bytes]]) -> Iterator[subprocess.Popen[bytes]]:
        """A worker that knows its pipeline, and that has ended afterwards."""
        with child(
            [sys.executable, "-m", "paraphrastic_hf.pipelines.executors.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OMP_NUM_THREADS": str(_threads(self.workers)), **os.environ},
        ) as process:
            assert process.stdin is not None
            running.append(process)
            try:
                with suppress(BrokenPipeError):  # it has died: its first task says how
                    process.stdin.write(self._told)
                    process.stdin.flush()
                yield process
            finally:
                running.remove(process)

    def _work(self, process: subprocess.Popen[bytes], rank: int, work: _Attempts) -> None:
        """Give a worker task after task until there are none, or it fails."""
        while True:
            said = self._one(process, rank)
            if said is None:
                with work.lock:
                    work.left -= 1
                    if work.error is not None:
                        return
                try:
                    rank = work.waiting.get_nowait()
                except queue.Empty:
                    return
                continue
            with work.lock:
                work.counts[rank] = work.counts.get(rank, 0) + 1
                if isinstance(said, _Again) and work.counts[rank] < self.attempts:
                    work.waiting.put(rank)
                elif work.error is None:
                    work.error = self._final(rank, said)
            return

    def _final(self, rank: int, said: _Again | ParaphrasticError) -> ParaphrasticError:
        if isinstance(said, _Again):
            return TaskError(
                f"task {rank} was begun {counted(self.attempts, 'time')} and never came to its "
                "end: "
                f"{said.reason}; the tasks that are complete are kept, and the same command goes "
                f"on with the others (see {self.logging_dir.path}/logs/task_{rank:05d}.log)"
            )
        return said

    def _one(
        self, process: subprocess.Popen[bytes], rank: int
    ) -> _Again | ParaphrasticError | None:
        """Have a worker do a task: None if it has, else what went wrong."""
        assert process.stdin is not None
        assert process.stdout is not None
        hangs = threading.Event()

        def end() -> None:
            hangs.set()
            process.kill()

        try:
            process.stdin.write(f"{rank}\n".encode())
            process.stdin.flush()
        except OSError:  # it has died meanwhile
            return _Again(_how_it_ended(process))
        patience = max(self.patience, SECONDS_TO_START)  # until it says that it has begun
        while True:
            timer = threading.Timer(patience, end)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line.endswith(b"\n"):
                if hangs.is_set():
                    return _Again(f"it did nothing for {patience:g} s (make.patience)")
                return _Again(_how_it_ended(process))
            said = json.loads(line)
            patience = self.patience
            if "begun" in said:
                continue
            if "rows" in said:
                self.on_rows(said["rows"])
            elif "done" in said:
                return None
            elif said["again"]:
                return _Again(said["error"])
            else:
                return KINDS.get(said["kind"], TaskError)(f"task {rank}: {said['error']}")


@dataclass(frozen=True)
class _Again:
    """A failure that another attempt may not meet."""

    reason: str


def _threads(workers: int) -> int:
    """How many threads numpy and torch use in each of so many workers, if nothing else is said."""
    return max(1, (os.cpu_count() or 1) // workers)


def _how_it_ended(process: subprocess.Popen[bytes]) -> str:
    status = process.wait()
    if status >= 0:
        return f"its worker ended with status {status}"
    by = f"its worker was killed by signal {-status}"
    return by + ", as where memory runs out" * (status == -9)
