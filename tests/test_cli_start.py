"""How the command line starts: help at once, kernels compiled ahead."""

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest

import podium
from podium import PodiumError
from podium._compiled import JIT_DISABLED, processors
from podium.cli import compiling, kernel_calls
from podium.cli.kernel_calls import JOBS, run_job
from podium.cli.options import EXPORT_FORMATS, IMPORT_FORMATS
from podium.export import FORMATS as EXPORTS
from podium.importing import FORMATS as IMPORTS
from podium.trees import grower


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], []])
def test_help_and_version_import_nothing_heavy(arguments):
    code = (
        "import sys\nfrom podium.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numba', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)), file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip()
    assert said.stderr == "[]\n"


@pytest.mark.parametrize(
    ("name", "known", "formats"), [("export", EXPORT_FORMATS, EXPORTS), ("import", IMPORT_FORMATS, IMPORTS)]
)
def test_the_help_names_every_format(command_line, name, known, formats):
    assert (*formats,) == known
    said = command_line(name, "--help")[1]
    assert all(one in said for one in formats)


def command(code, **environment):
    """Run the command line in a new process after some code; return exit code, output and error output."""
    arguments = ["podium", "compile", "--quiet", "--jobs", "1"]
    run = f"import sys\nfrom podium import cli\n{code}\nsys.argv = {arguments}\ncli.main()"
    said = subprocess.run(
        [sys.executable, "-c", run],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0", **environment},
        capture_output=True,
        text=True,
    )
    return said.returncode, said.stdout, said.stderr


def test_compile_leaves_machine_code_where_it_says(tmp_path):
    code = "from podium.cli import compiling\ncompiling.job_names = lambda: ['nets']"
    exit_code, out, err = command(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert (exit_code, err) == (0, "")
    assert re.fullmatch(rf"Compiled all kernels in \d+ s, into {re.escape(str(tmp_path))}\n", out)
    assert list(tmp_path.rglob("*fill_layer*.nbc"))


@pytest.mark.plain
@pytest.mark.skipif(not JIT_DISABLED, reason="there is something to compile")
def test_nothing_is_to_be_compiled_where_plain_kernels_run():
    with pytest.raises(PodiumError, match="There is nothing to compile"):
        compiling.cache_folder()


NOWHERE = "from numba.core.caching import CacheImpl\nCacheImpl._locator_classes = []"


@pytest.mark.parametrize(
    ("code", "environment", "message"),
    [
        ("", {"NUMBA_CACHE_DIR": "{file}/below"}, "NUMBA_CACHE_DIR, {file}/below, cannot be written to."),
        ("", {"NUMBA_DISABLE_JIT": "1"}, "There is nothing to compile: NUMBA_DISABLE_JIT is set."),
        (NOWHERE, {}, "No folder for machine code can be written to; set NUMBA_CACHE_DIR to one that can."),
    ],
)
def test_compile_says_in_a_sentence_that_nothing_can_be_kept(tmp_path, code, environment, message):
    (tmp_path / "file").write_text("")
    given = {name: value.format(file=tmp_path / "file") for name, value in environment.items()}
    assert command(code, **given) == (2, "", f"podium: {message.format(file=tmp_path / 'file')}\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "Machine code cannot be written to here: No space left on device."),
        (BrokenExecutor(), "A process that compiled was killed; with --jobs 1 less memory is needed."),
    ],
)
def test_compile_ends_with_a_sentence_where_a_process_fails(command_line, monkeypatch, error, message):
    def fail(names, n_processes):
        raise error

    monkeypatch.setattr(compiling, "cache_folder", lambda: "here")
    monkeypatch.setattr(compiling, "run_jobs", fail)
    assert command_line("compile", "--quiet") == (2, "", f"podium: {message}\n")


def test_compile_refuses_no_processes_in_the_words_of_its_option(command_line, monkeypatch):
    monkeypatch.setattr(compiling, "cache_folder", lambda: "here")
    said = "podium: --jobs must be an integer other than 0 (-1 is all processors); got 0.\n"
    assert command_line("compile", "--jobs", "0") == (2, "", said)


def test_compile_shows_what_is_done(command_line, monkeypatch):
    asked = []

    def run(names, n_processes):
        asked.append((names, n_processes))
        yield from names

    monkeypatch.setattr(compiling, "cache_folder", lambda: "here")
    monkeypatch.setattr(compiling, "run_jobs", run)
    code, out, err = command_line("compile", "--jobs", "3")
    assert (code, out) == (0, "Compiled all kernels in 0 s, into here\n")
    assert f"{len(JOBS)}/{len(JOBS)}" in err
    assert command_line("compile", "--quiet")[2] == ""
    assert asked == [(list(JOBS), 3), (list(JOBS), processors())]


@pytest.mark.skipif(JIT_DISABLED, reason="plain kernels run on one thread")
def test_compile_lets_two_threads_share_a_tree_of_a_table_no_larger_than_that_takes(monkeypatch):
    helpers, shapes = [], []
    run_beside, of = grower.run_beside, grower.TreeGrower.__init__

    def run(lead, help_leader, n_helpers, *more):
        helpers.append(n_helpers)
        return run_beside(lead, help_leader, n_helpers, *more)

    def make(self, bins, *given, **more):
        shapes.append((bins.n_rows, bins.cuts.n_features))
        of(self, bins, *given, **more)

    monkeypatch.setattr(grower, "processors", lambda: 2)
    monkeypatch.setattr(grower, "run_beside", run)
    monkeypatch.setattr(grower.TreeGrower, "__init__", make)
    X, y, qid = kernel_calls._table()
    kernel_calls._share_a_tree(X, y, qid)
    assert helpers == [1]
    [(n_rows, n_features)] = shapes
    assert grower.SHARED_CELLS <= n_rows * n_features <= grower.SHARED_CELLS + X.size


CALLED_OTHERWISE = {"longer": "by a kernel, in long queries"}
"""Kernels that no job calls from plain Python."""


@pytest.mark.plain
@pytest.mark.skipif(not JIT_DISABLED, reason="a compiled kernel cannot be taken apart")
def test_every_kernel_is_called_by_a_job(monkeypatch):
    monkeypatch.setattr(kernel_calls, "SHARED_CELLS", 0)
    not_called = set()
    for kernel in kernels_that_python_calls():
        not_called.add((kernel.__module__, kernel.__name__))
        note_calls(kernel, monkeypatch, not_called)
    for name in JOBS:
        assert run_job(name) == name
    assert {name for _, name in not_called} == set(CALLED_OTHERWISE)


def kernels_that_python_calls():
    """The functions of all modules that are decorated as compiled."""
    source = Path(podium.__file__).parent
    for path in source.rglob("*.py"):
        for name in names_of_kernels(path):
            module = ".".join(path.relative_to(source.parent).with_suffix("").parts)
            yield getattr(import_module(module.removesuffix(".__init__")), name)


def note_calls(kernel, monkeypatch, not_called):
    """Take a kernel's name away when it is called, by whatever name: a profiler would look at every call there is."""
    original = FunctionType(kernel.__code__, kernel.__globals__, kernel.__name__, kernel.__defaults__)

    def noted(*arguments, _original, _name, _not_called):
        _not_called.discard(_name)
        return _original(*arguments)

    given = {"_original": original, "_name": (kernel.__module__, kernel.__name__), "_not_called": not_called}
    monkeypatch.setattr(kernel, "__code__", noted.__code__)
    monkeypatch.setattr(kernel, "__kwdefaults__", given)


def names_of_kernels(path):
    """Names of the functions that Python calls compiled."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            decorators = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
            if "compiled" in decorators:
                yield node.name
