"""How much memory something will take, asked before it is taken."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from podium._errors import SizeError


@contextmanager
def enough_memory(n_bytes: int, what: str, advice: str) -> Iterator[None]:
    """Refuse what takes more than the machine has, before it is allocated or when that fails.

    Systems lend more memory than they have and end the process that uses it, so that waiting for a `MemoryError`
    is not enough.

    Parameters
    ----------
    n_bytes : int
        Least memory that it will take.
    what, advice : str
        For the message: "An X of 2 rows and 3 columns", "consider sparse=True".
    """
    if n_bytes > machine_memory():
        raise SizeError(_sentence(n_bytes, what, advice))
    try:
        yield
    except MemoryError:
        raise SizeError(_sentence(n_bytes, what, advice)) from None


def machine_memory() -> int:
    """Return the bytes of memory that the machine has; where the system does not say, more than any has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 2**62


def _sentence(n_bytes: int, what: str, advice: str) -> str:
    """Say what takes how much."""
    return f"{what} takes at least {n_bytes / 2**30:.1f} GiB, more memory than there is; {advice}."
