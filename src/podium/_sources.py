"""Which sources the machine code of a kernel hangs on.

A kernel is compiled together with the kernels that it calls, also those of other modules. Numba keeps the machine code
on disk for as long as the kernel's own file stays as it is; after an upgrade that changed only a file it calls, the old
code would run on. So the stamp that Numba compares covers every module that the kernel's module imports.

The types of a kernel's arguments stand in the same index as the stamp, and a NamedTuple among them by the name of its
class. After an upgrade that renamed the class Numba could not read the index, and would raise; here it counts as none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from numba.core.typing import Signature

Kernel = TypeVar("Kernel")

ROOT = Path(__file__).parent
IMPORT = re.compile(r"^from (podium[\w.]*) import", re.MULTILINE)
"""An import at the top level: others have no part in a kernel."""


def stamped(kernel: Kernel) -> Kernel:
    """Let the machine code of a kernel on disk count only while all sources that it hangs on stay as they are."""
    try:
        file = attrgetter("_cache._cache_file")(kernel)
        file._source_stamp = (file._source_stamp, source_stamp(kernel.__module__))
        file._load_index = partial(_read_index, file._load_index)
    except (AttributeError, KeyError, OSError):
        pass  # a Numba that keeps its stamp elsewhere, or sources in an archive or in none: its own stamp holds
    return kernel


def _read_index(load: Callable[[], dict[Signature, str]]) -> dict[Signature, str]:
    """Return what is on disk of a kernel; nothing where it names a class that is gone."""
    try:
        return load()
    except (AttributeError, ImportError, TypeError):
        return {}


@lru_cache
def source_stamp(module: str) -> str:
    """Return a hash of the sources of a module and of all modules of Podium that it imports, directly or not."""
    wanted, seen = [module], set()
    while wanted:
        name = wanted.pop()
        if name not in seen:
            seen.add(name)
            wanted += _source(name)[1]
    return sha256("".join(_source(name)[0] for name in sorted(seen)).encode()).hexdigest()


@lru_cache
def _source(module: str) -> tuple[str, list[str]]:
    """Return a hash of the source of a module, and the modules of Podium that it imports."""
    text = _path(module).read_text("utf-8")
    return sha256(text.encode()).hexdigest(), IMPORT.findall(text)


def _path(module: str) -> Path:
    """Return the file of a module of ours, or of another that has kernels, which is being imported."""
    package, *names = module.split(".")
    if package != "podium":
        return Path(str(sys.modules[module].__file__))
    place = ROOT.joinpath(*names)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
