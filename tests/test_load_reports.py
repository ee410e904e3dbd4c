"""What workers say of their rows must fit together; clusters without workers are refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from podium import PodiumError
from podium.distributed import team
from podium.distributed.load_reports import LoadReport, check_reports, machine
from podium.distributed.task_results import WorkerLost
from podium.distributed.team import Team

REPORT = LoadReport(5, 2, ("a", "b"), "float64", {0: np.array([1])}, 1.0, None, machine())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_features": 3, "names": None}, "part 0 has 2 columns of float64 .a, b, ….*part 4 has 3 columns of float64"),
        ({"names": ("a", "c")}, "part 4 has 2 columns of float64 .a, c"),
        ({"kind": "float32"}, "part 4 has 2 columns of float32"),
        ({"machine": ("0.0", *machine()[1:])}, "same libraries and kind of processor.*'0.0'"),
        ({"machine": (*machine()[:-1], "elementary functions 1")}, "kind of processor.*elementary functions 1"),
    ],
)
def test_workers_whose_columns_or_machines_differ_are_refused(change, message):
    check_reports([REPORT, REPORT._replace(n_rows=0, n_features=0, names=None, kind="")])
    with pytest.raises(PodiumError, match=message):
        check_reports([REPORT, REPORT._replace(ids_of_blocks={4: np.array([2])}, **change)])


class MadeHeartbeats:
    """Heartbeats of a cluster whose worker comes after two looks."""

    def __init__(self, n_looks):
        self.n_looks = n_looks

    def ages(self):
        self.n_looks -= 1
        return {} if self.n_looks > 0 else {"tcp://10.0.0.1:1": 0.0}

    def heard(self, seconds):
        return sorted(self.ages())


def test_a_client_without_workers_is_refused_at_once_and_after_a_loss_later(monkeypatch):
    monkeypatch.setattr(team, "POLL_SECONDS", 0.01)
    own = Team(None, None, [], None, None, True, [])
    own._heartbeats = MadeHeartbeats(3)
    with pytest.raises(PodiumError, match="The client has no workers; start some"):
        own._present()
    own._heartbeats, own.n_losses = MadeHeartbeats(3), 1
    assert own._present() == ["tcp://10.0.0.1:1"]
    monkeypatch.setattr(team, "NEW_WORKER_SECONDS", 0.0)
    own._heartbeats = MadeHeartbeats(100)
    with pytest.raises(PodiumError, match="All workers were lost or are silent, and none has come for 0 s"):
        own._present()


def test_a_worker_that_has_gone_or_is_silent_is_waited_for_no_longer():
    own = Team(None, None, [], None, None, True, [])
    own._workers, own._ever_asked = ["a", "b"], {"a", "b"}
    own._heartbeats = SimpleNamespace(
        present=lambda: {"a", "b", "c"}, restart_silent=lambda workers: set(), check_paused=lambda workers: None
    )
    own._check_workers()
    own._heartbeats.restart_silent = {"b"}.intersection
    with pytest.raises(WorkerLost, match="worker b has gone or is silent"):
        own._check_workers()
    own._heartbeats = SimpleNamespace(present=lambda: {"b", "c"}, restart_silent=lambda workers: set())
    with pytest.raises(WorkerLost, match="worker a has gone or is silent"):
        own._check_workers()


class AskedClient:
    """A client that says where blocks may be read."""

    def compute(self, lazy, **where):
        return where


def test_blocks_prefer_the_workers_of_the_team_only_where_there_are_others():
    own = Team(AskedClient(), None, [], None, None, True, [])
    own._workers, own._heartbeats = ["a"], SimpleNamespace(ages=lambda: {"a": 0.0})
    assert own._compute([]) == {}
    own._heartbeats = SimpleNamespace(ages=lambda: {"a": 0.0, "b": 30.0})
    assert own._compute([]) == {"workers": ["a"], "allow_other_workers": True}


@pytest.mark.parametrize(
    ("workers", "silent", "saved"), [("ab", "", 0.5), ("ab", "b", 0.0), ("a", "", 0.0), ("abcdefgh", "", 0.75)]
)
def test_newcomers_save_time_unless_they_are_silent_or_there_are_no_more_blocks(workers, silent, saved):
    own = Team(None, SimpleNamespace(blocks=range(4)), [], SimpleNamespace(n_estimators=100), None, True, [])
    own._workers = ["a"]
    own._heartbeats = SimpleNamespace(present=lambda: set(workers) - set(silent))
    own._clock = SimpleNamespace(repays=lambda share, n_rounds, n_estimators: (share, n_rounds, n_estimators))
    assert own._newcomers_help() == (saved, 0, 100)


@pytest.mark.parametrize(
    ("address", "host"),
    [("tcp://10.0.0.1:77", "10.0.0.1"), ("inproc://1/2/3", "127.0.0.1"), ("tls://10.0.0.1:77", None)],
)
def test_only_workers_that_talk_unencrypted_have_a_host_to_listen_on(address, host):
    assert team._host(address) == host
