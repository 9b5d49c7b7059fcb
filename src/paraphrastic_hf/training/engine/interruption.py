"""A run that is asked to stop, by Ctrl-C or SIGTERM, stops where a checkpoint can be written."""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType
from typing import Any

logger = logging.getLogger(__name__)


class Interruption:
    """Within it the first SIGINT or SIGTERM is only noted; a second one does what it always did.

    A signal that the program handles in a way of its own, or ignores, is left alone; so are all of
    them outside the main thread, where Python has no signals.

    Attributes:
        signal: The signal that came, or None.

    Example:
        >>> with Interruption() as interruption:
        ...     interruption.signal is None
        True
    """

    def __init__(self, is_wanted: bool = True) -> None:
        self.signal: int | None = None
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
        if kind is None and self.signal is not None:  # it came after the last look at it
            signal.raise_signal(self.signal)

    def announce(self) -> None:
        """Log, once, that the signal was seen, where it takes a while until a checkpoint."""
        if self.signal is not None and not self._is_announced:
            self._is_announced = True
            logger.warning("stopping where a checkpoint can be written; Ctrl-C again stops at once")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._put_back()

    def _put_back(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
