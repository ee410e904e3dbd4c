"""Where machine code is kept, and where it cannot be."""

from pathlib import Path

import pytest

from podium import PodiumError
from podium._compiled import JIT_DISABLED
from podium.cli.compiling import cache_folder
from podium.measures.sorting import sort_short_queries

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")


def test_the_folder_is_the_one_that_is_used(monkeypatch):
    used = Path(sort_short_queries.stats.cache_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(used.parent))
    assert cache_folder() == used.parent
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert used.is_relative_to(cache_folder())


def test_a_folder_that_is_asked_for_and_not_used_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with pytest.raises(PodiumError, match=f"NUMBA_CACHE_DIR, {tmp_path}, cannot be written to"):
        cache_folder()
