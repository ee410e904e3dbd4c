"""Runs chosen tests in a copy of the project, in processes forked from one that has imported all but the project."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
WORK = PROJECT / ".mutants"
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "constraints.txt", "LICENSE")
COPIED = ("src", "tests", "examples", "docs", "benchmarks", "experiments", *FILES)
PRELOADED = ("pytest", "hypothesis", "numba", "scipy.stats", "scipy.sparse", "sklearn.utils.estimator_checks", "pandas")
IMPORTED_BEFORE = "ignore::pytest.PytestAssertRewriteWarning"
PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
MEMORY_BYTES = 12 * 2**30
"""What the tests of one fault may take: some ask for all there is."""
CPU_SECONDS = 10 if PLAIN else 120
"""Added to three times what the longest test took without the fault: one that takes more loops for ever."""
WAIT_SECONDS = 60 if PLAIN else 300
"""Added to ten times what tests took: one that takes more waits for ever, or the machine is very busy."""


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
        shared = WORK.parent.parent / "shared"
        if shared.is_dir() and not (WORK / "shared").exists():
            (WORK / "shared").symlink_to(shared)

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

    def run(self, tests: list[str], seconds: list[float], plugin: str = "", extra: tuple[str, ...] = ()) -> int | None:
        """Run tests, given what each takes; return pytest's exit code, or None if they took too long."""
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        extra = (*extra, "--timeout", str(WAIT_SECONDS + 10 * max(seconds)))
        limit = math.ceil(CPU_SECONDS + 3 * max(seconds))
        child = context.Process(target=_run_tests, args=(self.folder, self.log, tests, limit, plugin, extra))
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


def _run_tests(folder: Path, log: Path, tests: list[str], limit: int, plugin: str, extra: tuple[str, ...]) -> None:
    """Run pytest in a copy; called in a process of its own."""
    import resource

    import pytest

    os.setsid()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))  # V8, which draws plots, reserves far more
    places = [str(folder / "src"), str(folder / "tests")]
    sys.path[:0] = places
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    sys.dont_write_bytecode = False  # reading test files takes longer than most tests
    with log.open("w") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    arguments = [
        *tests,
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=line",
        "-W",
        IMPORTED_BEFORE,
        *extra,
    ]
    code: Any = pytest.main(arguments, plugins=[_CpuLimit(limit), *([_plugin(plugin)] if plugin else [])])
    os._exit(int(code))


class _CpuLimit:
    """A plugin of pytest that ends the process when a test takes too much of a processor, however busy it is."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def pytest_runtest_setup(self, item: Any) -> None:
        """Begin the count anew."""
        import resource

        most = math.ceil(time.process_time()) + self.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _plugin(target: str) -> Any:
    """Return the plugin that writes down what each test runs."""
    from mutants.tests_of import Recorder

    return Recorder(Path(target))
