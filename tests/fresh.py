"""Programs in processes of their own that start at once.

They are forked from one process that has imported what is slow and neither ours nor Hugging Face's.
Those two a program finds as a new interpreter does: not imported, with no variable read yet.
Tests of what a start imports, or how long it takes, need `subprocess` instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

_PATH = list(sys.path)  # before any test: some put folders of modules there, which children inherit
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(
    [  # none that starts a thread, as pyarrow does: a fork has only the thread that forked
        *("torch", "torch._dynamo", "torch.distributed.checkpoint", "torch.utils.tensorboard"),
        *("scipy.stats", "sklearn.metrics"),
    ]
)


def start(
    program: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    output: Path = Path(os.devnull),
    errors: Path = Path(os.devnull),
) -> BaseProcess:
    """Begin `python -c program arguments...`; join or kill it, as any process.

    Args:
        program: Source text.
        arguments: Its `sys.argv[1:]`.
        environment: Its variables; by default those of this process.
        folder: Where it runs; by default where this process does.
        output: The file for what it prints.
        errors: The file for its standard error.
    """
    variables = dict(os.environ if environment is None else environment)
    given = (program, arguments, variables, _PATH, folder or Path.cwd(), output, errors)
    process = _FORKS.Process(target=_run, args=given)
    process.start()
    return process


def run(
    program: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """`start` and wait, as `subprocess.run` does with `capture_output`."""
    with tempfile.TemporaryDirectory() as kept:
        output, errors = Path(kept) / "output", Path(kept) / "errors"
        process = start(
            program,
            *arguments,
            environment=environment,
            folder=folder,
            output=output,
            errors=errors,
        )
        process.join(timeout)
        process.kill()  # nothing to one that has ended
        process.join()
        printed = [path.read_text(errors="replace") for path in (output, errors)]
        code = process.exitcode
        assert code is not None
        return subprocess.CompletedProcess([program, *arguments], code, *printed)


def _run(
    program: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    path: list[str],
    folder: Path,
    output: Path,
    errors: Path,
) -> None:
    for name, stream in ((output, 1), (errors, 2)):
        with name.open("wb") as file:
            os.dup2(file.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv, sys.path[:] = ["-c", *arguments], path
    exec(compile(program, "<fresh>", "exec"), {"__name__": "__main__"})
