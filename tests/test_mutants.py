"""The table of faults fits the sources: each can be put in."""

import ast

import pytest

from mutants.faults import SOURCE, Fault, function_names, read_faults

FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.module}-{fault.key[:6]}")
def test_a_fault_stands_once_in_its_module_and_leaves_python(fault):
    source = (SOURCE / fault.module).read_text("utf-8")
    changed = fault.apply(source)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
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
