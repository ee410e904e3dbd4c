"""Runs tests in forks of a process that has collected all of them: importing takes longer than most tests."""

from __future__ import annotations

import atexit
import contextlib
import math
import multiprocessing
import os
import pkgutil
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from mutants.recorder import Recorder
from mutants.swapped_code import LiveFunctions

PRELOADED = ("pytest", "hypothesis", "numba", "scipy.stats", "scipy.sparse", "sklearn.utils.estimator_checks", "pandas")
QUIET = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--tb=line",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
"""Options of pytest; it warns of what was imported before."""
MEMORY_BYTES = 12 * 2**30
"""What the tests of one fault may take: some ask for all there is."""
UNSUITED = 70
"""Exit code where a fault cannot be put into imported modules."""


@dataclass(frozen=True)
class Request:
    """Tests to run in a fork.

    Attributes
    ----------
    tests : tuple of str
        Their names.
    module, source : str
        A module below src/podium and its source with a fault.
    limits : tuple of (float, float)
        Seconds of a processor that a test may take, and seconds that all of them may take; 0 for no limit.
    file, target : str
        A file whose tests are run instead, without a fault, and where to record what they run.
    plain_only : bool
        Whether those of the file that run without compilation are meant, or the others.
    """

    tests: tuple[str, ...] = ()
    module: str = ""
    source: str = ""
    limits: tuple[float, float] = (0.0, 0.0)
    file: str = ""
    target: str = ""
    plain_only: bool = False


class ForkedTests:
    """The process of one copy of the project, started when it is first asked.

    Parameters
    ----------
    folder : Path
        The copy.
    log : Path
        Where its output goes.
    """

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self.log = folder, log
        self.channel: Any = None

    def ask(self, request: Request) -> tuple[int | None, str]:
        """Return the exit code of the fork, None if it took too long, and the test that failed."""
        if self.channel is None:
            context = fork_server()
            self.channel, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(self.folder, self.log, theirs))
            process.start()
            atexit.register(process.terminate)  # a daemon would end too, but tests could start no processes there
            theirs.close()
        self.channel.send(request)
        code, failed = self.channel.recv()
        return code, failed


def fork_server() -> Any:
    """Return a way to start processes in which all but the project is imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))  # counts until the first process is started
    return context


def settle_in(folder: Path, log: Path) -> None:
    """Make this process one of a copy: its folder, its modules, a session and a log of its own."""
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


class ProcessorLimit:
    """A plugin of pytest that ends the process when a test takes too much of a processor, however busy it is."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin the count anew."""
        most = math.ceil(time.process_time() + self.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _serve(folder: Path, log: Path, channel: Connection) -> None:
    """Collect all tests of a copy and answer requests until nobody asks any more."""
    settle_in(folder, log)
    temporary = folder.with_name(f"temporary-{folder.name}")
    os._exit(int(pytest.main(["tests", *QUIET, "--basetemp", str(temporary)], plugins=[_Server(folder, channel)])))


class _Server:
    """A plugin of pytest that answers requests in place of running all tests."""

    def __init__(self, folder: Path, channel: Connection) -> None:
        self.source, self.channel = folder / "src" / "podium", channel

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer requests."""
        for module in pkgutil.walk_packages([str(self.source)], "podium."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
        self.live = LiveFunctions(self.source)
        self.items = {item.nodeid: item for item in session.items}
        with contextlib.suppress(EOFError):
            while True:
                request: Request = self.channel.recv()
                work = self._record if request.target else self._try
                self.channel.send(_fork(lambda request=request, work=work: work(request), request.limits[1]))
        return True

    def _try(self, request: Request) -> tuple[int, str]:
        """Run tests with a fault until one fails."""
        if not self.live.change(self.source / request.module, request.source):
            return UNSUITED, ""
        return _run([self.items[test] for test in request.tests], ProcessorLimit(request.limits[0]))

    def _record(self, request: Request) -> tuple[int, str]:
        """Run the tests of a file and write down what they run."""
        own = [item for name, item in self.items.items() if name.partition("::")[0] == request.file]
        chosen = [item for item in own if (item.get_closest_marker("plain") is not None) == request.plain_only]
        recorder = Recorder(Path(request.target))
        with recorder:
            return _run(chosen, recorder, first_failure_ends=False)


def _run(items: list[pytest.Item], plugin: object, first_failure_ends: bool = True) -> tuple[int, str]:
    """Run tests with a plugin; return 1 and the name of one that failed, or 0."""
    failed = ""
    for item, following in zip(items, [*items, None][1:], strict=True):
        if item is items[0]:
            item.config.pluginmanager.register(plugin)
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        failed = failed or (item.nodeid if item.session.testsfailed else "")
        if failed and first_failure_ends:
            break
    return (1 if failed else 0), failed


def _fork(work: Callable[[], tuple[int, str]], seconds: float) -> tuple[int | None, str]:
    """Do some work in a fork; return its exit code, None if it took too long, and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            code, said = work()
            os.write(writing, said.encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    handle = os.pidfd_open(child)
    late = not select.select([handle], [], [], seconds or None)[0]
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # and what it has started
    _, status = os.waitpid(child, 0)
    os.close(handle)
    said = os.read(reading, 2**16).decode() if select.select([reading], [], [], 0)[0] else ""
    os.close(reading)
    return None if late else os.waitstatus_to_exitcode(status), said
