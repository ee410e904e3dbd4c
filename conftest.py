"""Compiled kernels of the tests: a cache of their own for each state of the sources.

Numba notices a change of a kernel's own file, but not of a kernel in another file that it calls.
"""

import hashlib
import os
import shutil
from pathlib import Path

CACHES = Path(__file__).parent / ".numba-cache"


def pytest_configure() -> None:
    """Point Numba to the cache of these sources, and remove those of other states."""
    sources = sorted((Path(__file__).parent / "src").rglob("*.py"))
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    os.environ["NUMBA_CACHE_DIR"] = str(CACHES / state)
    for old in CACHES.glob("*"):
        if old.name != state:
            shutil.rmtree(old, ignore_errors=True)
