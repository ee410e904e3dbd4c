"""Runs chosen tests in a copy of the project, in processes forked from one that has imported all but the project."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from mutants.forked_tests import QUIET, ForkedTests, ProcessorLimit, Request, fork_server, settle_in

PROJECT = Path(__file__).parents[2]
WORK = PROJECT / ".mutants"
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "constraints.txt", "LICENSE")
COPIED = ("src", "tests", "examples", "docs", "benchmarks", "experiments", *FILES)
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
CPU_SECONDS = 10 if PLAIN else 120
"""Added to three times what the longest test took without the fault: one that takes more loops for ever."""
FORK_WAIT_SECONDS = 60
"""Added to three times what tests took: those that take more wait for ever, or the machine is very busy."""
WAIT_SECONDS = 60 if PLAIN else 300
"""Added to ten times what tests took where kernels may have to be compiled."""


class Copy:
    """A copy of the project that faults are put into.

    Parameters
    ----------
    number : int
        Copies of different numbers can be used side by side.
    """

    def __init__(self, number: int) -> None:
        self.folder = WORK / f"copy-{number}"
        self.log = WORK / f"log-{number}.txt"
        for name in COPIED:
            _mirror(PROJECT / name, self.folder / name)
        for code in (PROJECT / "src").rglob("*.nb[ic]"):  # made by sources of the same time stamps
            _update(code, self.folder / code.relative_to(PROJECT))
        self.forked = ForkedTests(self.folder, self.log.with_suffix(".forked.txt"))

    @contextlib.contextmanager
    def changed(self, module: str, source: str) -> Iterator[None]:
        """Have another source of a module; its time stamp comes back with the old one, as caches go by it.

        Machine code of the old source comes back too: the next fault may lie elsewhere, and compiling takes a minute.
        """
        path = self.folder / "src" / "podium" / module
        before, stat = path.read_text("utf-8"), path.stat()
        compiled = Path(cache_from_source(str(path)))  # two faults in one second would share it
        kept = [(one, one.with_suffix(f"{one.suffix}-kept")) for one in self.folder.rglob("*.nb[ic]")]
        for one, link in kept:
            link.unlink(missing_ok=True)
            os.link(one, link)  # Numba replaces files and leaves their content alone
        path.write_text(source, "utf-8")
        compiled.unlink(missing_ok=True)
        try:
            yield
        finally:
            path.write_text(before, "utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            compiled.unlink(missing_ok=True)
            for one, link in kept:
                link.replace(one)

    def run_with(self, module: str, source: str, tests: list[str], seconds: list[float]) -> tuple[int | None, str]:
        """Run tests with another source of a module, in memory; return as `ForkedTests.ask` does."""
        limits = math.ceil(CPU_SECONDS + 3 * max(seconds)), FORK_WAIT_SECONDS + 3 * sum(seconds)
        return self.forked.ask(Request(tuple(tests), module=module, source=source, limits=limits))

    def run(self, tests: list[str], seconds: list[float]) -> int | None:
        """Run tests, given what each takes; return pytest's exit code, or None if they took too long."""
        timeout = WAIT_SECONDS + 10 * max(seconds)
        limit = math.ceil(CPU_SECONDS + 3 * max(seconds))
        child = fork_server().Process(target=_run_tests, args=(self.folder, self.log, tests, limit, timeout))
        child.start()
        child.join(5 * WAIT_SECONDS + 10 * sum(seconds))
        late = child.is_alive()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.join()
        return None if late else child.exitcode

    def failed(self, tests: list[str]) -> str:
        """Return which of the tests the last run says has failed, if any."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        named = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return next((test for name in named for test in tests if name == test or name.startswith(f"{test} - ")), "")


def _mirror(source: Path, target: Path) -> None:
    """Make a file or folder like another one, leaving alone what has its time stamp."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        names = {one.name for one in source.iterdir() if one.name != "__pycache__"}
        for one in target.iterdir():
            if one.name not in names and one.name != "__pycache__":
                shutil.rmtree(one) if one.is_dir() else one.unlink()
        for name in names:
            _mirror(source / name, target / name)
    elif not target.exists() or source.stat().st_mtime_ns != target.stat().st_mtime_ns:
        shutil.copy2(source, target)


def _update(source: Path, target: Path) -> None:
    """Copy a file where there is none or an older one."""
    if not target.exists() or source.stat().st_mtime_ns > target.stat().st_mtime_ns:
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(source, target)


def _run_tests(folder: Path, log: Path, tests: list[str], limit: int, timeout: float) -> None:
    """Run pytest in a copy; called in a process of its own."""
    import pytest

    settle_in(folder, log)
    code: Any = pytest.main([*tests, "-x", *QUIET, "--timeout", str(timeout)], plugins=[ProcessorLimit(limit)])
    os._exit(int(code))
