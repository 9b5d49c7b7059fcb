"""Defer Ctrl-C and SIGTERM until a checkpoint is written."""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)


class Interruption:
    """Context manager that records the first SIGINT or SIGTERM. The second has its usual effect.

    If the program already handles or ignores a signal, its handler stays. Outside the main thread
    nothing is recorded.
    """

    def __init__(self, is_wanted: bool = True) -> None:
        self.signal: int | None = None  # number of the received signal
        self._is_wanted = is_wanted
        self._before: dict[int, Any] = {}
        self._is_announced = False

    def __enter__(self) -> Interruption:
        is_main = threading.current_thread() is threading.main_thread()
        usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
        for number, handler in usual.items():
            if is_main and self._is_wanted and signal.getsignal(number) is handler:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._put_back()
        if kind is None and self.signal is not None:  # received after the last check
            signal.raise_signal(self.signal)

    def announce(self) -> None:
        """Log the received signal once."""
        if self.signal is not None and not self._is_announced:
            self._is_announced = True
            logger.warning("Stopping at the next possible checkpoint. Ctrl-C again stops at once.")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._put_back()

    def _put_back(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
