"""Long compiling is announced once, on standard error, and only where somebody reads it."""

import gc
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from podium import _notice
from podium._notice import LINE, CompileNotice, is_wanted


@pytest.fixture
def clock(monkeypatch):
    """Seconds that the test sets; a line is wanted, also where the tests run in workers."""
    monkeypatch.delenv("PODIUM_QUIET", raising=False)
    monkeypatch.setattr(_notice, "parent_process", lambda: None)
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(_notice.time, "perf_counter", lambda: now.seconds)
    return now


def told(module="podium.trees.split"):
    """An event of Numba."""
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))})


def compile_for(notice, clock, seconds, module="podium.trees.split"):
    notice.on_start(told(module))
    clock.seconds += seconds
    notice.on_end(told(module))


def test_the_line_comes_with_the_first_kernel_after_two_seconds_and_once(clock, capsys):
    notice = CompileNotice()
    for seconds in (1.5, 0.4, 0.1):
        compile_for(notice, clock, seconds)
        assert capsys.readouterr() == ("", "")
    compile_for(notice, clock, 0.1)
    assert capsys.readouterr() == ("", f"{LINE}\n")
    compile_for(notice, clock, 10.0)
    assert capsys.readouterr() == ("", "")


def test_time_between_kernels_is_not_compiling(clock, capsys):
    notice = CompileNotice()
    for _ in range(5):
        compile_for(notice, clock, 0.3)
        clock.seconds += 60.0
    assert capsys.readouterr().err == ""
    assert notice.seconds == pytest.approx(1.5)


def test_a_kernel_within_a_kernel_is_counted_once_and_may_bring_the_line(clock, capsys):
    notice = CompileNotice()
    notice.on_start(told())
    clock.seconds += 1.0
    compile_for(notice, clock, 1.0, "numba.np.arrayobj")
    assert capsys.readouterr().err == ""
    notice.on_start(told("numba.np.arrayobj"))
    assert capsys.readouterr().err == f"{LINE}\n"
    notice.on_end(told("numba.np.arrayobj"))
    notice.on_end(told())
    assert (notice.depth, notice.seconds) == (0, 2.0)


def test_kernels_of_the_caller_are_not_ours(clock, capsys):
    notice = CompileNotice()
    notice.on_start(told("__main__"))
    compile_for(notice, clock, 30.0, "numba.np.arrayobj")
    notice.on_end(told("__main__"))
    compile_for(notice, clock, 0.1)
    assert capsys.readouterr().err == ""
    assert notice.seconds == pytest.approx(0.1)


@pytest.mark.parametrize("collects", [True, False])
def test_cycles_are_collected_again_after_the_outermost_kernel_if_they_were_before(collects):
    notice = CompileNotice()
    was = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        notice.on_start(told("__main__"))
        assert gc.isenabled() == collects
        notice.on_start(told())
        notice.on_start(told("numba.np.arrayobj"))
        notice.on_end(told("numba.np.arrayobj"))
        assert not gc.isenabled()
        notice.on_end(told())
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()


@pytest.mark.parametrize(("given", "wanted"), [(None, True), ("", True), ("0", True), ("1", False), ("yes", False)])
def test_an_environment_variable_hides_the_line(monkeypatch, clock, given, wanted):
    if given is not None:
        monkeypatch.setenv("PODIUM_QUIET", given)
    assert is_wanted() is wanted


def test_workers_say_nothing(monkeypatch, clock, capsys):
    monkeypatch.setattr(_notice, "parent_process", lambda: "the process that started this one")
    notice = CompileNotice()
    compile_for(notice, clock, 3.0)
    compile_for(notice, clock, 3.0)
    assert capsys.readouterr().err == ""


FIT = """
from podium import _notice
_notice.SECONDS_UNTIL_NOTICE = 0.0
from podium.measures.graded import exp2_gains
import numpy as np
exp2_gains(np.ones(3)); exp2_gains(np.ones(3))
"""


def test_a_new_process_announces_compiling_and_none_with_machine_code_on_disk(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PODIUM_QUIET": "0", "NUMBA_DISABLE_JIT": "0"}
    said = [
        subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [(one.stdout, one.stderr) for one in said] == [("", f"{LINE}\n"), ("", "")]
