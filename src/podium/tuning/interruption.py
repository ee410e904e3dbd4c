"""Ctrl-C between many fits: noticed even where the fit itself ends early and keeps its rounds instead of raising."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.seen = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was: what the last fit learned is only a part."""
        if self.seen:
            raise KeyboardInterrupt


@contextmanager
def noticing_interrupts() -> Iterator[Interruption]:
    """Note Ctrl-C and pass it on; outside the main thread, which alone hears it, nothing is done."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        """Keep that Ctrl-C was pressed, and do what it did before."""
        interruption.seen = True
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        with warnings.catch_warnings():
            # A fit says that it keeps its rounds; here they are dropped with it.
            warnings.filterwarnings("ignore", message="Interrupted: the ")
            yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
