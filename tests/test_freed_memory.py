"""Freed memory of workers: kept while a fit goes on, given back after the last."""

from podium.distributed import freed_memory
from podium.distributed.freed_memory import DEFAULT_BYTES, KEPT_BYTES, LARGEST_KEPT_BYTES, FreedMemory


class Library:
    """Notes what the C library is told."""

    def __init__(self):
        self.told = []

    def mallopt(self, *setting):
        self.told.append(setting)

    def malloc_trim(self, pad):
        self.told.append("trimmed")


def test_memory_is_kept_until_the_last_fit_is_done(monkeypatch):
    library = Library()
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda name: library)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    memory = FreedMemory()
    memory.keep()
    memory.keep()
    memory.give_back()
    assert set(library.told) == {(-1, KEPT_BYTES), (-3, LARGEST_KEPT_BYTES)}
    memory.give_back()
    assert library.told[-3:] == [(-1, 65536), (-3, DEFAULT_BYTES), "trimmed"]


def test_nothing_is_told_where_the_library_finds_by_itself_what_to_keep(monkeypatch):
    library = Library()
    monkeypatch.setattr(freed_memory.ctypes, "CDLL", lambda name: library)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    memory = FreedMemory()
    memory.keep()
    memory.give_back()
    assert library.told == []
