"""Parts of kernels are compiled for linking alone, and kept on disk for other kernels."""

import importlib.util

import numpy as np
import pytest

from podium import _linked_parts
from podium._compiled import JIT_DISABLED

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")

SOURCE = """
import numpy as np
from podium._compiled import allocating_part, compiled, linked_part

@linked_part
def inner(values, place):
    return values[place] * 2.0

@linked_part
def part(values):
    total = 0.0
    for place in range(len(values)):
        total += inner(values, place)
    return total

@compiled
def first(values):
    return part(values)

@compiled
def second(values):
    return part(values) + inner(values, 0)

@linked_part
def slices(values):
    return part(values[1:]) + part(values[:1])

@allocating_part
def doubled(values):
    twice = np.empty(len(values))
    for place in range(len(values)):
        twice[place] = 2.0 * values[place]
    return part(twice)

@compiled
def third(values):
    return slices(values) + doubled(values)
"""


def load(path):
    spec = importlib.util.spec_from_file_location("linked_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pointers(kernel):
    """Return where the machine code of each form of a kernel begins; 0 where there is none."""
    return [one.library.get_pointer_to_function(one.fndesc.llvm_func_name) for one in kernel.overloads.values()]


def test_parts_have_no_machine_code_of_their_own_and_are_linked_from_disk_too(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "linked_kernels.py").write_text(SOURCE)
    one, two = load(tmp_path / "linked_kernels.py"), load(tmp_path / "linked_kernels.py")
    assert one.first(np.arange(4.0)) == 12.0
    assert pointers(one.part) == [0]
    assert two.second(np.arange(1.0, 4.0)) == 14.0
    assert two.part.stats.cache_hits
    assert pointers(two.part) == [0], "kernels would call it, slow as it is, in place of what they have linked"
    assert two.first(np.arange(4.0)) == 12.0
    assert two.first.stats.cache_hits
    assert pointers(two.first) != [0]


def test_with_a_numba_of_other_classes_parts_are_compiled_as_others_are(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(_linked_parts, "_AS_EXPECTED", False)
    (tmp_path / "linked_kernels.py").write_text(SOURCE)
    one = load(tmp_path / "linked_kernels.py")
    assert one.first(np.arange(4.0)) == 12.0
    assert pointers(one.part) != [0]


def test_parts_do_not_count_the_users_of_arrays_unless_they_allocate(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "linked_kernels.py").write_text(SOURCE)
    kernels = load(tmp_path / "linked_kernels.py")
    assert kernels.third(np.arange(4.0)) == 36.0
    code = {name: str(*(one.library._final_module for one in getattr(kernels, name).overloads.values())) for name in
            ("slices", "doubled")}  # fmt: skip
    assert "NRT_incref" not in code["slices"]
    assert "NRT_MemInfo_alloc" in code["doubled"]
