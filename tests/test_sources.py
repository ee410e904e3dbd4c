"""Machine code on disk counts only while all sources that it hangs on stay as they are."""

import shutil
import sys
from types import SimpleNamespace
from typing import NamedTuple

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

import tree_kernels
from podium import _sources
from podium._compiled import JIT_DISABLED
from podium._sources import source_stamp, stamped
from podium.losses import lambdas, row_pairs

pytestmark = pytest.mark.plain


@pytest.fixture
def copied(tmp_path, monkeypatch):
    shutil.copytree(_sources.ROOT, tmp_path / "podium", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_sources, "ROOT", tmp_path / "podium")
    _forget()
    yield tmp_path / "podium"
    _forget()


def _forget():
    _sources.source_stamp.cache_clear()
    _sources._source.cache_clear()


def test_a_stamp_changes_with_the_sources_of_what_a_kernel_calls(copied):
    before = source_stamp("podium.losses.lambdas")
    imported = {"cli/__init__.py": False, "losses/row_pairs.py": True, "measures/ties.py": True, "_errors.py": True}
    for name, hangs_on_it in imported.items():  # the last one is imported by a module that is imported
        with open(copied / name, "a") as file:
            file.write("# changed\n")
        _forget()
        after = source_stamp("podium.losses.lambdas")
        assert (after != before) == hangs_on_it
        before = after


def test_the_stamp_of_a_module_that_is_not_ours_changes_with_what_it_imports_of_ours(copied):
    before = source_stamp(tree_kernels.__name__)
    with open(copied / "trees/histogram.py", "a") as file:
        file.write("# changed\n")
    _forget()
    assert source_stamp(tree_kernels.__name__) != before


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_numba_compares_the_stamp():
    for kernel in (row_pairs.add_pairs, lambdas._query_loop()):
        assert kernel._cache._cache_file._source_stamp[1] == source_stamp(kernel.__module__)


class Argument(NamedTuple):
    """A class that an upgrade removes."""

    number: float


def test_an_index_that_names_a_class_that_is_gone_counts_as_none(tmp_path, monkeypatch):
    file = IndexDataCacheFile(str(tmp_path), "kernel", "stamp")
    stamped(SimpleNamespace(_cache=SimpleNamespace(_cache_file=file), __module__="podium.losses.lambdas"))
    file._save_index({numba.types.NamedTuple([numba.float64], Argument): "kernel.1.nbc"})
    assert list(file._load_index().values()) == ["kernel.1.nbc"]
    monkeypatch.delattr(sys.modules[__name__], "Argument")
    assert file._load_index() == {}
