"""Memory that a worker frees between the steps of a round: kept by the process while it has a part of a fit.

Dask lets the C library of its workers give freed memory back at once (MALLOC_TRIM_THRESHOLD_). A round frees, and asks
for, arrays of all rows again and again; pages that come anew from the system cost a round of RankBoost half as much
processor time again.
"""

from __future__ import annotations

import ctypes
import os
from threading import Lock

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers of the settings, as malloc.h has them."""
KEPT_BYTES = 2**28
"""Freed memory that is kept."""
LARGEST_KEPT_BYTES = 2**25
"""Size of an allocation up to which it is kept when it is freed: the most that the C library takes."""
DEFAULT_BYTES = 2**17
"""Size of allocations that are mapped, where nothing else is said."""
TRIM_VARIABLE = "MALLOC_TRIM_THRESHOLD_"
"""What the C library reads when a process starts, and Dask sets for its workers."""


class FreedMemory:
    """What becomes of freed memory in this process; nothing changes without the variable, or without glibc.

    Without it, glibc finds by itself what to keep, until it is told for the first time.
    """

    def __init__(self) -> None:
        self._lock, self._n_users = Lock(), 0
        self._before = int(given) if (given := os.environ.get(TRIM_VARIABLE, "")).isdigit() else None
        library = ctypes.CDLL(None) if os.name == "posix" and self._before is not None else None
        self._library = library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None

    def keep(self) -> None:
        """Keep freed memory, until `give_back` was called as often as this."""
        with self._lock:
            self._n_users += 1
            self._set(KEPT_BYTES, LARGEST_KEPT_BYTES)

    def give_back(self) -> None:
        """Give freed memory back to the system, if nobody else keeps it, from now on as before."""
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0 and self._library is not None and self._before is not None:
                self._set(self._before, DEFAULT_BYTES)
                self._library.malloc_trim(0)

    def _set(self, trim_bytes: int, mapped_bytes: int) -> None:
        """Tell the C library how much freed memory to keep, and from which size on to map allocations."""
        if self._library is not None:
            self._library.mallopt(M_TRIM_THRESHOLD, trim_bytes)
            self._library.mallopt(M_MMAP_THRESHOLD, mapped_bytes)


FREED_MEMORY = FreedMemory()
"""That of this process."""
