import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

# `read` returns when this process ends, because that closes the pipe.
GUARD = 'read -r _; kill -9 "-$0"'


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a program. Kill it and its children when the block ends or this process dies."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            with subprocess.Popen(
                ["sh", "-c", GUARD, str(process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as guard:
                try:
                    yield process
                finally:
                    guard.kill()  # first, because the process id may be reused
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            for stream in (process.stdin, process.stdout, process.stderr):
                with suppress(OSError):  # unread output
                    if stream is not None:
                        stream.close()
