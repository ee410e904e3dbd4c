"""Threads as scikit-learn counts them, work shared out whole, and a prefetch that changes no result."""

import threading
import time

import numpy as np
import pytest

from podium._compiled import compiled, even_chunks, prefetch, processors, run_threads, thread_count, threads_for
from podium._validation import PodiumError

pytestmark = pytest.mark.plain


def test_threads_are_counted_as_scikit_learn_does():
    assert [thread_count(n) for n in (None, 1, 3, np.int64(2))] == [1, 1, 3, 2]
    assert thread_count(-1) == processors()
    assert thread_count(-1000) == 1


def test_small_work_stays_on_one_thread():
    assert threads_for(4, 1000) == 1
    assert threads_for(4, 10**8) == 4


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_thread_numbers_that_cannot_be_used(n_jobs):
    with pytest.raises(PodiumError, match="n_jobs must be None or a whole number other than 0"):
        thread_count(n_jobs)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_calls(n_threads):
    assert run_threads(lambda a, b: a * b, [(i, 2) for i in range(20)], n_threads) == list(range(0, 40, 2))
    assert run_threads(max, [], n_threads) == []


def test_calls_run_beside_each_other():
    barrier = threading.Barrier(2, timeout=10)
    assert sorted(run_threads(lambda _: barrier.wait(), [(0,), (1,)], 2)) == [0, 1]


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        run_threads(lambda x: 1 / x, [(1,), (0,)], 2)


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


@pytest.mark.parametrize("n_chunks", [1, 2, 3, 50])
def test_chunks_cover_every_query_once(n_chunks):
    offsets = np.cumsum([0, 5, 1, 1, 40, 2, 2])
    chunks = even_chunks(offsets, n_chunks)
    assert [q for start, stop in chunks for q in range(start, stop)] == list(range(6))
    assert len(chunks) <= n_chunks


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
