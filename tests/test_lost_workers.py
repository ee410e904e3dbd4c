"""Fits on Dask that lose workers: they go on and find the same bits, or end with a sentence; nothing waits for ever."""

import asyncio
import gc
import os
import signal
import sys
import time
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest

from parts import assert_same, in_chunks, mixed_rows
from podium import LambdaMART
from podium.distributed import fit, heartbeats, task_results
from podium.distributed.team_learning import TeamBoosting

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of Dask, which leaves sockets of the lost worker open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def rows():
    return mixed_rows()


FROZEN = []
"""The worker that has frozen."""


class FrozenRows(np.ndarray):
    """Rows of which the first block freezes the worker that reads it: no heartbeat, and nobody gets what it has."""

    def __getitem__(self, place):
        from distributed import get_worker

        worker = get_worker()
        if not FROZEN:
            FROZEN.append(worker.address)
            worker.loop.add_callback(worker.periodic_callbacks["heartbeat"].stop)
            worker.handlers["get_data"] = lambda **_: asyncio.Event().wait()
        return np.asarray(self)[place]


def test_a_worker_that_freezes_with_blocks_is_given_up_and_no_bit_changes(rows, monkeypatch):
    import dask
    from distributed import Client, LocalCluster

    X, y, qid, weight = rows
    monkeypatch.setattr(heartbeats, "HEARTBEATS_PER_SILENCE", 2)
    FROZEN.clear()
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with (
        dask.config.set({"podium.worker-silence": "1500ms"}),
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
    ):
        chunks = in_chunks(300, X.view(FrozenRows), y, qid, weight)
        found = fit(LambdaMART(2), *chunks[:2], qid=chunks[2], sample_weight=chunks[3], client=client)
        assert FROZEN[0] not in client.scheduler_info()["workers"]
    assert_same(found, LambdaMART(2).fit(X, y, qid=qid, sample_weight=weight), X)


def nothing_is_wanted(client):
    """Say whether all futures of a client are released; Dask does it in a thread of its own."""
    end = time.monotonic() + 60
    while client.futures and time.monotonic() < end:
        time.sleep(0.01)
    return not client.futures


def test_what_a_lost_attempt_has_asked_for_is_wanted_no_more(client, rows, monkeypatch):
    wait_for, errors = task_results.TaskResults._wait_for, []

    def fail_once(self, futures):
        if not errors:
            errors.append(task_results.WorkerLost("gone"))  # which keeps the futures
            raise errors[0]
        return wait_for(self, futures)

    monkeypatch.setattr(task_results.TaskResults, "_wait_for", fail_once)
    chunks = in_chunks(500, *rows[:3])
    found = fit(LambdaMART(2), *chunks[:2], qid=chunks[2], client=client)
    assert_same(found, LambdaMART(2).fit(*rows[:2], qid=rows[2]), rows[0])
    assert errors
    assert nothing_is_wanted(client)


def test_what_was_waited_for_long_is_wanted_no_more_once_it_is_there(client, rows, monkeypatch):
    step, wanted = TeamBoosting.step, []

    def noted(self, number):
        if number == 1:
            wanted.append(nothing_is_wanted(client))
        return step(self, number)

    monkeypatch.setattr(TeamBoosting, "step", noted)
    monkeypatch.setattr(task_results, "POLL_SECONDS", 0.001)  # what a wait of Dask was too short for, it keeps
    gc.disable()
    try:
        chunks = in_chunks(500, *rows[:3])
        fit(LambdaMART(2), *chunks[:2], qid=chunks[2], client=client)
        wanted.append(nothing_is_wanted(client))
    finally:
        gc.enable()
    assert wanted == [True, True]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_killed_worker_is_replaced_and_no_bit_changes(rows, monkeypatch, n_workers):
    from distributed import Client, LocalCluster

    X, y, qid, weight = rows
    local = LambdaMART(30).fit(X, y, qid=qid, sample_weight=weight, eval_set=[(X, y)], eval_qid=[qid])
    step, killed = TeamBoosting.step, []  # of 30 rounds some are still to come when the third is asked for
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:

        def kill_once(self, number):
            if number == 3 and not killed:
                pids = client.run(os.getpid)
                killed.append(min(pids.values()))
                os.kill(killed[0], signal.SIGKILL)
            return step(self, number)

        monkeypatch.setattr(TeamBoosting, "step", kill_once)
        chunks = in_chunks(300, X, y, qid, weight)
        found = fit(
            LambdaMART(30), *chunks[:2], qid=chunks[2], sample_weight=chunks[3], eval_set=[tuple(chunks[:2])],
            eval_qid=[chunks[2]], client=client,
        )  # fmt: skip
    assert killed
    assert_same(found, local, X)


class DeadlyQueries:
    """Queries of a block; the first use of any by one function after the other kills the worker."""

    def __init__(self, values, folder, functions):
        self.values, self.folder, self.functions = values, folder, functions
        self.shape, self.dtype, self.ndim = values.shape, values.dtype, 1

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        due = next((name for name in self.functions if not (self.folder / name).exists()), None)
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_name != due:
            frame = frame.f_back
        if frame is not None:
            (self.folder / due).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.asarray(self.values, dtype)


@pytest.mark.timeout(120)
def test_workers_are_killed_as_they_read_regroup_and_read_evaluation_rows_and_no_bit_changes(rows, tmp_path):
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y, qid, _ = rows
    local = LambdaMART(2).fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
    X_lazy, y_lazy = in_chunks(-(-len(y) // 4), X, y)
    ends = list(pairwise(np.cumsum([0, *y_lazy.chunks[0]])))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    deaths = ("_split", "load_evaluation"), ("load",)  # while both workers are there, they have a query to regroup
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for functions in deaths:
            queries = [dask.delayed(DeadlyQueries)(qid[a:b], Path(tmp_path), functions) for a, b in ends]
            blocks = [da.from_delayed(one, (b - a,), qid.dtype) for one, (a, b) in zip(queries, ends, strict=True)]
            lazy = da.concatenate(blocks)
            sets = {"eval_set": [(X_lazy, y_lazy)], "eval_qid": [lazy]}
            assert_same(fit(LambdaMART(2), X_lazy, y_lazy, qid=lazy, client=client, **sets), local, X)
    assert {one.name for one in tmp_path.iterdir()} == set(chain(*deaths))
