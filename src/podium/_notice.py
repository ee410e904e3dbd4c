"""What goes with compiling: one line on standard error where it takes long, and no search for cycles of objects.

Without the line, the first call in a fresh install would seem to hang. Compiling makes millions of objects; looking
through them for cycles again and again is an eighth of its time.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from multiprocessing import parent_process

from numba.core.event import Event, Listener, register

SECONDS_UNTIL_NOTICE = 2.0
"""Less of compiling is no news."""
LINE = (
    "Podium compiles its kernels for this machine: once, for some seconds; "
    "`podium compile` does it ahead, PODIUM_QUIET=1 hides this line."
)


class CompileNotice(Listener):
    """Adds up the seconds in which kernels of Podium are compiled, and prints one line when there are many.

    Between the start and the end of each kernel Python's collector of cycles rests.

    Numba tells when the compiling of a kernel starts and ends, and between the two of each kernel that it calls; of
    machine code that it finds on disk it tells nothing. The line is printed at a start: then there is more to come.
    """

    def __init__(self) -> None:
        self.depth, self.seconds, self.printed = 0, 0.0, False
        self._since, self._collects = 0.0, True

    def on_start(self, event: Event) -> None:
        """Count from here, unless the kernel is the caller's own; print the line if it is time."""
        now = time.perf_counter()
        if self.depth == 0:
            if not event.data["dispatcher"].py_func.__module__.startswith("podium."):
                return
            self._since, self._collects = now, gc.isenabled()
            gc.disable()
        self.depth += 1
        if not self.printed and self.seconds + now - self._since >= SECONDS_UNTIL_NOTICE:
            self.printed = True
            if is_wanted():
                print(LINE, file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        """Add the seconds of the outermost kernel, and let cycles be collected again."""
        if self.depth > 0:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.perf_counter() - self._since
                if self._collects:
                    gc.enable()


def is_wanted() -> bool:
    """Say whether the line is for anybody: not in workers, each of which would print it."""
    return os.environ.get("PODIUM_QUIET", "") in ("", "0") and parent_process() is None


def announce_compiling() -> None:
    """Watch the compiling in this process; costs nothing while nothing is compiled."""
    register("numba:compile", CompileNotice())
