"""The table of faults fits the sources, and the tools that put them in leave nothing behind."""

import ast
from collections import Counter
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from textwrap import dedent

import pytest

from mutants import tests_of
from mutants.faults import SOURCE, Fault, function_names, read_faults
from mutants.results import KILLED, NO_TESTS, SURVIVED, Results
from mutants.runner import Copy
from mutants.swapped_code import LiveFunctions, changed_functions
from mutants.tests_of import TestMap, file_of, read_record, record_path

FAULTS = read_faults()


@cache
def source_of(module):
    return (SOURCE / module).read_text("utf-8")


@cache
def statements_of(module):
    """Return the texts of the statements of a module, methods first: a whole module takes a hundred times as long."""
    lines, nodes = source_of(module).splitlines(keepends=True), ast.parse(source_of(module)).body
    methods = [one for node in nodes if isinstance(node, ast.ClassDef) for one in node.body]
    return ["".join(lines[_first_line(node) - 1 : node.end_lineno]) for node in (*methods, *nodes)]


def _first_line(node):
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


@cache
def tree_of(text):
    return ast.dump(ast.parse(dedent(text)))


@pytest.mark.parametrize("module", sorted({fault.module for fault in FAULTS}))
def test_faults_stand_once_in_their_module_and_leave_python(module):
    for fault in (fault for fault in FAULTS if fault.module == module):
        changed = fault.apply(source_of(module))
        around = next((text for text in statements_of(module) if fault.before in text), None)
        before, after = (source_of(module), changed) if around is None else (around, fault.apply(around))
        assert tree_of(after) != tree_of(before), fault
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


def test_tests_of_the_likeliest_files_come_first_and_none_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(tests_of, "SOURCE", tmp_path)
    (tmp_path / "constants.py").write_text("LIMIT = 3\n\n\nclass Bound:\n    pass\n\n\nclass _Own:\n    pass\n")
    tests = object.__new__(TestMap)
    tests.tests = {
        "a.py::wide": (0.1, {"m.py:f"}),
        "a.py::other": (0.1, {"n.py:g"}),
        "b.py::own": (0.2, {"m.py:f"}),
        "c.py::slow": (50.0, {"m.py:f"}),
        "d.py::noticed": (0.3, {"m.py:f"}),
        "d.py::other": (0.1, {"n.py:g"}),
    }
    tests.sizes = Counter(map(file_of, tests.tests))
    tests.texts = {
        "a.py": "from podium.constants import LIMIT",
        "b.py": "from podium import Bounds, _Own",
        "d.py": "Bound()",
    }
    concerned = ["a.py::other", "a.py::wide", "d.py::noticed", "d.py::other"]
    assert sorted(test for _, test in tests.choose("constants.py", "")) == concerned
    found = tests.choose("m.py", "f")
    assert found == sorted((took, test) for test, (took, names) in tests.tests.items() if "m.py:f" in names)
    assert tests.stages(found, Counter()) == [["b.py::own"], ["a.py::wide", "d.py::noticed"], ["c.py::slow"]]
    by_killers = tests.stages(found, Counter({"d.py::noticed": 1}))
    assert by_killers == [["d.py::noticed", "b.py::own"], ["a.py::wide"], ["c.py::slow"]]
    assert tests.choose("room/none.py", "f") == []
    assert tests.stages([], Counter()) == [[], [], []]


def test_outcomes_of_both_phases_come_back_and_the_last_try_counts(tmp_path):
    fault, other = Fault("a.py", "x", "y", "all"), Fault("a.py", "x", "z", "all")
    results = Results(tmp_path / "results")
    assert results.outcome(fault) == NO_TESTS
    results.save(fault, {"plain": SURVIVED, "plain killer": ""})
    results.save(other, {"plain": KILLED, "plain killer": "t::one"})
    results.save(fault, {"compiled": KILLED, "compiled killer": "t::two"})
    for read in (results, Results(tmp_path / "results")):
        assert read.of(fault)["plain"] == SURVIVED
        assert (read.outcome(fault), read.outcome(other)) == (KILLED, KILLED)
        assert read.killers(fault, "plain") == {"t::one": 1}
        assert read.killers(fault, "compiled").most_common() == [("t::two", 2001)]
    results.save(fault, {"compiled": SURVIVED})
    assert Results(tmp_path / "results").outcome(fault) == SURVIVED


BEFORE = """
LIMIT = 3
class Counter:
    def add(self, n):
        return n + 1
    @property
    def most(self):
        return max(n for n in range(LIMIT))
"""


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("n + 1", "n - 1", ["Counter.add"]),
        ("n for n", "-n for n", ["Counter.most.<locals>.<genexpr>", "Counter.most"]),
        ("LIMIT = 3", "\n\nLIMIT = 3", []),
        ("LIMIT = 3", "LIMIT = 4", None),
        ("    @property\n", "", None),
        ("self, n", "self, n=1", None),
    ],
)
def test_code_is_swapped_where_functions_alone_differ(before, after, names):
    found = changed_functions(BEFORE, BEFORE.replace(before, after), "a.py")
    assert names == (None if found is None else [old.co_qualname for old, _ in found])


def test_functions_in_memory_follow_a_changed_source_and_constants_do_not(tmp_path):
    path = tmp_path / "counter.py"
    path.write_text(BEFORE)
    names = {}
    exec(compile(BEFORE, str(path), "exec"), names)
    counter, live = names["Counter"](), LiveFunctions(tmp_path)
    assert live.change(path, BEFORE.replace("n + 1", "n - 1").replace("max", "min"))
    assert (counter.add(5), counter.most) == (4, 0)
    assert not live.change(path, BEFORE.replace("LIMIT = 3", "LIMIT = 4"))
    assert not LiveFunctions(tmp_path / "elsewhere").change(path, BEFORE.replace("n + 1", "n"))
