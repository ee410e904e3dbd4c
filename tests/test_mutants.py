"""The table of faults fits the sources, and the tools that put them in leave nothing behind."""

import ast
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from mutants.faults import SOURCE, Fault, function_names, read_faults
from mutants.runner import Copy
from mutants.tests_of import read_record, record_path

FAULTS = read_faults()


@cache
def source_of(module):
    return (SOURCE / module).read_text("utf-8")


@cache
def statements_of(module):
    """Return the texts of the statements of a module: a whole module takes a hundred times as long to parse."""
    lines, nodes = source_of(module).splitlines(keepends=True), ast.parse(source_of(module)).body
    firsts = [min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))]) for node in nodes]
    return ["".join(lines[first - 1 : node.end_lineno]) for first, node in zip(firsts, nodes, strict=True)]


@pytest.mark.parametrize("module", sorted({fault.module for fault in FAULTS}))
def test_faults_stand_once_in_their_module_and_leave_python(module):
    for fault in (fault for fault in FAULTS if fault.module == module):
        changed = fault.apply(source_of(module))
        around = next((text for text in statements_of(module) if fault.before in text), None)
        before, after = (source_of(module), changed) if around is None else (around, fault.apply(around))
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before)), fault
        assert fault.breaks


def test_no_fault_is_listed_twice():
    assert len({fault.key for fault in FAULTS}) == len(FAULTS)


def test_lines_belong_to_the_innermost_function():
    source = "x = 1\nclass A:\n    def f(self):\n        def g():\n            return 1\n        return g\n"
    assert function_names(source) == {3: "A.f", 4: "A.f.g", 5: "A.f.g", 6: "A.f"}


def test_a_text_that_stands_twice_is_refused():
    with pytest.raises(ValueError, match="2 times"):
        Fault("a.py", "x", "y", "nothing").apply("x x")


def test_a_function_runs_in_its_body_alone():
    source = "def f(x=1,\n      y=2):\n    def g():\n        return x\n    return g\n"
    assert function_names(source, bodies=True) == {3: "f", 4: "f.g", 5: "f"}


def test_after_a_fault_source_time_stamp_and_machine_code_are_those_before_it(tmp_path):
    copy = object.__new__(Copy)
    copy.folder = tmp_path
    module, code = tmp_path / "src" / "podium" / "a.py", tmp_path / "src" / "podium" / "__pycache__" / "a.nbi"
    code.parent.mkdir(parents=True)
    module.write_text("x = 1")
    code.write_text("of x = 1")
    stamp = module.stat().st_mtime_ns
    with copy.changed("a.py", "x = 2"):
        assert module.read_text() == "x = 2"
        (tmp_path / "new").write_text("of x = 2")
        (tmp_path / "new").replace(code)
        Path(cache_from_source(str(module))).write_text("x = 2")
    assert (module.read_text(), module.stat().st_mtime_ns) == ("x = 1", stamp)
    assert [path.name for path in code.parent.iterdir()] == ["a.nbi"]
    assert code.read_text() == "of x = 1"


def test_the_failed_test_is_found_in_the_log(tmp_path):
    copy = object.__new__(Copy)
    copy.log = tmp_path / "log"
    copy.log.write_text("F\nFAILED tests/a.py::test_b[x] - AssertionError\n1 failed")
    assert copy.failed(["tests/a.py::test_b", "tests/a.py::test_b[x]"]) == "tests/a.py::test_b[x]"
    copy.log.write_text("2 passed")
    assert copy.failed(["tests/a.py::test_b"]) == ""


def test_records_come_back_by_content(tmp_path):
    path = record_path(tmp_path, "tests/test_a.py", b"content")
    assert path != record_path(tmp_path, "tests/test_a.py", b"other")
    assert read_record(path) == {}
    path.write_text('{"functions": ["a.py:f", "a.py:g"], "tests": {"t": [0.5, [1]]}}')
    assert read_record(path) == {"t": (0.5, {"a.py:g"})}
