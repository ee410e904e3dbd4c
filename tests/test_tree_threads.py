"""Trees grown by several threads: the same bits, errors and interrupts."""

from concurrent.futures import ThreadPoolExecutor
from signal import SIGINT, default_int_handler, raise_signal, signal
from threading import Event, Timer

import numpy as np
import pytest

from podium._compiled import JIT_DISABLED, atomic_add, atomic_load, compiled
from podium.binning import as_blocks, bin_features
from podium.trees.division import lead
from podium.trees.grower import TreeGrower
from podium.trees.growth_state import WORK
from podium.trees.split import Limits

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]


def table(seed, n=60, n_features=3, missing=0.2, levels=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, n_features)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.normal(size=n), rng.random(n)


def grow(X, gradient, curvature, salt=0, rows=None, features=None, limits=None, **options):
    grower = TreeGrower(as_blocks(bin_features(X)), limits or Limits(1, 0.0), **options)
    return grower.grow(gradient, curvature, salt, rows, features)


@pytest.fixture
def helpers(monkeypatch):
    """Let threads help with the smallest trees and leaves."""
    for name in ("SHARED_CELLS", "SHARED_ROWS"):
        monkeypatch.setattr(f"podium.trees.grower.{name}", 1)
    monkeypatch.setattr("podium.trees.grower.processors", lambda: 8)


needs_threads = pytest.mark.skipif(JIT_DISABLED, reason="plain kernels run on one thread")


@needs_threads
@pytest.mark.parametrize("n_features", [3, 30, 300])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.usefixtures("helpers")
def test_threads_change_no_bit_of_a_tree(exact, n_features):
    X, gradient, curvature = table(8, 400, n_features)
    one, *others = (grow(X, gradient, curvature, exact=exact, n_threads=n) for n in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.rows, other.rows)
        for name in ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count"):
            np.testing.assert_array_equal(getattr(one.tree, name), getattr(other.tree, name))


@pytest.mark.usefixtures("helpers")
def test_of_equal_gains_the_first_feature_wins_for_any_number_of_threads():
    X, gradient, curvature = table(8, 200, 1)
    alike = np.repeat(X, 40, axis=1)
    for n_threads in (1, 2, 4):
        assert not grow(alike, gradient, curvature, n_threads=n_threads).tree.feature.any()


@needs_threads
@pytest.mark.usefixtures("helpers")
def test_several_callers_at_once_grow_the_same_trees():
    X, gradient, curvature = table(8, 400, 30)
    one = grow(X, gradient, curvature).tree
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: grow(X, gradient, curvature, n_threads=3).tree, range(12)))
    for tree in found:
        np.testing.assert_array_equal(tree.value, one.value)


@compiled
def take_an_item_and_fail(work):
    """Take an item and leave it undone, unless the leader leaves before."""
    while atomic_load(work, "over") == 0:
        if atomic_load(work, "remaining") > 0 and atomic_add(work, "remaining", -1) > 0:
            raise MemoryError("no room")


@needs_threads
@pytest.mark.usefixtures("helpers")
def test_a_helper_that_fails_ends_the_growth_with_its_error(monkeypatch):
    X, gradient, curvature = table(8, 400, 30)
    take_an_item_and_fail(np.ones(1, WORK).view(np.recarray)[0])  # compiled before
    works, late, helping = [], [], Event()

    def fail(data, context, buffers, shared, tree):
        works.append(shared.work)
        helping.set()
        take_an_item_and_fail(shared.work)

    def release():
        late.append(True)
        works[-1].done = 2**60

    monkeypatch.setattr("podium.trees.grower.help_leader", fail)
    monkeypatch.setattr("podium.trees.grower.lead", lambda *arguments: helping.wait(60) and lead(*arguments))
    watch = Timer(60, release)  # a leader that waits for ever would hang all tests
    watch.start()
    with pytest.raises(MemoryError, match="no room"):
        [grow(X, gradient, curvature, n_threads=2) for _ in range(1000)]  # a helper may find that all items are taken
    watch.cancel()
    assert not late


@pytest.mark.usefixtures("helpers")
def test_an_error_of_the_leader_ends_the_growth(monkeypatch):
    def fail(*arguments):
        raise MemoryError("no room")

    X, gradient, curvature = table(8, 400, 30)
    monkeypatch.setattr("podium.trees.grower.lead", fail)
    with pytest.raises(MemoryError, match="no room"):
        grow(X, gradient, curvature, n_threads=3)


def test_large_trees_grow_in_several_calls(monkeypatch):
    X, gradient, curvature = table(8, 200)
    whole = grow(X, gradient, curvature, max_leaves=9).tree
    calls = []
    monkeypatch.setattr("podium.trees.grower.lead", lambda *arguments: (calls.append(1), lead(*arguments)))
    monkeypatch.setattr("podium.trees.grower.CELLS_PER_CALL", 3 * X.size)
    np.testing.assert_array_equal(grow(X, gradient, curvature, max_leaves=9).tree.value, whole.value)
    assert len(calls) > 2


def test_an_interrupt_is_heard_after_a_call(monkeypatch):
    calls = []

    def interrupt(*arguments):
        calls.append(1)
        assert len(calls) == 1
        raise_signal(SIGINT)

    monkeypatch.setattr("podium.trees.grower.lead", interrupt)
    before = signal(SIGINT, default_int_handler)  # where tests run in the background, it may be ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            grow(*table(8, 200), max_leaves=9)
    finally:
        signal(SIGINT, before)
