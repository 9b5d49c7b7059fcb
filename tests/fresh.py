"""Run programs in separate processes that start fast.

They are forked from a process that has imported slow packages, except this package and those from
Hugging Face. Tests of imports or startup time need `subprocess` instead.
"""

import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

_PATH = list(sys.path)  # before any test adds folders to it
_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(
    [  # no package that starts threads, such as pyarrow, since forks lose them
        *("torch", "torch._dynamo", "torch.distributed.checkpoint", "torch.utils.tensorboard"),
        *("scipy.stats", "sklearn.metrics"),
    ]
)


NOWHERE = Path(os.devnull)


def start(program, *arguments, environment=None, folder=None, output=NOWHERE, errors=NOWHERE):
    """Start `python -c program arguments...` as a process to join or kill.

    `environment` defaults to `os.environ`, and `folder` to the current one. `output` and `errors`
    are files for the two streams.
    """
    variables = dict(os.environ if environment is None else environment)
    given = (program, arguments, variables, _PATH, folder or Path.cwd(), output, errors)
    process = _FORKS.Process(target=_run, args=given)
    process.start()
    return process


def run(program, *arguments, environment=None, folder=None, timeout=300):
    """Start a program and wait, like `subprocess.run` with `capture_output`."""
    with tempfile.TemporaryDirectory() as kept:
        output, errors = Path(kept) / "output", Path(kept) / "errors"
        streams = {"output": output, "errors": errors}
        process = start(program, *arguments, environment=environment, folder=folder, **streams)
        process.join(timeout)
        process.kill()  # no effect after the end
        process.join()
        printed = [path.read_text(errors="replace") for path in (output, errors)]
        code = process.exitcode
        assert code is not None
        return subprocess.CompletedProcess([program, *arguments], code, *printed)


def _run(program, arguments, environment, path, folder, output, errors):
    for name, stream in ((output, 1), (errors, 2)):
        with name.open("wb") as file:
            os.dup2(file.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv, sys.path[:] = ["-c", *arguments], path
    exec(compile(program, "<fresh>", "exec"), {"__name__": "__main__"})
