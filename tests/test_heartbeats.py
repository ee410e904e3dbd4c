"""Which workers are heard of, by a scheduler that is made up: ages, silence, and that nothing waits for ever."""

import time

import pytest

from podium import PodiumError
from podium.distributed import heartbeats
from podium.distributed.heartbeats import Heartbeats
from podium.distributed.team import StartClock


class MadeScheduler:
    """A client and its scheduler: beats of workers by address; those of `alive` come at each look."""

    def __init__(self, **beats):
        self.beats, self.alive, self.scheduler, self.identity = beats, set(beats), self, None

    def sync(self, function, n_workers, callback_timeout):
        assert function is None
        assert n_workers == -1
        assert callback_timeout > 0
        for worker in self.alive:
            self.beats[worker] += 1.0
        return {"workers": {worker: {"last_seen": beat, "nthreads": 3} for worker, beat in self.beats.items()}}


def test_a_worker_is_silent_when_its_heartbeat_has_not_changed_for_long(monkeypatch):
    monkeypatch.setattr(heartbeats, "SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(heartbeats, "HEARTBEATS_PER_SILENCE", 0)
    client = MadeScheduler(a=1.0, b=5.0)
    beats = Heartbeats(client)
    assert beats.threads() == {"a": 3, "b": 3}
    assert beats.silent() == set()
    client.alive = {"a"}
    beats.ages()
    time.sleep(0.06)
    assert beats.silent() == {"b"}
    client.alive = {"a", "b"}
    assert beats.silent() == set()


def test_workers_that_are_heard_of_are_waited_for_no_longer_than_needed():
    client = MadeScheduler(a=1.0, b=5.0)
    beats = Heartbeats(client)
    start = time.monotonic()
    assert beats.heard(60.0) == ["a", "b"]
    client.alive = {"b"}
    assert beats.heard(0.1) == ["b"]
    assert time.monotonic() - start < 5.0


def test_a_lost_scheduler_is_said_and_how_to_go_on(monkeypatch):
    client = MadeScheduler(a=1.0)
    monkeypatch.setattr(client, "sync", lambda *arguments, **options: 1 / 0)
    with pytest.raises(PodiumError, match=r"scheduler of the cluster does not answer.*checkpoint"):
        Heartbeats(client).ages()


def test_newcomers_are_taken_in_where_that_saves_more_than_a_start_takes(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock = StartClock()
    clock.start()
    now[0] = 10.0
    clock.begin(n_rounds=5)
    now[0] = 14.0
    assert not clock.is_due()
    now[0] = 16.0
    assert clock.is_due()
    assert not clock.is_due()
    for saved, n_estimators, repays in ((0.5, 19, True), (0.5, 18, False), (0.0, 10_000, False)):  # two seconds a round
        assert clock.repays(saved, n_rounds=8, n_estimators=n_estimators) is repays


def test_silence_counts_only_while_it_is_looked_for(monkeypatch):
    watch = Heartbeats(None)
    known = {"a": {"last_seen": 5.0}, "b": {"last_seen": 5.0}}
    monkeypatch.setattr(watch, "_workers", lambda: known)
    clock = [100.0]
    monkeypatch.setattr(heartbeats.time, "monotonic", lambda: clock[0])
    for clock[0] in (100.0, 104.0, 108.0):
        known["b"]["last_seen"] += 1
        ages = watch.ages()
    assert ages == {"a": 8.0, "b": 0.0}
    clock[0] = 200.0  # this process was stopped
    assert watch.ages() == {"a": 0.0, "b": 0.0}


def test_a_worker_that_is_paused_for_long_is_waited_for_no_longer(monkeypatch):
    watch, clock = Heartbeats(None), [0.0]
    known = {name: {"last_seen": 5.0, "status": "running"} for name in "ab"}
    monkeypatch.setattr(watch, "_workers", lambda: known)
    monkeypatch.setattr(heartbeats, "PAUSED_SECONDS", 5.0)
    monkeypatch.setattr(heartbeats.time, "monotonic", lambda: clock[0])
    for clock[0], known["b"]["status"] in ((1.0, "paused"), (5.0, "running"), (9.0, "paused"), (13.0, "paused")):
        watch.ages()
        watch.check_paused("ab")  # never for five seconds so far
    clock[0] = 15.0
    watch.ages()
    watch.check_paused("a")
    with pytest.raises(PodiumError, match="Dask has paused worker b for 5 s, since its memory is nearly full"):
        watch.check_paused("ab")


class MadeClient:
    """A client, its scheduler and the connections of its workers, which note what they are asked for."""

    def __init__(self):
        self.scheduler, self.rpc, self.asked = self, self, []

    def sync(self, function, callback_timeout, **options):
        assert callback_timeout > 0
        function(**options)

    def restart_workers(self, workers, wait_for_workers, timeout, on_error, stimulus_id):
        self.asked.append(("restart", workers))

    def _run(self, function, *given, workers, on_error):
        self.asked.append(("run", workers))
        function(*given, dask_worker=self)

    def remove(self, address):
        self.asked.append(("hang up", address))


def test_silent_workers_that_matter_are_restarted_and_all_others_hang_up_on_them(monkeypatch):
    client = MadeClient()
    watch = Heartbeats(client)
    monkeypatch.setattr(watch, "ages", lambda: {"a": 0.0, "b": 60.0, "c": 60.0})
    assert watch.restart_silent(["a"]) == set()
    assert client.asked == []
    assert watch.restart_silent(["a", "b"]) == {"b"}
    assert client.asked == [("restart", ["b"]), ("run", ["a", "c"]), ("hang up", "b")]
