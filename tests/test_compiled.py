"""Threads as scikit-learn counts them, work shared out whole, counters of several threads, prefetches."""

import multiprocessing
import threading
import time

import numpy as np
import pytest

from podium._compiled import (
    CELLS_WORTH_THREADS,
    JIT_DISABLED,
    atomic_add,
    atomic_load,
    atomic_store,
    compiled,
    even_chunks,
    even_ranges,
    give_way,
    prefetch,
    processors,
    run_threads,
    thread_count,
    threads_for,
)  # fmt: skip
from podium._validation import PodiumError

pytestmark = pytest.mark.plain


def test_threads_are_counted_as_scikit_learn_does():
    assert [thread_count(n) for n in (None, 1, 3, np.int64(2))] == [1, 1, 3, 2]
    assert thread_count(-1) == processors()
    assert thread_count(-1000) == 1


def test_small_work_stays_on_one_thread():
    assert threads_for(4, 1000) == 1
    assert threads_for(4, 10**8) == 4
    assert [threads_for(4, CELLS_WORTH_THREADS - less) for less in (1, 0)] == [1, 4]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_thread_numbers_that_cannot_be_used(n_jobs):
    with pytest.raises(PodiumError, match="n_jobs must be None or an integer other than 0"):
        thread_count(n_jobs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_calls(n_threads):
    assert run_threads(lambda a, b: a * b, [(i, 2) for i in range(20)], n_threads) == list(range(0, 40, 2))
    assert run_threads(max, [], n_threads) == []


def test_calls_run_beside_each_other():
    barrier = threading.Barrier(2, timeout=10)
    assert sorted(run_threads(lambda _: barrier.wait(), [(0,), (1,)], 2)) == [0, 1]


@pytest.mark.parametrize("n_threads", [2, 3])
def test_nothing_is_left_to_do_when_calls_return(n_threads):
    done = []

    def wait_unless_caller(i):
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.02)
        done.append(i)

    for _ in range(5):
        done.clear()
        run_threads(wait_unless_caller, [(i,) for i in range(25)], n_threads)
        assert sorted(done) == list(range(25))


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        run_threads(lambda x: 1 / x, [(1,), (0,)], 2)


def test_an_error_in_a_helping_thread_reaches_the_caller():
    failed = threading.Event()

    def fail_unless_caller(_):
        if threading.current_thread() is threading.main_thread():
            failed.wait(60)
        else:
            failed.set()
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        run_threads(fail_unless_caller, [(0,), (1,)], 2)


def test_an_error_of_the_caller_waits_for_calls_under_way():
    begun, finished = threading.Event(), []

    def fail_if_caller(_):
        if threading.current_thread() is threading.main_thread():
            begun.wait(60)
            raise IndexError
        begun.set()
        time.sleep(0.05)
        finished.append(True)

    with pytest.raises(IndexError):
        run_threads(fail_if_caller, [(0,), (1,)], 2)
    assert finished == [True]


def test_after_an_error_of_the_caller_no_further_run_of_calls_is_begun():
    begun, failed, done = threading.Event(), threading.Event(), []

    def fail_if_caller(i):
        if threading.current_thread() is threading.main_thread():
            begun.wait(60)
            failed.set()
            raise IndexError
        begun.set()
        failed.wait(60)
        time.sleep(0.01)
        done.append(i)

    with pytest.raises(IndexError):
        run_threads(fail_if_caller, [(i,) for i in range(64)], 2)
    assert 0 < len(done) < 56  # eight calls in a run, of which the caller has the first


def test_after_an_error_nothing_runs_on():
    running = []

    def fail_or_wait(i):
        if i == 0:
            raise IndexError(i)
        running.append(i)
        time.sleep(0.05)
        running.remove(i)

    with pytest.raises(IndexError):
        run_threads(fail_or_wait, [(i,) for i in range(8)], 3)
    assert running == []


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system copies no process")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_threads_work_in_a_copy_of_the_process():
    run_threads(abs, [(-1,), (-2,)], 2)
    copy = multiprocessing.get_context("fork").Process(target=run_threads, args=(abs, [(-1,), (-2,)], 2))
    copy.start()
    copy.join(20)
    code = copy.exitcode
    copy.kill()
    assert code == 0


@compiled
def count_up(counter, n):
    seen = 0
    for _ in range(n):
        seen = max(seen, atomic_add(counter, 1, 1))
    return seen


def test_no_count_of_several_threads_is_lost():
    counter = np.zeros(2, np.int64)
    seen = run_threads(count_up, [(counter, 20_000)] * 8, 4)
    assert counter.tolist() == [0, 160_000]
    assert max(seen) == 159_999


@pytest.mark.skipif(not JIT_DISABLED, reason="compiled code looks at what lies before the array")
@pytest.mark.parametrize("use", [atomic_load, lambda *at: atomic_store(*at, 7), lambda *at: atomic_add(*at, 1)])
def test_plain_kernels_refuse_an_index_before_the_array(use):
    counters = np.arange(2)
    with pytest.raises(IndexError, match="index -1 lies before the array"):
        use(counters, -1)
    assert counters.tolist() == [0, 1]


@compiled
def wait_for(counters, place, number):
    while atomic_load(counters, place) != number:
        give_way()
    atomic_store(counters, 1 - place, number + 1)


def test_a_thread_sees_what_another_has_stored():
    counters = np.zeros(2, np.int64)
    counters[0] = 1
    run_threads(wait_for, [(counters, 1, 2), (counters, 0, 1)], 2)
    assert counters.tolist() == [3, 2]


@pytest.mark.parametrize("n_chunks", [1, 2, 3, 50])
def test_chunks_cover_every_query_once(n_chunks):
    offsets = np.cumsum([0, 5, 1, 1, 40, 2, 2])
    chunks = even_chunks(offsets, n_chunks)
    assert [q for start, stop in chunks for q in range(start, stop)] == list(range(6))
    assert len(chunks) <= n_chunks
    assert all(start < stop for start, stop in chunks)


@pytest.mark.parametrize(("n_items", "n_ranges"), [(10, 3), (2, 8), (0, 4), (7, 7)])
def test_ranges_cover_every_number_once_and_differ_by_one_at_most(n_items, n_ranges):
    ranges = even_ranges(n_items, n_ranges)
    assert [one for start, stop in ranges for one in range(start, stop)] == list(range(n_items))
    sizes = [stop - start for start, stop in ranges]
    assert len(sizes) == n_ranges
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("n_chunks", [2, 3, 7])
def test_chunks_have_about_equally_many_rows(n_chunks):
    offsets = np.concatenate([[4], 4 + np.cumsum(np.random.default_rng(0).integers(1, 6, 60))])
    sizes = [offsets[stop] - offsets[start] for start, stop in even_chunks(offsets, n_chunks)]
    assert len(sizes) == n_chunks
    assert max(sizes) <= (offsets[-1] - offsets[0]) / n_chunks + 5


@compiled
def sum_with_prefetch(values, order):
    total = 0.0
    for i in range(len(order)):
        prefetch(values, order[min(i + 16, len(order) - 1)])
        total += values[order[i]]
    return total


def test_prefetch_changes_no_result():
    rng = np.random.default_rng(0)
    values, order = rng.random(500), rng.permutation(500)
    assert sum_with_prefetch(values, order) == pytest.approx(values.sum())
