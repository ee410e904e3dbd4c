"""torch, imported when a net is trained: advice where it is missing, and one thread while a net learns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from podium._validation import PodiumError


def load_torch() -> ModuleType:
    """Return torch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise PodiumError(
            'Nets are trained with torch, which is not installed: pip install "podium[neural]".'
        ) from None
    module: ModuleType = torch
    return module


class OneThread:
    """Holds torch to one thread while somebody asks for it, then gives the process its own number back.

    On one thread a net is the same bit for bit however many processors there are; and the nets of rankings are so
    small that a second thread makes them slower. Several fits at a time share one holder: the first one in keeps the
    number, the last one out restores it.
    """

    def __init__(self) -> None:
        self._lock, self._depth, self._before = threading.Lock(), 0, 1

    @contextmanager
    def held(self, torch: ModuleType) -> Iterator[None]:
        """Hold torch to one thread."""
        with self._lock:
            if self._depth == 0:
                self._before = torch.get_num_threads()
            self._depth += 1
            torch.set_num_threads(1)
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                if self._depth == 0:
                    torch.set_num_threads(self._before)


ONE_THREAD = OneThread()
"""The number of threads belongs to the process, and so does its holder."""
