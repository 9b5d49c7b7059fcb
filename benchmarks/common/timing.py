"""Timing of contenders, in turns or in fresh processes."""

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

PAUSE = 0.05  # seconds, because OpenMP threads of the previous contender spin for a while
PROGRAM = """import sys, time
started = time.perf_counter()
{body}
print(time.perf_counter() - started)
"""


def timed(
    work: Callable[..., Any], *arguments: Any, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the duration of a call in seconds, and its result."""
    started = clock()
    result = work(*arguments)
    return clock() - started, result


def spread(runs: Sequence[float]) -> dict[str, Any]:
    """Return the median and range of repeated measurements."""
    runs = list(map(float, runs))
    median = statistics.median(runs)
    return {"median": median, "lowest": min(runs), "highest": max(runs), "runs": runs}


def in_turns(
    names: Iterable[str], repetitions: int, warm_up: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield (repetition, name): every name once per repetition, starting with another name each
    time.

    Repetition -1 is the warm-up.
    """
    names = list(names)
    with tqdm(total=len(names) * (repetitions + warm_up), unit=" runs", disable=None) as bar:
        for number in range(-warm_up, repetitions):
            turn = number % len(names)
            for name in [*names[turn:], *names[:turn]]:
                bar.set_description(name)
                gc.collect()
                time.sleep(PAUSE)
                yield number, name
                bar.update()


def set_threads(threads: int) -> None:
    """Set the threads of torch and `tokenizers`.

    `tokenizers` reads RAYON_NUM_THREADS only once. model2vec disables its threads, so call this
    before each contender.
    """
    import torch

    torch.set_num_threads(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"


def fresh(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the script in a fresh process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def peak_mb() -> float:
    """Return the peak memory of this process, in MB of 2^20 bytes (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def cold_starts(programs: Mapping[str, Sequence[str]], repetitions: int) -> dict[str, Any]:
    """Return the seconds from the first import to the first result in fresh processes.

    Args:
        programs: Python code by name, and the arguments that it reads from `sys.argv[1:]`.
        repetitions: At least five are run. One more fills the caches and is not counted.
    """
    runs: dict[str, list[float]] = {name: [] for name in programs}
    for number, name in in_turns(programs, max(5, repetitions), warm_up=True):
        body, *arguments = programs[name]
        command = [sys.executable, "-c", PROGRAM.format(body=body), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        if number >= 0:
            runs[name].append(float(done.stdout.split()[-1]))
    return {name: spread(each) for name, each in runs.items()}
